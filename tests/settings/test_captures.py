"""The rules of captured columns in onefold.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.schema.column_policy import Action
from onefold.settings.captures import CaptureSettings, ColumnRules, action_of
from onefold.settings.environment import load_settings


def read(tmp_path: Path, text: str) -> dict[str, CaptureSettings]:
    path = tmp_path / "onefold.yaml"
    path.write_text(text, encoding="utf-8")
    return dict(load_settings({}, path).captures)


def test_rules_are_read_in_their_order(tmp_path: Path) -> None:
    text = """
        captures:
          shop-db:
            hash_key: projects/p/secrets/hashes
            tables:
              "shop_*.customer": {drop: [pin], mask: [born, note], hash: ["*mail*"]}
              "*": {drop: [żółw]}
          crm: {tables: {t: {hash: [a, a]}}}
    """
    assert read(tmp_path, text) == {
        "shop-db": CaptureSettings(
            (ColumnRules("shop_*.customer", ("pin",), ("born", "note"), ("*mail*",)), ColumnRules("*", ("żółw",))),
            "projects/p/secrets/hashes",
        ),
        "crm": CaptureSettings((ColumnRules("t", hash=("a",)),)),
    }


def test_file_without_captures_has_no_rules(tmp_path: Path) -> None:
    assert read(tmp_path, "time_zone: UTC\n") == {}
    assert read(tmp_path, "captures:\n") == {}


def test_all_problems_are_reported_at_once_and_no_key_is_shown(tmp_path: Path) -> None:
    text = """
        captures:
          a: [b]
          b: {tables: [c], hash_key: 0123456789abcdef, host: x}
          c: {tables: {t: {drop: pin, masks: [a]}, 7: {}, u: , v: {drop: []}}}
    """
    with pytest.raises(InvalidSettings) as raised:
        read(tmp_path, text)
    problems = [one.partition("onefold.yaml:")[2] for one in raised.value.problems]
    assert problems == [
        "3: captures.a: expected a mapping, got a list",
        "4: captures.b.tables: expected a mapping, got a list",
        "4: captures.b.hash_key: expected projects/P/secrets/S, env:NAME or file:PATH, never the secret itself",
        "4: captures.b.host: not a setting here, but below sources.NAME; known are hash_key, tables",
        "5: captures.c.tables.7: expected a text as key, got 7: put it in quotes",
        "5: captures.c.tables.t.drop: expected a list of columns, in which * stands for any characters, got a text",
        "5: captures.c.tables.t.masks: not a setting (did you mean mask?); known are drop, hash, mask",
        "5: captures.c.tables.u: expected lists of columns under drop, mask or hash, got nothing",
        "5: captures.c.tables.t: no column is named: write lists of columns under drop, mask, hash",
        "5: captures.c.tables.v: no column is named: write lists of columns under drop, mask, hash",
    ]


@pytest.mark.parametrize(
    ("pattern", "is_named"),
    [("customer", True), ("Customer", True), ("shop.customer", True), ("*.customer", True), ("shop.*", True), ("*", True),
     ("cust", False), ("crm.customer", False), ("shop", False), ("c.stomer", False), ("c?stomer", False)],
)  # fmt: skip
def test_pattern_of_tables(pattern: str, is_named: bool) -> None:
    found = action_of((ColumnRules(pattern, drop=("pin",)),), "shop", "customer", "PIN")
    assert found is (Action.DROP if is_named else Action.CLEAR)


@pytest.mark.parametrize(("pattern", "column"), [("pre\u0301nom", "pr\u00e9nom"), ("PR\u00c9*", "pre\u0301nom")])
def test_rule_names_a_column_in_another_form_of_unicode(pattern: str, column: str) -> None:
    assert action_of((ColumnRules("t", mask=(pattern,)),), "shop", "t", column) is Action.MASK


def test_variable_stands_for_the_key_of_the_file(tmp_path: Path) -> None:
    text = '{"shop-db": {"tables": {"t": {"drop": ["pin"]}}}}'
    expected = {"shop-db": CaptureSettings((ColumnRules("t", drop=("pin",)),))}
    assert load_settings({"ONEFOLD_CAPTURES": text}).captures == expected
    path = tmp_path / "onefold.yaml"
    path.write_text("time_zone: UTC\n")
    assert load_settings({"ONEFOLD_CAPTURES": text}, path).captures == expected
    path.write_text("captures: {crm: {tables: {t: {drop: [a]}}}}\n")
    with pytest.raises(InvalidSettings, match="are both set: remove one of them"):
        load_settings({"ONEFOLD_CAPTURES": text}, path)


@pytest.mark.parametrize("text", ["[a]", "{a: b: c", "{a: {tables: {t: {}}}}", "{a: {}, a: {}}"])
def test_wrong_variable_is_named(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^ONEFOLD_CAPTURES(:1)?: "):
        load_settings({"ONEFOLD_CAPTURES": text})
