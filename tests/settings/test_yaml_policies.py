"""The policies of onefold.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.environment import load_settings


def read(tmp_path: Path, text: str) -> ColumnPolicies | None:
    path = tmp_path / "onefold.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings({}, path).policies


def test_policies_are_read_in_their_order(tmp_path: Path) -> None:
    text = 'policies:\n  customer: {email: hash, "address.*": clear}\n  "*": {"*żółw*": drop}\n  shop.order: {note: mask}\n'
    assert read(tmp_path, text) == ColumnPolicies(
        (
            PolicyRule("customer", "email", Action.HASH),
            PolicyRule("customer", "address.*", Action.CLEAR),
            PolicyRule("*", "*żółw*", Action.DROP),
            PolicyRule("shop.order", "note", Action.MASK),
        )
    )


def test_file_without_policies_keeps_no_clean_views(tmp_path: Path) -> None:
    assert read(tmp_path, "time_zone: UTC\n") is None
    assert read(tmp_path, "policies:\n") == ColumnPolicies()


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = (
        'policies:\n  "a b": {x: clear}\n  a.b.c: {x: clear}\n  customer: {x: show, "a..b": mask, '
        '"": drop, y: hash, Y: clear}\n'
        '  order: [a]\n  1: {a: clear}\n  CUSTOMER: {}\n  log: {a: [clear], "a`b": mask, c: claer, '
        "d: Mask, e: , f: off}\n  t:\n"
    )
    with pytest.raises(InvalidSettings) as raised:
        read(tmp_path, text)
    actions, columns = "expected clear, hash, mask or drop, got", "expected a pattern of columns, as email, address.zip"
    found = [problem.partition("onefold.yaml:")[2] for problem in raised.value.problems]
    assert found == [
        "2: policies.a b: expected a pattern of tables, as customer, shop.customer, or * in a name, got 'a b'",
        "3: policies.a.b.c: expected a pattern of tables, as customer, shop.customer, or * in a name, got 'a.b.c'",
        f"4: policies.customer.x: {actions} 'show'",
        f"4: policies.customer.a..b: {columns}, or * in a name, got 'a..b'",
        f"4: policies.customer.: {columns}, or * in a name, got ''",
        "4: policies.customer.Y: given twice; case makes no difference",
        "5: policies.order: expected columns with actions, as in `email: hash`, got a list",
        "6: policies.1: expected a text as key, got 1: put it in quotes",
        "7: policies.CUSTOMER: given twice; case makes no difference",
        f"8: policies.log.a: {actions} a list",
        f"8: policies.log.c: {actions} 'claer' (did you mean clear?)",
        f"8: policies.log.d: {actions} 'Mask' (did you mean mask?)",
        f"8: policies.log.e: {actions} nothing",
        f"8: policies.log.f: {actions} off, which YAML reads as false",
        f"8: policies.log.a`b: {columns}, or * in a name, got 'a`b'",
        "9: policies.t: expected columns with actions, as in `email: hash`, got nothing",
    ]


@pytest.mark.parametrize(
    ("rules", "problems"),
    [
        (
            '{customer: {email: clear}, "*.customer": {EMAIL: hash}}',
            ["*.customer.EMAIL: hash for the columns that policies.customer.email (clear)"],
        ),
        (
            '{"*": {"*mail*": clear}, "*.*": {"**mail*": clear}}',
            ["*.*.**mail*: clear for the columns that policies.*.*mail* (clear)"],
        ),
        ('{customer: {email: clear}, shop.customer: {email: hash}, "*customer": {email: drop}}', []),
        ('{"*": {"*mail*": clear, "*mail": hash, "mail*": mask}}', []),
    ],
)
def test_two_policies_of_the_same_columns_are_refused(tmp_path: Path, rules: str, problems: list[str]) -> None:
    expected = [f"{tmp_path / 'onefold.yaml'}:1: policies.{one} names, too: remove one of them" for one in problems]
    try:
        read(tmp_path, f"policies: {rules}")
        found: list[str] = []
    except InvalidSettings as error:
        found = list(error.problems)
    assert found == expected
