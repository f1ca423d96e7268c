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
        '  order: [a]\n  1: {a: clear}\n  ORDER: {}\n  log: {a: [clear], "a`b": mask}\n'
    )
    with pytest.raises(InvalidSettings) as raised:
        read(tmp_path, text)
    found = [problem.partition("onefold.yaml: ")[2] for problem in raised.value.problems]
    assert found == [
        "policies: 'a b' is no pattern of tables: write customer, shop.customer, or * in a name",
        "policies: 'a.b.c' is no pattern of tables: write customer, shop.customer, or * in a name",
        "policies.customer.x must be clear, hash, mask, drop, not 'show'",
        "policies.customer.a..b: 'a..b' is no pattern of columns: write email, address.zip, or * in a name",
        "policies.customer.: '' is no pattern of columns: write email, address.zip, or * in a name",
        "policies.customer.X is given twice; case makes no difference",
        "policies.order must be a mapping",
        "policies: 1 is not a text; put it in quotes",
        "policies.ORDER is given twice; case makes no difference",
        "policies.log.a must be clear, hash, mask, drop, not ['clear']",
        "policies.log.a`b: 'a`b' is no pattern of columns: write email, address.zip, or * in a name",
    ]
