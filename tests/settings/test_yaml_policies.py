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
        'policies:\n  "a b": {x: clear}\n  a.b.c: {x: clear}\n  customer: {x: show, "a..b": mask, "": drop, X: clear}\n'
        '  order: [a]\n  1: {a: clear}\n  ORDER: {}\n  log: {a: [clear], "a`b": mask, c: claer, d: Mask, e: }\n  t:\n'
    )
    with pytest.raises(InvalidSettings) as raised:
        read(tmp_path, text)
    actions = "expected clear, hash, mask or drop, got"
    found = [problem.partition("onefold.yaml: ")[2] for problem in raised.value.problems]
    assert found == [
        "policies: 'a b' is no pattern of tables: write customer, shop.customer, or * in a name",
        "policies: 'a.b.c' is no pattern of tables: write customer, shop.customer, or * in a name",
        f"policies.customer.x: {actions} 'show'",
        "policies.customer.a..b: 'a..b' is no pattern of columns: write email, address.zip, or * in a name",
        "policies.customer.: '' is no pattern of columns: write email, address.zip, or * in a name",
        "policies.customer.X is given twice; case makes no difference",
        "policies.order: expected columns with actions, as in `email: hash`, got \"['a']\"",
        "policies: 1 is not a text; put names such as 3, yes and on in quotes",
        "policies.ORDER is given twice; case makes no difference",
        f"policies.log.a: {actions} \"['clear']\"",
        "policies.log.a`b: 'a`b' is no pattern of columns: write email, address.zip, or * in a name",
        f"policies.log.c: {actions} 'claer': did you mean clear?",
        f"policies.log.d: {actions} 'Mask': did you mean mask?",
        f"policies.log.e: {actions} nothing",
        "policies.t: expected columns with actions, as in `email: hash`, got nothing",
    ]


@pytest.mark.parametrize(
    ("rules", "problems"),
    [
        (
            '{customer: {email: clear}, "*.customer": {EMAIL: hash}}',
            ["*.customer.EMAIL (hash) and policies.customer.email (clear)"],
        ),
        ('{"*": {"*mail*": clear}, "*.*": {"**mail*": clear}}', ["*.*.**mail* (clear) and policies.*.*mail* (clear)"]),
        ('{customer: {email: clear}, shop.customer: {email: hash}, "*customer": {email: drop}}', []),
        ('{"*": {"*mail*": clear, "*mail": hash, "mail*": mask}}', []),
    ],
)
def test_two_policies_of_the_same_columns_are_refused(tmp_path: Path, rules: str, problems: list[str]) -> None:
    expected = [f"{tmp_path / 'onefold.yaml'}: policies.{one} name the same columns: remove one of them" for one in problems]
    try:
        read(tmp_path, f"policies: {rules}")
        found: list[str] = []
    except InvalidSettings as error:
        found = list(error.problems)
    assert found == expected
