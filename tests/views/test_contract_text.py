"""The text of views under a contract: golden files in every form, and rows in Google's own evaluator."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.contract_views import build_held, contracts, stored, unified_kind
from support.views import FORMS, Rows, inlined, rows, tables, version
from support.zetasql_judge import Judge

from onefold.core.errors import LimitExceeded
from onefold.refresh.built_view import Form
from onefold.refresh.held_note import HeldNote, read_held_note
from onefold.refresh.stored_settings import setting_changes
from onefold.refresh.tables_read import covered_versions
from onefold.schema.contract_rules import Verdicts
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type

GOLDEN = Path(__file__).parents[1] / "golden" / "contract"
OLD = version(
    "a1", "id INT64", "n INT64", "day DATE", "raw BYTES", "address STRUCT<zip INT64, city STRING>", "note STRUCT<a INT64>"
)
NEW = version(
    "b2", "id STRING", "n STRING", "day TIMESTAMP", "raw STRING", "address STRUCT<zip STRING, city STRING, street STRING>",
    "note STRING", "email STRING",
)  # fmt: skip
BOTH = (OLD, NEW)
HOLD = contracts("hide", "keep")
KEYED = TableRules(keys=("id",))
LANDED: Rows = {
    "a1": [("1", "7", "DATE '2020-02-29'", "b'\\xff'", "STRUCT(12, 'x')", "STRUCT(5)")],
    "b2": [
        ("'2'", "'8'", "TIMESTAMP '2020-03-01 00:00:00+00'", "'text'", "STRUCT('34', 'y', 's')", "'{}'", "'e'"),
        ("'x-3'", "'many'", "TIMESTAMP '2020-03-01 12:00:00+00'", "NULL", "STRUCT('A', 'z', 't')", "NULL", "'f'"),
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_text_is_the_golden_file(judge: Judge, form: Form) -> None:
    view = build_held((OLD,), BOTH, HOLD, form, KEYED)
    found = judge.columns(inlined(view), tables(BOTH))
    assert [(name, str(parse_type(kind))) for name, kind in found] == [(one.name, str(one.type)) for one in view.columns]
    path = GOLDEN / f"{form}.sql"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(view.ddl + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == view.ddl + "\n"


@pytest.mark.parametrize("form", FORMS)
def test_values_are_equal_or_null_and_new_columns_are_not_there(judge: Judge, form: Form) -> None:
    view = build_held((OLD,), BOTH, HOLD, form, KEYED)
    found = {row["id"]: row for row in rows(judge, view, BOTH, LANDED)}
    before = rows(judge, build_held((OLD,), (OLD,), HOLD, form, KEYED), (OLD,), {"a1": LANDED["a1"]})
    assert {**found["1"], "id": 1} == before[0]
    second: dict[str, Any] = {"n": 8, "raw": b"text", "address": {"city": "y", "zip": 34}, "note": None}
    assert {name: found["2"][name] for name in second} == second
    assert found["2"]["day"] is not None
    third: dict[str, Any] = {"n": None, "day": None, "raw": None, "address": {"city": "z", "zip": None}, "note": None}
    assert {name: found["x-3"][name] for name in third} == third
    assert set(found["2"]) == {"id", "n", "day", "raw", "address", "note"}


def test_a_view_that_a_contract_leaves_as_it_is_has_the_text_of_one_without() -> None:
    free = build_held((OLD,), BOTH, contracts(), rules=KEYED).query
    shown = build_held(BOTH, BOTH, HOLD, rules=KEYED).query
    assert shown.partition("}\n")[2] == free.partition("}\n")[2]


def test_the_text_says_what_is_held_and_the_versions_that_it_reads() -> None:
    view = build_held((OLD,), BOTH, HOLD, "two-level", KEYED)
    note = read_held_note(view.query)
    assert note.hidden == ("email",)
    assert {name: str(type_) for name, type_ in note.types.items()} == {
        "n": "STRING", "day": "TIMESTAMP", "raw": "STRING", "note": "STRING",
        "address": "STRUCT<zip STRING, city STRING, street STRING>",
    }  # fmt: skip
    assert covered_versions(view.query, "customer") == {"a1", "b2"}
    assert read_held_note("SELECT 1") == read_held_note("-- held by the contract: [1]\nSELECT 1") == HeldNote()


def test_a_name_with_a_backtick_is_no_table_in_the_text() -> None:
    odd = version("b2", "id INT64", "a FROM `p.shop.customer_v_ff` b|INT64")
    view = build_held((version("a1", "id INT64"),), (version("a1", "id INT64"), odd), HOLD)
    assert covered_versions(view.query, "customer") == {"a1", "b2"}


def test_a_conversion_that_is_held_is_listed_with_its_losses_and_a_hidden_column_has_none() -> None:
    view = build_held((OLD,), BOTH, HOLD, rules=KEYED)
    found = {(one, cast.column, f"{cast.source} -> {cast.target}") for cast in view.casts for one in cast.versions}
    assert {("a1", "id", "INT64 -> STRING"), ("b2", "n", "STRING -> INT64")} < found
    assert not {("a1", "n", "INT64 -> STRING")} & found
    assert all(cast.losses for cast in view.casts if cast.column == "n")


def test_a_contract_is_a_setting_of_the_view() -> None:
    view, rules = build_held((OLD,), BOTH, HOLD), unified_kind(contracts()).settings.rules_for(unified_kind(HOLD).base)
    assert [str(change) for change in setting_changes(view.query, rules)] == [
        "contract.new_columns: hide -> default", "contract.types: keep -> default",
    ]  # fmt: skip
    kinds = [unified_kind(by) for by in (contracts(), HOLD, contracts("review"), contracts(dropped="warn"))]
    assert len({kind.fingerprint for kind in kinds}) == 4


def test_a_decision_is_part_of_what_decides_the_text() -> None:
    undecided = contracts("review")
    decided = contracts("review", verdicts={("f" * 32, ""): "accept"})
    assert unified_kind(undecided).fingerprint != unified_kind(decided).fingerprint


def test_what_waits_is_known_with_the_change_that_brought_it_and_is_shown_once_it_is_accepted() -> None:
    waiting = build_held((OLD,), BOTH, contracts("review"), rules=KEYED).waiting
    assert [(one.version, one.path) for one in waiting] == [("b2", "address.street"), ("b2", "email")]
    accepted = contracts("review", verdicts={(waiting[0].change, "email"): "accept"})
    view = build_held((OLD,), BOTH, accepted, rules=KEYED)
    assert [column.name for column in view.columns] == ["id", "n", "day", "raw", "address", "note", "email"]
    assert [one.path for one in view.waiting] == ["address.street"]


def test_a_dropped_column_is_warned_of_and_stays() -> None:
    view = build_held((OLD,), (OLD, version("c3", "id INT64")), contracts(dropped="warn"))
    assert [column.name for column in view.columns] == [column.name for column in OLD.columns]
    text = "the newest version, c3, lacks n, day, raw, address, note: its rows have NULL there"
    assert view.warnings == (f"my-project.shop.customer_unified: {text}",)
    assert build_held((OLD,), (OLD, version("c3", "id INT64")), contracts()).warnings == ()


@pytest.mark.parametrize(
    ("kept", "second", "value", "held"),
    [
        ("DATE", "TIMESTAMP", "TIMESTAMP '2026-01-01 00:00:00+00'", "STRING"),
        ("BOOL", "INT64", "1", "STRING"),
        ("BYTES", "ARRAY<BYTES>", "[b'\\xff']", "ARRAY<STRING>"),
        ("STRUCT<x INT64>", "ARRAY<STRUCT<x INT64>>", "[STRUCT(2)]", "STRING"),
        ("STRUCT<x INT64, y STRUCT<z DATE>>", "STRUCT<x NUMERIC, y STRUCT<z DATETIME>>",
         "STRUCT(7, STRUCT(DATETIME '2026-01-01 00:00:00'))", "STRUCT<x STRING, y STRUCT<z STRING>>"),
    ],
)  # fmt: skip
def test_a_version_that_is_held_changes_no_value_of_another_one(
    judge: Judge, kept: str, second: str, value: str, held: str
) -> None:
    every = tuple(version(f"v{number}", "id INT64", f"a {type_}") for number, type_ in enumerate((kept, second, held)))
    landed: Rows = {"v1": [("2", value)]}
    found = [rows(judge, build_held(every[:1], every[:count], HOLD), every[:count], landed) for count in (2, 3)]
    assert found[0] == found[1]
    assert found[0][0]["a"] is not None


TEXT, NUMBER = version("a1", "id INT64", "n STRING"), version("b2", "id INT64", "n INT64")


@pytest.mark.parametrize("form", FORMS)
def test_a_type_is_kept_when_no_version_that_has_it_is_left(judge: Judge, form: Form) -> None:
    view = build_held((TEXT, NUMBER), (NUMBER,), contracts(types="keep"), form)
    assert [f"{one.name} {one.type}" for one in view.columns] == ["id INT64", "n STRING"]
    assert rows(judge, view, (NUMBER,), {"b2": [("1", "7")]}) == [{"id": 1, "n": "7"}]
    assert build_held((TEXT, NUMBER), (NUMBER,), contracts(types="widen"), form).columns == NUMBER.columns


def test_a_narrower_type_waits_for_the_change_of_the_versions_that_are_left() -> None:
    (waiting,) = build_held((TEXT, NUMBER), (NUMBER,), contracts(types="review")).waiting
    assert (waiting.version, waiting.path, waiting.old, waiting.new) == ("b2", "n", "STRING", "INT64")
    accepted = contracts(types="review", verdicts={(waiting.change, ""): "accept"})
    assert build_held((TEXT, NUMBER), (NUMBER,), accepted).columns == NUMBER.columns
    rejected = build_held((TEXT, NUMBER), (NUMBER,), replace(accepted, verdicts=Verdicts({(waiting.change, "n"): "reject"})))
    assert ([str(one.type) for one in rejected.columns], rejected.waiting) == (["INT64", "STRING"], ())


def test_a_type_that_other_settings_make_narrower_is_shown() -> None:
    both = (version("a1", "id INT64", "n INT64"), version("b2", "id INT64", "n FLOAT64"))
    before, by = unified_kind(contracts(types="keep")), TableRules(mixed_numbers="FLOAT64")
    text = stored(before.build(both, both, None))
    assert [str(one.type) for one in text.columns] == ["INT64", "STRING"]
    view = unified_kind(contracts(types="keep"), by).build(both, both, text)
    assert [str(one.type) for one in view.columns] == ["INT64", "FLOAT64"]


@pytest.mark.parametrize("form", FORMS)
def test_a_view_keeps_its_columns_where_the_versions_that_had_them_are_gone(judge: Judge, form: Form) -> None:
    left = version("b2", "y INT64")
    view = build_held((version("a1", "x STRUCT<z INT64>", "day DATE"),), (left,), HOLD, form)
    assert rows(judge, view, (left,), {"b2": [("7",), ("8",)]}) == [{"x": None, "day": None}] * 2
    assert "no version of my-project.shop.customer has x, day, where all rows are NULL" in view.warnings[0]
    again = unified_kind(HOLD).build((left,), (left,), stored(view))
    assert (again.columns, again.waiting) == (view.columns, ())


def test_a_struct_keeps_its_fields_where_the_versions_that_had_them_are_gone(judge: Judge) -> None:
    left = version("b2", "y INT64", "x STRUCT<q INT64>")
    view = build_held((version("a1", "x STRUCT<z INT64>"),), (left,), HOLD, "spelled")
    assert rows(judge, view, (left,), {"b2": [("7", "STRUCT(1)"), ("8", "NULL")]}) == [{"x": {"z": None}}, {"x": None}]
    assert "no version of my-project.shop.customer has x.z, where all rows are NULL" in view.warnings[0]


def test_a_view_that_is_only_just_short_enough_gets_a_shorter_form_under_a_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    import onefold.views.under_contract
    import onefold.views.unified_view

    versions = tuple(version(f"a{number}", "id INT64", f"c{number} INT64") for number in range(8))
    kind = unified_kind(HOLD)
    before = stored(kind.build(versions[:1], versions[:1], None))
    free = unified_kind(contracts()).build(versions, versions, before)
    for module in (onefold.views.unified_view, onefold.views.under_contract):
        monkeypatch.setattr(module, "MAX_TEXT", len(free.query) + 50)
    assert (free.form, kind.build(versions, versions, before).form) == ("spelled", "compact")
    monkeypatch.setattr(onefold.views.under_contract, "MAX_TEXT", 100)
    with pytest.raises(LimitExceeded, match="of 100 characters under the contract"):
        kind.build(versions, versions, before)
