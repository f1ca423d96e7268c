"""An entry says what a contract holds of it, as `onefold plan` says what waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from onefold.changes.entry import Effect, Entry
from onefold.changes.under_contract import entry_under
from onefold.schema.contract_rules import Contract, NewColumns, Verdict, Verdicts
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.outcomes import Outcome
from onefold.schema.waiting import Waiting

RETYPED = SchemaChange("retyped", "n", Severity.CRITICAL, "INT64", "STRING")
FIELD = SchemaChange("added", "n.y", Severity.INFO, new="INT64")


def decision(contract: Contract, operation: SchemaChange, held: Waiting) -> str:
    """Return that of an entry about version 3, where a view does not show a column."""
    effects = (Effect("p.d.v", "cast" if operation.old else "new column", operation.path, "INT64 -> STRING"),)
    entry = Entry(
        "1", datetime(2026, 1, 1, tzinfo=UTC), "pull", "d", "t", (operation,), effects, version_after="3", change="c3"
    )
    return entry_under(contract, entry, (), (), (held,)).decision


@pytest.mark.parametrize("operation", [RETYPED, FIELD], ids=["type", "field"])
@pytest.mark.parametrize(
    ("new_columns", "verdicts", "outcome"),
    [("hide", {}, "hidden"), ("review", {}, "waiting"), ("review", {("c2", "n"): "reject"}, "rejected")],
)
def test_a_change_of_a_column_that_is_not_shown_is_what_became_of_the_column(
    operation: SchemaChange, new_columns: NewColumns, verdicts: dict[tuple[str, str], Verdict], outcome: Outcome
) -> None:
    contract = Contract(new_columns=new_columns, types="review", verdicts=Verdicts(verdicts))
    assert decision(contract, operation, Waiting("c2", "2", "N", None, "INT64")) == outcome


def test_a_type_of_a_column_that_is_shown_waits_whatever_another_column_does() -> None:
    contract = Contract(new_columns="hide", types="review")
    assert decision(contract, RETYPED, Waiting("c3", "3", "n", "INT64", "STRING")) == "waiting"
