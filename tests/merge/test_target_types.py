"""Target types in a base and in views, in the emulator: numbers that become times, and a field by its path."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run

pytestmark = pytest.mark.heavy


def test_numbers_become_times_in_the_views_and_in_a_base_that_held_numbers(run: Run, dataset: EmulatedDataset) -> None:
    columns = {"id": "INT64", "born": "INT64", "price": "FLOAT64"}
    land_changes(dataset, "customer_v_a", columns, [change("INSERT", "1", id=1, born=1_700_000_000_250, price=1.5)])
    land_changes(dataset, "customer_v_b", {**columns, "price": "INT64"}, [change("INSERT", "2", id=2, born=0, price=3)])
    merged = ("merge", dataset.name, "customer", "--keys", "id")
    assert run(*merged).code == 0
    Path("onefold.yaml").write_text(
        "mixed_numbers: FLOAT64\ntables: {customer: {types: {born: {type: TIMESTAMP, from: unix_millis}}}}"
    )
    for command in (merged, ("refresh", dataset.name, "customer"), ("current", dataset.name, "customer")):
        outcome = run(*command, "--accept-settings")
        assert outcome.code == 0, outcome.err
    for table in ("customer_base", "customer_current", "customer_unified"):
        found = dataset.run(f"SELECT id, STRING(born, 'UTC') AS b, price FROM {dataset.quoted(table)} ORDER BY id")
        assert [tuple(row) for row in found] == [
            (1, "2023-11-14 22:13:20.250+00", 1.5),
            (2, "1970-01-01 00:00:00+00", 3.0),
        ], table
