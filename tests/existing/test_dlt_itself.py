"""dlt itself writes tables, in an environment of its own: they are as recorded, and their current views have the rows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.environments import environment
from support.existing_tables import schema
from support.record_dlt import NAMED, SCD2

from onefold.core.names import TableId
from onefold.existing.current_query import current_query
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold.existing.tools.dlt import VERSIONS, read_schemas
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = [pytest.mark.emulator, pytest.mark.long, pytest.mark.process]
DLT = "dlt[duckdb]==1.31.0"
TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment in which dlt is installed, and nothing else."""
    return environment(tmp_path_factory.mktemp("dlt"), DLT) / "python"


def record(python: Path, folder: Path, loads: list[Any] | None = None) -> dict[str, Any]:
    out, given = folder / "out.json", folder / "loads.json"
    given.write_text(json.dumps(loads))
    words = [python, TESTS / "support" / "record_dlt.py", out, *([given] if loads else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_the_recorded_tables_are_those_that_dlt_writes(python: Path, tmp_path: Path) -> None:
    recorded = json.loads((TESTS / "golden" / "dlt_tables.json").read_text())
    written = record(python, tmp_path)
    assert written["tables"] == recorded["tables"]
    assert {name: table.get("write_disposition") for name, table in written["schema"]["tables"].items()} == {
        name: table.get("write_disposition") for name, table in recorded["schema"]["tables"].items()
    }


def random_loads(random: Random) -> tuple[list[Any], dict[str, dict[int, Any]]]:
    """Return loads of four tables, and the rows that each then has by key: an append of changes, a merge, and scd2 twice."""
    truth: dict[str, dict[int, Any]] = {"appended": {}, "merged": {}, "dimension": {}, "named": {}}
    loads: list[Any] = []
    for number in range(5):
        for table, disposition in (("appended", "append"), ("merged", "merge"), ("dimension", SCD2), ("named", NAMED)):
            ids = random.sample(range(40), 25)
            values: tuple[Any, ...] = (number, f"t{number}") if table == "appended" else (number,)
            rows = {id_: random.choice(values) for id_ in ids}
            loads.append((table, disposition, [{"id": id_, "v": v} for id_, v in rows.items()]))
            # scd2 takes each load as the whole table: a key that is not in it is retired.
            kept = {} if table in ("dimension", "named") else truth[table]
            truth[table] = {**kept, **rows}
    return loads, truth


def test_the_current_views_of_its_tables_have_the_last_rows(
    python: Path, tmp_path: Path, dataset: EmulatedDataset, chance: Random
) -> None:
    loads, truth = random_loads(chance)
    written = record(python, tmp_path, loads)
    notes = read_schemas([{"schema": json.dumps(written["schema"])}])
    for name, rows in truth.items():
        columns = written["tables"][name]
        values = (", ".join(literal(row[c], type_) for c, type_ in columns.items()) for row in written["rows"][name])
        dataset.land(name, columns, *values)
        table = ExistingTable(name, schema(columns), notes={VERSIONS: notes[name]})
        query = current_query(TableId(DEFAULT_PROJECT, dataset.name, name), table, recognise(table))
        assert sorted((id_, str(v)) for id_, v in dataset.run(f"SELECT id, v FROM ({query})")) == [
            (id_, str(v)) for id_, v in sorted(rows.items())
        ], name


def literal(value: Any, type_: str) -> str:
    return "NULL" if value is None else f"CAST({json.dumps(str(value))} AS {type_})"
