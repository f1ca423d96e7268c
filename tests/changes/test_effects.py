"""What each view does with a new version, against an oracle that is written from the rules."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import ABOVE
from support.views import version

from onefold.changes.effects import ReadView
from onefold.changes.entry import Effect, Entry
from onefold.changes.ids import version_change_id
from onefold.changes.table import row_of
from onefold.changes.versions import ReportedChange, version_entries
from onefold.core.names import TableId
from onefold.schema.column_policy import Action, PolicyRule, TablePolicies
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING
from onefold.schema.versions import Version

GOLDEN = Path(__file__).parents[1] / "golden" / "changes" / "rows.json"
BASE = TableId("my-project", "shop", "customer")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VIEW = "my-project.shop.customer_unified"
UNIFIED = ReadView(VIEW, TableRules())

Columns = dict[str, str]
HISTORIES = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(sorted(ABOVE)), max_size=4),
    min_size=2,
    max_size=5,
)


def versions_of(history: list[Columns]) -> list[Version]:
    return [version(f"v{at}", *(f"{name} {type_}" for name, type_ in one.items())) for at, one in enumerate(history)]


def entries(
    versions: list[Version],
    *new: str,
    views: tuple[ReadView, ...] = (UNIFIED,),
    reported: tuple[str, ReportedChange] | None = None,
) -> list[Entry]:
    return list(version_entries(BASE, versions, set(new), views, NOW, reported))


def effects(*versions: Version, view: ReadView = UNIFIED) -> list[tuple[str, str, str]]:
    (entry,) = entries(list(versions), versions[-1].id, views=(view,))
    return [(one.kind, one.path, one.detail) for one in entry.effects]


# The oracle: the rules of the design on names and types alone. The common type of two is the first that both chains have.


def common(types: list[str]) -> str:
    return next(one for one in ABOVE[types[0]] if all(one in ABOVE[type_] for type_ in types))


def loses(types: list[str]) -> bool:
    """Of scalars that are united without settings, BYTES as text alone may lose something."""
    return "BYTES" in types and common(types) != "BYTES"


def expected(history: list[Columns]) -> set[tuple[str, str]]:
    *before, new = history
    found: set[tuple[str, str]] = set()
    for name in {name for one in history for name in one}:
        had = [one[name] for one in before if name in one]
        if not had:
            found.add(("new column", name))
        elif name not in new:
            if name in before[-1]:
                found.add(("null", name))
        elif loses([*had, new[name]]) and not loses(had):
            found.add(("lossy cast", name))
        elif common(had) != common([*had, new[name]]):
            found.add(("cast", name))
    return found or {("nothing", "")}


@given(HISTORIES)
def test_each_effect_follows_from_the_rules(history: list[Columns]) -> None:
    (entry,) = entries(versions_of(history), f"v{len(history) - 1}")
    assert {(one.kind, one.path) for one in entry.effects} == expected(history)
    assert len(entry.effects) == len(expected(history))


@given(HISTORIES, st.data())
def test_versions_that_come_together_have_the_entries_of_versions_that_come_one_by_one(
    history: list[Columns], data: st.DataObject
) -> None:
    versions = versions_of(history)
    missing = data.draw(st.sets(st.sampled_from([one.id for one in versions]), min_size=1))
    together = entries(versions, *missing)
    alone = [entry for at, one in enumerate(versions) if one.id in missing for entry in entries(versions[: at + 1], one.id)]
    assert together == alone


@given(HISTORIES)
def test_the_operations_of_all_entries_lead_from_nothing_to_the_last_version(history: list[Columns]) -> None:
    versions = versions_of(history)
    there: Columns = {}
    for entry in entries(versions, *(one.id for one in versions)):
        for operation in entry.operations:
            if operation.kind == "removed":
                assert there.pop(operation.path) == operation.old
            elif operation.kind in ("added", "retyped"):
                assert there.get(operation.path) == operation.old
                there[operation.path] = operation.new or ""
    assert there == history[-1]


# Cases with names.


def test_a_first_version_has_no_effect_because_nobody_reads_a_view_yet() -> None:
    (entry,) = entries([version("a", "id INT64")], "a")
    assert (entry.version_before, entry.effects, entry.severity.name) == ("", (), "INFO")


def test_a_column_that_comes_back_is_nothing_new() -> None:
    full, less = version("a", "id INT64", "zip STRING"), version("b", "id INT64")
    assert effects(full, less) == [("null", "zip", "STRING")]
    assert effects(full, less, version("c", "id INT64", "zip STRING")) == [("nothing", "", "")]


def test_a_field_that_is_dropped_becomes_null_in_its_struct() -> None:
    old = version("a", "address STRUCT<zip STRING, street STRING>")
    assert effects(old, version("b", "address STRUCT<zip STRING>")) == [("null", "address.street", "STRING")]


def test_a_target_type_that_does_not_hold_the_values_is_a_lossy_cast() -> None:
    view = ReadView(VIEW, TableRules(types=(("price", version("x", "price INT64").columns[0].type),)))
    loss = "STRING -> INT64: STRING to INT64: a value that does not fit becomes NULL or is rounded"
    assert effects(version("a", "price INT64"), version("b", "price STRING"), view=view) == [("lossy cast", "price", loss)]


def test_columns_that_a_view_does_not_show_have_no_effect() -> None:
    old, new = version("a", "id INT64"), version("b", "id INT64", "_landed_at TIMESTAMP")
    assert effects(old, new, view=ReadView(VIEW, TableRules(), ("_landed_at",))) == [("nothing", "", "")]


def test_a_new_column_without_a_policy_is_hidden_in_the_clean_view() -> None:
    policies = TablePolicies((PolicyRule("*", "id", Action.CLEAR), PolicyRule("*", "token", Action.DROP)))
    clean = ReadView("my-project.shop__views_clean.customer", TableRules(), policies=policies)
    new = version("b", "id INT64", "mail STRING", "token STRING")
    assert effects(version("a", "id INT64"), new, view=clean) == [("hidden", "mail", "mask"), ("hidden", "token", "drop")]


def test_a_hidden_column_that_is_dropped_is_no_loss_for_readers_of_the_clean_view() -> None:
    policies = TablePolicies((PolicyRule("*", "id", Action.CLEAR), PolicyRule("*", "mail", Action.DROP)))
    clean = ReadView("my-project.shop__views_clean.customer", TableRules(), policies=policies)
    assert effects(version("a", "id INT64", "mail STRING"), version("b", "id INT64"), view=clean) == [("nothing", "", "")]


# What a message tells.

ALTERED = ReportedChange("capture", "shop_1", "ALTER TABLE customer ADD zip int DEFAULT ?", datetime(2026, 1, 1, tzinfo=UTC))


def test_the_tenant_of_a_message_has_an_entry_of_its_own() -> None:
    versions = [version("a", "id INT64"), version("b", "id INT64", "zip INT64")]
    (entry,) = entries(versions, "b", reported=("b", ALTERED))
    assert (entry.origin, entry.tenant, entry.statement) == ("capture", "shop_1", ALTERED.statement)
    assert (entry.id, entry.change) == (
        version_change_id(BASE, "", "b", "shop_1", entry.changed_at),
        version_change_id(BASE, "a", "b"),
    )
    assert entry.changed_at == ALTERED.changed_at


def test_a_message_about_a_version_that_is_known_has_its_entry_too() -> None:
    versions = [version("a", "id INT64"), version("b", "id INT64", "zip INT64")]
    assert entries(versions, reported=("b", ALTERED)) == entries(versions, "b", reported=("b", ALTERED))


def test_a_tenant_that_had_an_earlier_version_has_the_operations_between_its_own_versions() -> None:
    versions = [version("a", "id INT64"), version("b", "id INT64", "zip INT64"), version("c", "id STRING", "zip INT64")]
    late = ReportedChange("capture", "shop_2", version_before="a")
    (entry,) = entries(versions, reported=("c", late))
    assert [str(one) for one in entry.operations] == ["retyped id INT64 -> STRING", "added zip INT64"]
    assert (entry.version_before, entry.change) == ("a", version_change_id(BASE, "b", "c"))
    assert entry.effects == (Effect(VIEW, "cast", "id", "INT64 -> STRING"),)


def test_a_table_that_goes_back_to_an_earlier_version_loses_its_column_in_the_rows_to_come() -> None:
    versions = [version("a", "id INT64"), version("b", "id INT64", "zip INT64")]
    back = ReportedChange("capture", "shop_1", version_before="b")
    (entry,) = entries(versions, reported=("a", back))
    assert [str(one) for one in entry.operations] == ["removed zip INT64"]
    assert entry.effects == (Effect(VIEW, "null", "zip", "INT64"),)
    assert (entry.version_before, entry.version_after) == ("b", "a")
    assert entry.change == version_change_id(BASE, "b", "a")


def test_a_table_that_changes_twice_in_one_way_has_two_entries() -> None:
    versions = [version("a", "id INT64"), version("b", "id INT64", "zip INT64")]
    times = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
    first, second = (
        entries(versions, reported=("b", ReportedChange("capture", "shop_1", changed_at=time)))[0] for time in times
    )
    assert first.id != second.id
    assert first.change == second.change


def test_a_version_before_that_is_gone_is_the_one_before_in_the_warehouse() -> None:
    versions = [version("b", "id INT64"), version("c", "id STRING")]
    (entry,) = entries(versions, reported=("c", ReportedChange("capture", "shop_2", version_before="a")))
    assert entry.version_before == "b"


@pytest.mark.parametrize("origin", ["pull", "discovered"])
def test_without_a_tenant_the_entry_is_that_of_the_version_whatever_came_before_it(origin: str) -> None:
    versions = [version("a", "id INT64"), version("b", "id STRING")]
    (entry,) = entries(versions, reported=("b", ReportedChange(origin)))  # type: ignore[arg-type]
    (alone,) = entries(versions[1:], reported=("b", ReportedChange(origin, version_before="a")))  # type: ignore[arg-type]
    assert entry.id == alone.id == entries(versions, "b")[0].id
    assert (entry.origin, entry.change) == (origin, version_change_id(BASE, "a", "b"))


def test_the_rows_of_a_history_are_the_golden_ones() -> None:
    history = [
        version("a1", "id INT64", "name STRING", "address STRUCT<zip STRING, street STRING>", "photo BYTES"),
        version("b2", "id INT64", "name STRING", "address STRUCT<zip STRING>", "photo STRING", "mail STRING"),
        version("c3", "ID STRING", "mail STRING", "born DATE"),
    ]
    policies = TablePolicies(tuple(PolicyRule("*", name, Action.CLEAR) for name in ("id", "name", "mail")))
    views = (
        UNIFIED,
        ReadView("my-project.shop__views_clean.customer", TableRules(types=(("born", STRING),)), policies=policies),
    )
    rows = list(map(row_of, entries(history, "a1", "b2", "c3", views=views, reported=("c3", ALTERED))))
    text = json.dumps(rows, indent=1) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
