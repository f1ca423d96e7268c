"""What `onefold policies` prints: a draft for onefold.yaml, the columns that wait, and the policies that decide."""

from __future__ import annotations

import pytest
import yaml

from onefold.core.names import TableId
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.columns import Column
from onefold.schema.policy_draft import Draft
from onefold.schema.treatment import treat
from onefold.schema.types import STRING, parse_type
from onefold.views.policy_check import DraftedColumn, TablePolicyCheck
from onefold.views.policy_report import check_lines, decision_lines, draft_lines

CUSTOMER, ORDER = TableId("p", "shop", "customer"), TableId("p", "shop", "order")
Rule = tuple[str, str, str]


def checked(table: TableId, types: dict[str, str], *rules: Rule) -> TablePolicyCheck:
    """A table of columns, with policies such as `("*", "id", "clear")`."""
    made = tuple(PolicyRule(of, column, Action[action.upper()]) for of, column, action in rules)
    policies = ColumnPolicies(made).of_table(table)
    columns = [Column(name, parse_type(text)) for name, text in types.items()]
    return TablePolicyCheck(table, tuple(treat(one, [one.type], policies) for one in columns), policies)


def decided(types: dict[str, str], *rules: Rule) -> list[str]:
    table = checked(CUSTOMER, types, *rules)
    return list(decision_lines(table, table.policies))


def drafted(path: str, action: Action = Action.MASK, reason: str = "free text by its name") -> DraftedColumn:
    return DraftedColumn(path, STRING, Draft(action, reason))


def test_a_draft_is_a_section_of_onefold_yaml_with_reasons_as_comments() -> None:
    columns = [drafted("id", Action.CLEAR, "INT64"), drafted("address.zip", reason="place by its name")]
    others = [drafted("mail", Action.HASH, "e-mail by its name"), drafted("token", Action.DROP, "secret by its name")]
    assert list(draft_lines([(CUSTOMER, columns), (TableId("p", "shop", "decided"), []), (ORDER, others)])) == [
        "# A draft: read it before you put it into onefold.yaml.",
        "policies:",
        "  shop.customer:",
        "    id: clear  # INT64",
        "    address.zip: mask  # place by its name",
        "  shop.order:",
        "    mail: hash  # e-mail by its name",
        "    token: drop  # secret by its name",
    ]


def test_a_draft_of_decided_tables_says_so_and_of_no_table_says_nothing() -> None:
    nothing = ["# Every column has a policy: there is nothing to draft."]
    assert list(draft_lines([(CUSTOMER, []), (ORDER, [])])) == nothing
    assert list(draft_lines([])) == []


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("order_ID.Zip_2", "order_ID.Zip_2"),
        ("_x", "_x"),
        *((word, f'"{word}"') for word in ("y", "N", "Yes", "no", "ON", "off", "true", "False", "null")),
        ("2nd", '"2nd"'),
        ("a-b", '"a-b"'),
        ("a b", '"a b"'),
        ("größe", '"größe"'),
        ("a: b # c", '"a: b # c"'),
        ('a"b', '"a\\"b"'),
    ],
)
def test_a_name_that_yaml_would_read_as_something_else_is_quoted(name: str, written: str) -> None:
    lines = list(draft_lines([(TableId("p", "shop", name), [drafted(name)])]))
    assert lines[-1] == f"    {written}: mask  # free text by its name"
    assert yaml.safe_load("\n".join(lines)) == {"policies": {f"shop.{name}": {name: "mask"}}}


def test_each_column_that_waits_has_a_line_and_their_number_is_told() -> None:
    table = checked(CUSTOMER, {"id": "INT64", "address": "STRUCT<zip STRING, city STRING>"}, ("*", "address.zip", "hash"))
    assert list(check_lines([table])) == [
        "p.shop.customer: id is masked until a policy names it",
        "p.shop.customer: address.city is masked until a policy names it",
        "2 columns of 1 table to decide: see `onefold policies init`",
    ]
    one, none = checked(ORDER, {"id": "INT64"}), checked(CUSTOMER, {"id": "INT64"}, ("*", "id", "clear"))
    assert list(check_lines([one, none])) == [
        "p.shop.order: id is masked until a policy names it",
        "1 column of 2 tables to decide: see `onefold policies init`",
    ]
    assert list(check_lines([none])) == ["1 table: every column has a policy"]
    assert list(check_lines([none, none])) == ["2 tables: every column has a policy"]


def test_the_policy_that_decides_each_column_and_field_is_named() -> None:
    types = {"id": "INT64", "address": "STRUCT<zip STRING, home ARRAY<STRUCT<city STRING>>>", "on": "BOOL"}
    rules = [("*", "address", "mask"), ("customer", "address.zip", "clear"), ("*", "on", "drop")]
    assert decided(types, *rules) == [
        "p.shop.customer:",
        "  id: mask, undecided",
        "  address.zip: clear, by policies.customer.address.zip",
        "  address.home.city: mask, by policies.*.address",
        "  on: drop, by policies.*.on",
    ]


def test_less_strict_policies_of_equal_rank_are_named_with_their_actions() -> None:
    rules = [("*", "e*", "hash"), ("*", "*l", "clear"), ("*", "*ail", "hash"), ("*", "*mai*", "clear")]
    of_two, of_more = decided({"email": "STRING"}, *rules[:2]), decided({"email": "STRING"}, *rules)
    assert of_two[1] == "  email: hash, by policies.*.e*; of equal rank and less strict: policies.*.*l (clear)"
    assert of_more[1] == "  email: hash, by policies.*.e*; of equal rank and less strict: policies.*.*mai* (clear)", (
        "*l contains *ail, and is not of its rank; *ail is as strict"
    )
    assert decided({"email": "STRING"}, ("*", "e*", "hash"), ("*", "*l", "hash"))[1] == "  email: hash, by policies.*.e*"


def test_a_value_that_can_hold_more_takes_the_strictest_action_of_all_and_says_so() -> None:
    """JSON holds fields that patterns name: docs/reference/policies.md, "Structs that are a whole value in a version"."""
    assert decided({"data": "JSON"}, ("*", "data", "clear"), ("*", "data.secret", "drop")) == [
        "p.shop.customer:",
        "  data: drop, the strictest of all that it can hold; policies.*.data says clear",
    ]
