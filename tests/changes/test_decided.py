"""Entries that were held back when they were recorded are read with what was decided, and what views show, since."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from onefold.changes.decided import decided, later_names
from onefold.changes.entry import Effect, EffectKind, Entry, SettingChange
from onefold.changes.ids import version_id
from onefold.core.names import TableId
from onefold.schema.contract_rules import Verdict, Verdicts
from onefold.schema.diff import SchemaChange, Severity

T0 = datetime(2026, 11, 1, tzinfo=UTC)
VIEW = "p.shop.order_unified"
ADDED = SchemaChange("added", "email", Severity.INFO, new="STRING")
RETYPED = SchemaChange("retyped", "amount", Severity.CRITICAL, "INT64", "FLOAT64")
HIDDEN = Effect(VIEW, "hidden", "email", "waiting")
KEPT = Effect(VIEW, "null", "amount", "waiting: values that do not fit the former type (INT64 -> FLOAT64: digits are lost)")
WAITING = Entry(
    "1", T0, "capture", "shop", "order", (ADDED, RETYPED), (HIDDEN, KEPT), "waiting", version_after="b2", change="c1"
)


def now(entry: Entry, verdicts: dict[tuple[str, str], Verdict], *others: Entry) -> Entry:
    times = {key: T0 + timedelta(days=day) for day, key in enumerate(verdicts, 1)}
    return decided((entry, *others), Verdicts(verdicts, times))[0]


def shown(*effects: tuple[EffectKind, str, str], after: timedelta, by: str = "discovered") -> Entry:
    """An entry about what the view shows."""
    settings = (SettingChange("contract.types", "review", None),) if by == "settings" else ()
    found = tuple(Effect(VIEW, *one) for one in effects)
    return Entry("2", T0 + after, by, "shop", "order", (), found, settings=settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "decision", "day"),
    [
        ({}, "waiting", None),
        ({("another", ""): "accept"}, "waiting", None),
        ({("c1", "email"): "accept"}, "waiting", None),
        ({("c1", ""): "accept"}, "accepted", 1),
        ({("c1", ""): "reject"}, "rejected", 1),
        ({("c1", "email"): "accept", ("c1", "amount"): "accept"}, "accepted", 2),
        ({("c1", "email"): "reject", ("c1", ""): "accept"}, "rejected", 2),
    ],
)
def test_an_entry_says_what_was_decided_and_when(
    verdicts: dict[tuple[str, str], Verdict], decision: str, day: int | None
) -> None:
    found = now(WAITING, verdicts)
    assert (found.decision, found.decided_at) == (decision, None if day is None else T0 + timedelta(days=day))
    assert replace(found, decision="waiting", decided_at=None, effects=WAITING.effects) == WAITING


def test_what_was_decided_about_a_version_settles_its_entry_where_the_change_has_another_identifier_by_now() -> None:
    name = version_id(TableId("p", "shop", "order"), "b2")
    names = later_names("p", [WAITING, replace(WAITING, change="c2", decision="shown")], Verdicts())
    verdicts = Verdicts({("c9", ""): "reject", (name, "email"): "reject", (name, "amount"): "reject"}, {}, names)
    assert (names, decided((WAITING,), verdicts)[0].decision) == ({"c1": name}, "rejected")


def test_effects_of_what_was_accepted_are_those_of_a_change_that_is_shown() -> None:
    found = now(WAITING, {("c1", "email"): "reject", ("c1", "amount"): "accept"})
    assert [(one.kind, one.path, one.detail) for one in found.effects] == [
        ("hidden", "email", "rejected"),
        ("lossy cast", "amount", "INT64 -> FLOAT64: digits are lost"),
    ]
    assert (WAITING.severity, found.severity) == (Severity.WARNING, Severity.CRITICAL)
    assert now(WAITING, {("c1", ""): "accept"}).effects[0] == Effect(VIEW, "new column", "email", "STRING")


@pytest.mark.parametrize(
    ("later", "decision"),
    [
        (shown(("new column", "email", "STRING"), ("cast", "amount", "INT64 -> FLOAT64"), after=timedelta(1)), "shown"),
        (
            shown(
                ("new column", "Email", "STRING"),
                ("cast", "amount", "INT64 -> STRING: x"),
                after=timedelta(1),
                by="settings",
            ),
            "shown",
        ),
        (shown(("new column", "email", "STRING"), after=timedelta(1)), "waiting"),
        (shown(("new column", "email", "STRING"), ("cast", "amount", "INT64 -> NUMERIC"), after=timedelta(1)), "waiting"),
        (shown(("new column", "email", "STRING"), ("cast", "amount", "INT64 -> FLOAT64"), after=-timedelta(1)), "waiting"),
        (shown(("new column", "email", "no type"), ("cast", "amount", "INT64 -> FLOAT64"), after=timedelta(1)), "waiting"),
    ],
    ids=["shown", "contract lifted", "one of them", "a narrower type", "before", "a text that is no type"],
)
def test_what_a_view_came_to_show_waits_no_longer(later: Entry, decision: str) -> None:
    assert now(WAITING, {}, later).decision == decision


@pytest.mark.parametrize(
    ("path", "verdict", "decision"),
    [("email", "reject", "rejected"), ("emails", "reject", "waiting"), ("email", "accept", "waiting")],
)
def test_a_later_change_of_a_column_that_was_rejected_is_rejected(path: str, verdict: Verdict, decision: str) -> None:
    field = SchemaChange("added", f"{path}.host", Severity.INFO, new="STRING")
    later = replace(WAITING, change="c2", operations=(field,), effects=(replace(HIDDEN, path=field.path),))
    other = replace(WAITING, table="another", change="c3", operations=(replace(ADDED, path="emails"),))
    assert now(later, {("c1", "email"): verdict, ("c3", ""): "reject"}, WAITING, other).decision == decision


@pytest.mark.parametrize(
    ("type_", "decision"), [("STRING", "shown"), ("ARRAY<STRUCT<x INT64>>", "waiting"), ("no type", "waiting")]
)
def test_a_field_is_shown_by_the_text_of_its_struct(type_: str, decision: str) -> None:
    field = SchemaChange("added", "at.y", Severity.INFO, new="INT64")
    entry = replace(WAITING, operations=(field,), effects=(replace(HIDDEN, path="at.y"),))
    assert now(entry, {}, shown(("cast", "at", f"STRUCT<x INT64> -> {type_}"), after=timedelta(1))).decision == decision


def test_an_entry_without_its_effects_is_decided_by_its_operations() -> None:
    bare = replace(WAITING, effects=())
    assert now(bare, {("c1", "email"): "accept"}).decision == "waiting"
    assert now(bare, {("c1", ""): "accept"}).decision == "accepted"
    assert now(replace(bare, operations=()), {("c1", ""): "reject"}).decision == "rejected"


def test_what_was_shown_stays_as_it_is() -> None:
    entry = replace(WAITING, decision="shown", effects=(Effect(VIEW, "new column", "email", "STRING"),))
    assert now(entry, {("c1", ""): "reject"}) == entry
