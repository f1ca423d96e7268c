"""Entries of a table that gains columns in place: each column that is held is a change, and the rest is one entry."""

from __future__ import annotations

from datetime import UTC, datetime

from onefold.changes.entry import Effect, Entry
from onefold.changes.under_contract import entries_by_column
from onefold.schema.contract_rules import Contract, Verdicts
from onefold.schema.diff import SchemaChange, Severity

OPERATIONS = tuple(SchemaChange("added", path, Severity.INFO, new="STRING") for path in ("id", "zip", "fax"))
EFFECTS = tuple(Effect("p.d.v", "new column", one.path, "STRING") for one in OPERATIONS)
ENTRY = Entry("1", datetime(2026, 1, 1, tzinfo=UTC), "pull", "d", "t", OPERATIONS, EFFECTS, version_after="2", change="v")


def by_column(contract: Contract) -> list[tuple[str, str, list[str], list[str]]]:
    found = list(entries_by_column(contract, ENTRY, ["id"], (), lambda version, path: f"{path} of {version}"))
    assert len({one.id for one in found}) == len(found)
    return [(one.change, one.decision, [op.path for op in one.operations], [e.kind for e in one.effects]) for one in found]


def test_each_column_that_is_held_has_an_entry_that_is_decided_by_itself() -> None:
    verdicts = Verdicts({("fax of 2", ""): "reject"})
    assert by_column(Contract(new_columns="review", verdicts=verdicts)) == [
        ("", "shown", ["id"], ["new column"]),
        ("zip of 2", "waiting", ["zip"], ["hidden"]),
        ("fax of 2", "rejected", ["fax"], ["hidden"]),
    ]


def test_without_a_contract_there_is_one_entry_which_nobody_decides_about() -> None:
    assert by_column(Contract()) == [("", "shown", ["id", "zip", "fax"], ["new column"] * 3)]
