"""A view that was dropped is made anew from the ledger alone: it has the columns and types that it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from support.contract_views import contracts, stored, unified_kind
from support.told_warehouse import ToldWarehouse
from support.views import BASE, version

from onefold.changes.decisions import DECISIONS_TABLE
from onefold.changes.entry import Entry
from onefold.changes.table import row_of
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.plan import ViewPlan
from onefold.schema.contract_rules import DecisionKey, Verdict
from onefold.schema.versions import Version
from onefold.views.ledger_entries import entries_of_plan

NOW = datetime(2026, 11, 1, tzinfo=UTC)
S, S2 = "STRUCT<city STRING>", "STRUCT<city STRING, ssn STRING>"
L, L2 = f"ARRAY<{S}>", f"ARRAY<{S2}>"


class Ledger(ToldWarehouse):
    """A warehouse with a ledger and decisions that are read as they were appended."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        self.decisions: list[dict[str, Any]] = []

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        if DECISIONS_TABLE in sql:
            return self.decisions
        return [{**row_of(one), "recorded_at": one.recorded_at, "changed_at": None} for one in self.entries]


class Reader:
    """The unified view of a table whose versions have the columns `id` and `at`, or `id` alone."""

    def __init__(self, new: str, types: str) -> None:
        self.ledger, self.versions = Ledger(), list[Version]()
        kind = unified_kind(contracts(new, types))
        settings = replace(kind.settings, changes_dataset="onefold_changes")
        self.kind = replace(kind, warehouse=cast(BaseWarehouse, self.ledger), settings=settings)
        self.view: StoredView | None = None

    def lands(self, *types: str) -> None:
        for type_ in types:
            number = str(len(self.versions) + 1)
            self.versions.append(version(number, "id INT64", *([f"at {type_}"] if type_ else [])))
            self.refresh()

    def refresh(self) -> None:
        built, found = self.kind.build(self.versions, self.versions, self.view), tuple(self.versions)
        plan = ViewPlan(BASE, "update", built, self.view, None, (), versions=found)
        self.ledger.entries += entries_of_plan(self.kind, plan, None, NOW)
        self.view = stored(built)

    def decide(self, verdict: Verdict, *about: DecisionKey) -> None:
        self.ledger.decisions += [
            {"decided_at": NOW, "change": change, "path": path, "verdict": verdict} for change, path in about
        ]
        self.refresh()

    @property
    def shown(self) -> str:
        assert self.view
        return next((str(column.type) for column in self.view.columns if column.name == "at"), "")

    def made_anew(self) -> str:
        self.view = None
        self.refresh()
        return self.shown

    @property
    def last(self) -> Entry:
        return self.ledger.entries[-1]


def effects(entry: Entry) -> Sequence[tuple[str, str, str]]:
    return [(one.kind, one.path, one.detail) for one in entry.effects]


@pytest.mark.parametrize("new", ["hide", "review"])
@pytest.mark.parametrize(
    ("history", "shown"),
    [
        ((S, S2, "STRING"), S),
        ((S, S2, "JSON"), S),
        ((S, S2, "ARRAY<STRING>"), S),
        ((S, S2, S, "STRING"), S),
        ((S, L2), L),
        ((L, S2), L),
        ((S, "", L2), L),
        ((S, L2, S2), L),
    ],
)
def test_a_field_that_is_held_stays_so_when_its_struct_becomes_something_else(
    new: str, history: tuple[str, ...], shown: str
) -> None:
    reader = Reader(new, "widen")
    reader.lands(*history)
    assert reader.shown == shown
    assert {"hide": {"hidden", "kept"}, "review": {"waiting"}}[new] & {one.decision for one in reader.ledger.entries}
    assert reader.made_anew() == shown


@pytest.mark.parametrize("types", ["keep", "review"])
@pytest.mark.parametrize("new", ["hide", "review", "show"])
@pytest.mark.parametrize("back", ["STRING", S])
def test_a_column_that_came_back_in_a_type_that_is_held_is_there(new: str, types: str, back: str) -> None:
    reader = Reader(new, types)
    reader.lands("INT64", "", back)
    assert reader.shown == reader.made_anew() == "INT64"


def test_a_column_whose_new_type_was_rejected_is_there() -> None:
    reader = Reader("review", "review")
    reader.lands("INT64", "", "STRING")
    reader.decide("reject", (reader.last.change, "at"))
    assert reader.shown == reader.made_anew() == "INT64"


@pytest.mark.parametrize("new", ["hide", "review", "show"])
@pytest.mark.parametrize("history", [("INT64", S, S2), ("INT64", S2, S), ("INT64", L, L2), (S, L2, L)])
def test_a_type_is_kept_when_the_one_that_is_held_gains_or_loses_a_field(new: str, history: tuple[str, ...]) -> None:
    reader = Reader(new, "keep")
    reader.lands(*history)
    assert reader.shown == reader.made_anew()


def test_the_ledger_says_that_a_text_of_a_struct_is_held() -> None:
    """Under `types: widen`, too, while a field of the struct is not shown."""
    reader = Reader("hide", "widen")
    reader.lands(S, S2, "STRING")
    kept = f"kept: values that do not fit the former type ({S} -> STRING)"
    assert (reader.last.decision, effects(reader.last)) == ("kept", [("null", "at", kept)])


def test_the_ledger_says_which_fields_of_a_struct_that_became_a_list_are_held() -> None:
    reader = Reader("review", "widen")
    reader.lands(S, L2)
    expected = [("cast", "at", f"{S} -> {L}"), ("hidden", "at.ssn", "waiting")]
    assert (reader.last.decision, effects(reader.last)) == ("waiting", expected)


def test_a_field_of_a_list_that_was_accepted_waits_by_itself() -> None:
    reader = Reader("review", "review")
    reader.lands(S, L2)
    reader.decide("accept", (reader.last.change, "at"))
    assert reader.shown == reader.made_anew() == L
    reader.decide("accept", (reader.last.change, "at.ssn"))
    assert reader.shown == reader.made_anew() == L2
