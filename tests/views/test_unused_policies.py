"""Policies that name nothing are told, with the name that may have been meant."""

from __future__ import annotations

import pytest

from onefold.core.names import TableId
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule, VariantPolicies
from onefold.schema.columns import Column
from onefold.schema.treatment import treat
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.views.policy_check import TablePolicyCheck
from onefold.views.unused_policies import policy_warnings, unused_policies

TYPES = {"id": "INT64", "email": "STRING", "address": "STRUCT<zip STRING, home ARRAY<STRUCT<city STRING>>>", "data": "JSON"}


def told(*rules: tuple[str, str], tables: tuple[str, ...] | None = ("customer", "log")) -> list[str]:
    """What is told of policies where the dataset `shop` has these tables, and `customer` was checked."""
    policies = ColumnPolicies(tuple(PolicyRule(table, column, Action.CLEAR) for table, column in rules))
    base = TableId("p", "shop", "customer")
    columns = [Column(name, parse_type(text)) for name, text in TYPES.items()]
    treated = tuple(treat(one, [one.type], policies.of_table(base)) for one in columns)
    return list(unused_policies(policies, "shop", [TablePolicyCheck(base, treated, policies.of_table(base))], tables))


@pytest.mark.parametrize(
    "column",
    [
        "id",
        "EMAIL",
        "*mail",
        "address",
        "address.ZIP",
        "address.home.city",
        "*.city",
        "data.any",
        "data.a.b",
        "d*.x",
        "e*.x",
        "*.in_text",
    ],
)
def test_a_policy_that_names_a_column_or_a_field_is_used(column: str) -> None:
    assert told(("shop.customer", column), ("Customer", column)) == []


@pytest.mark.parametrize(
    ("column", "advice"),
    [
        ("emial", "did you mean email?"),
        ("address.zipp", "did you mean address.zip?"),
        ("x*", "correct the name, or remove the entry"),
        ("ema", "did you mean email?"),
    ],
)
def test_a_policy_that_names_no_column_of_its_table_is_told(column: str, advice: str) -> None:
    for table in ("customer", "shop.Customer"):
        assert told((table, column)) == [f"policies.{table}.{column} names no column: {advice}"]


def test_a_policy_of_a_table_that_the_dataset_does_not_have_is_told_once() -> None:
    expected = ["policies.shop.custmer: dataset shop has no table custmer: did you mean customer?"]
    assert told(("shop.custmer", "id"), ("shop.custmer", "email")) == expected
    assert told(("shop.custmer", "id"), tables=None) == [], "not all tables are known where one is checked"


@pytest.mark.parametrize(
    "table", ["shop.log", "log", "order", "crm.order", "crm.customer", "*", "shop.*", "c*", "*.customer"]
)
def test_a_policy_that_may_be_of_another_table_is_not_told(table: str) -> None:
    assert told((table, "no_such_column")) == []


def test_without_policies_that_is_what_is_told() -> None:
    warning = "onefold.yaml has no `policies`, so there are no clean views: see `onefold policies init`"
    assert list(policy_warnings(Settings(), "shop", [], [])) == [warning]
    policies = ColumnPolicies((PolicyRule("shop.custmer", "id", Action.CLEAR),))
    assert list(policy_warnings(Settings(policies=policies), "shop", [], ["customer"])) == [
        "policies.shop.custmer: dataset shop has no table custmer: did you mean customer?"
    ]


def test_a_policy_of_a_variant_of_a_column_is_used() -> None:
    policies = ColumnPolicies((PolicyRule("customer", "score__v_text", Action.HASH),))
    of_table = VariantPolicies(policies.rules, (("score", "score__v_text"),))
    checked = TablePolicyCheck(TableId("p", "shop", "customer"), (), of_table)
    assert list(unused_policies(policies, "shop", [checked], None)) == []
