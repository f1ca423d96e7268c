"""The DAG of the guide for Airflow: read by Airflow itself, its messages by Onefold, and its queries by BigQuery."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.environments import environment

from onefold.adapters.connect import row_writer_for
from onefold.batches.request import parse_batch_request
from onefold.core.names import TableId
from onefold.merge.merge_log import LOG_COLUMNS as MERGE_COLUMNS
from onefold.ports.rows import Row
from onefold.pull.load.run_log import LOG_COLUMNS as LOAD_COLUMNS
from onefold.schema.columns import Column
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

pytestmark = [pytest.mark.long, pytest.mark.process, pytest.mark.heavy]
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "run-by-airflow.md"
SUPPORT = ROOT / "tests" / "support"
BEGUN = datetime(2026, 5, 4, 3, 0, 0, tzinfo=UTC)
# Nothing is sent anywhere, and no file outside of the test is written.
QUIET = {"AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False"}


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has Airflow, after its installation: 2 GB."""
    words = ("--no-deps", "--require-hashes", "--no-cache-dir", "-r", str(SUPPORT / "airflow_requirements.txt"))
    return environment(tmp_path_factory.mktemp("airflow"), *words) / "python"


@pytest.fixture(scope="module")
def tasks(airflow: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The tasks of the page's DAG, with their templates filled in."""
    folder = tmp_path_factory.mktemp("dags")
    (block,) = re.findall(r'^```python title="dags/(\S+)"\n(.*?)^```', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (folder / block[0]).write_text(block[1])
    command = [str(airflow), str(SUPPORT / "read_dag.py"), str(folder), BEGUN.isoformat()]
    home = {"AIRFLOW_HOME": str(folder / "home"), "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **QUIET, **home})
    assert done.returncode == 0, done.stderr[-3000:]
    read = json.loads(done.stdout.splitlines()[-1])
    assert (read["errors"], read["dags"]) == ({}, ["onefold_models"])
    found: Mapping[str, Any] = read["tasks"]
    return found


def test_airflow_reads_the_dag_with_stock_operators(tasks: Mapping[str, Any]) -> None:
    assert {name: (task["operator"], task["then"]) for name, task in tasks.items()} == {
        "pull": ("PubSubPublishMessageOperator", ["pulled"]), "pulled": ("SqlSensor", ["go_on"]),
        "merge": ("PubSubPublishMessageOperator", ["merged"]), "merged": ("SqlSensor", ["go_on"]),
        "go_on": ("EmptyOperator", []),
    }  # fmt: skip


def test_its_messages_ask_for_batches(tasks: Mapping[str, Any]) -> None:
    pull, merge = (parse_batch_request(tasks[name]["messages"][0].encode()) for name in ("pull", "merge"))
    assert (pull.job, pull.dataset, pull.table) == ("pull", None, None)
    assert (merge.job, merge.dataset, merge.table) == ("reconcile", "shop", "customer")


class Log:
    """A log of the embedded BigQuery, which the query of a sensor reads."""

    def __init__(self, dataset: EmulatedDataset, name: str, columns: tuple[Column, ...]) -> None:
        self.warehouse = EmulatedWarehouse(dataset.client)
        self.id = TableId(self.warehouse.project, dataset.name, name)
        self.warehouse.create_table(self.id, columns)

    def append(self, **row: Any) -> None:
        values: Row = {name: value.isoformat(" ") if isinstance(value, datetime) else value for name, value in row.items()}
        writer = row_writer_for(self.warehouse).open(self.id)
        assert writer
        assert not writer.append([values])

    def is_done(self, sql: str) -> bool:
        """Return the first value of the query, for which the sensor waits."""
        ((value,),) = (row.values() for row in self.warehouse.fetch(re.sub(r"`my-project\.[^`]+`", self.id.quoted, sql)))
        return bool(value)


def test_the_sensor_of_a_pull_waits_for_every_table_in_the_log_of_loads(
    tasks: Mapping[str, Any], dataset: EmulatedDataset
) -> None:
    log, sql = Log(dataset, "_loads", LOAD_COLUMNS), tasks["pulled"]["sql"]
    later, earlier = BEGUN + timedelta(minutes=2), BEGUN - timedelta(minutes=2)
    log.append(table_name="score", state="loaded", pull_window="day", requested_at=later)
    log.append(table_name="score", state="loaded", pull_window="day", requested_at=later)
    log.append(table_name="feature", state="loaded", pull_window="day", requested_at=earlier)
    log.append(table_name="feature", state="begun", pull_window="day", requested_at=later)
    log.append(table_name="feature", state="loaded", pull_window="15m", requested_at=later)
    log.append(table_name="other", state="loaded", pull_window="day", requested_at=later)
    assert not log.is_done(sql)
    log.append(table_name="feature", state="loaded", pull_window="day", requested_at=later)
    assert log.is_done(sql)


def test_the_sensor_of_a_merge_waits_for_one_that_began_later(tasks: Mapping[str, Any], dataset: EmulatedDataset) -> None:
    log, sql = Log(dataset, "customer_merges", MERGE_COLUMNS), tasks["merged"]["sql"]
    log.append(finished_as="merge", started_at=BEGUN - timedelta(seconds=1))
    log.append(finished_as="purge", started_at=BEGUN + timedelta(seconds=1))
    assert not log.is_done(sql)
    log.append(finished_as="merge", started_at=BEGUN + timedelta(seconds=1))
    assert log.is_done(sql)
