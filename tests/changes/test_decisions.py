"""The table of decisions: what is wrong with it is an error that names it, and says what to do."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.bigquery_emulator import EmulatedDataset

from onefold.changes.decisions import create_decisions, decide, read_verdicts
from onefold.core.errors import AccessDenied, Rejected
from onefold.ports.warehouse import BaseWarehouse
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

COLUMNS = {"decided_at": "TIMESTAMP", "change": "STRING", "path": "STRING", "verdict": "STRING"}
EXPECTED = "expected the columns decided_at TIMESTAMP, change STRING, path STRING, verdict STRING"


def without(name: str) -> dict[str, str]:
    return {column: type_ for column, type_ in COLUMNS.items() if column != name}


@pytest.mark.parametrize(
    ("columns", "row", "words"),
    [
        (without("verdict"), "CURRENT_TIMESTAMP(), 'c', ''", "verdict"),
        (without("decided_at"), "'c', '', 'accept'", "decided_at"),
        (COLUMNS | {"change": "INT64"}, "CURRENT_TIMESTAMP(), 1, '', 'accept'", "the type of change is another one"),
        (COLUMNS | {"decided_at": "STRING"}, "'now', 'c', '', 'accept'", "the type of decided_at is another one"),
        (COLUMNS | {"path": "INT64"}, "CURRENT_TIMESTAMP(), 'c', 1, 'accept'", "the type of path is another one"),
        (
            COLUMNS | {"verdict": "ARRAY<STRING>"},
            "CURRENT_TIMESTAMP(), 'c', '', ['accept']",
            "the type of verdict is another",
        ),
    ],
    ids=["no verdict", "no time", "a number", "a time as text", "a path that is a number", "an array"],
)
def test_a_table_with_other_columns_is_an_error_that_names_it(
    dataset: EmulatedDataset, columns: dict[str, str], row: str, words: str
) -> None:
    dataset.land("schema_change_decisions", columns, row)
    warehouse = EmulatedWarehouse(dataset.client)
    with pytest.raises(Rejected) as refused:
        read_verdicts(warehouse, dataset.name)
    text = str(refused.value)
    assert text.startswith(f"{DEFAULT_PROJECT}.{dataset.name}.schema_change_decisions: ")
    assert words in text
    assert EXPECTED in text


def test_a_decision_that_a_table_cannot_take_is_an_error_that_names_it(dataset: EmulatedDataset) -> None:
    dataset.land("schema_change_decisions", without("path"))
    with pytest.raises(Rejected, match=rf"{dataset.name}.schema_change_decisions: .*{EXPECTED}"):
        decide(EmulatedWarehouse(dataset.client), dataset.name, [("c", "zip")], "accept")


def test_a_table_that_is_not_there_has_no_decision(dataset: EmulatedDataset) -> None:
    warehouse = EmulatedWarehouse(dataset.client)
    assert read_verdicts(warehouse, dataset.name).by_change == {}
    create_decisions(warehouse, dataset.name)
    decide(warehouse, dataset.name, [("c", "zip"), ("v", "zip")], "accept")
    found = read_verdicts(warehouse, dataset.name)
    assert found.by_change == {("c", "zip"): "accept", ("v", "zip"): "accept"}
    assert found.times.keys() == found.by_change.keys()


class Refusing:
    """A BigQuery that lets nobody read or write rows."""

    project = "p"

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        raise AccessDenied(f"a query on p: 403 Access Denied: {sql.splitlines()[0]}")

    execute = fetch


def test_a_right_that_is_missing_is_an_error_that_names_the_table_and_the_right() -> None:
    warehouse = cast(BaseWarehouse, Refusing())
    with pytest.raises(
        AccessDenied, match=r"^p\.changes\.schema_change_decisions: .*grant the account bigquery.tables.getData"
    ):
        read_verdicts(warehouse, "changes")
    with pytest.raises(AccessDenied, match=r"^p\.changes\.schema_change_decisions: .*bigquery.tables.updateData on it"):
        decide(warehouse, "changes", [("c", "")], "reject")
