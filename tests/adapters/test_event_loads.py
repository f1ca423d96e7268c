"""Load jobs of runs, through Google's own client over a transport that honours the identifiers of jobs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.fake_load_jobs import FakeLoadJobs, FakeTable
from support.rest import PROJECT

from onefold.adapters.bigquery.event_loads import EventLoadJobs
from onefold.adapters.bigquery.load_jobs import as_long_as_it_takes
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import OnefoldError, Rejected, TryAgain
from onefold.core.names import TableId
from onefold.ports.event_tables import EventFile, EventTable, EventTableLoad

TABLE = TableId(PROJECT, "events", "com_acme_click_1")
RUN = "gs://acme/shredded/run=2026-11-23-08-00-00"
ROW = '{"id": 1, "_day": "2026-11-23"}\n'


class Scene:
    """A fake with one table and a file of one row, which it reads as JSON: it knows no format."""

    def __init__(self) -> None:
        self.fake = FakeLoadJobs({TABLE.table: FakeTable()}, {f"{RUN}/part-0": ROW})
        self.jobs = EventLoadJobs(BigQueryWarehouse(self.fake.client()), lambda _: None)

    def load(self, run: str = RUN, wait: float | None = None) -> str:
        table = EventTable(TABLE.table, (("id", "INT64"), ("tags", "ARRAY<STRUCT<a STRING>>")))
        files = (EventFile(f"{run}/part-0", 1, 100),)
        load = EventTableLoad(run, datetime(2026, 11, 23, tzinfo=UTC), table, files, "snappy")
        return self.jobs.append_parquet(TABLE, load, as_long_as_it_takes if wait is None else lambda: wait)

    @property
    def rows(self) -> int:
        return len(self.fake.tables[TABLE.table].rows)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_job_names_the_columns_of_the_files_and_creates_no_table(scene: Scene) -> None:
    scene.load()
    (sent,) = scene.fake.inserted
    assert sent == {
        "sourceUris": [f"{RUN}/part-0"],
        "destinationTable": {"projectId": PROJECT, "datasetId": "events", "tableId": "com_acme_click_1"},
        "sourceFormat": "PARQUET",
        "parquetOptions": {"enableListInference": True},
        "writeDisposition": "WRITE_APPEND",
        "createDisposition": "CREATE_NEVER",
        "maxBadRecords": 0,
        "schema": {
            "fields": [
                {"name": "id", "type": "INT64", "mode": "NULLABLE"},
                {
                    "name": "tags",
                    "type": "RECORD",
                    "mode": "REPEATED",
                    "fields": [{"name": "a", "type": "STRING", "mode": "NULLABLE"}],
                },
            ]
        },
    }


def test_the_rows_of_a_run_are_loaded_once_however_often_it_is_asked_for(scene: Scene) -> None:
    assert scene.load() == scene.load()
    assert (scene.rows, len(scene.fake.inserted)) == (1, 1)
    other = RUN.replace("08", "09")
    scene.fake.files[f"{other}/part-0"] = ROW
    assert scene.load(other) != scene.load()
    assert scene.rows == 2


def test_a_lost_answer_starts_no_second_job(scene: Scene) -> None:
    scene.fake.lose_answers = 1
    try:
        scene.load()
    except TryAgain:
        scene.load()
    assert (scene.rows, len(scene.fake.inserted)) == (1, 1)


def test_a_job_that_runs_longer_than_it_may_is_found_by_the_next_call(scene: Scene) -> None:
    scene.fake.running = 10_000
    with pytest.raises(TryAgain, match="still runs: load again to wait for it"):
        scene.load(wait=0.2)
    (job,) = scene.fake.jobs.values()
    job["left"] = 0
    assert scene.load(wait=5) == job["jobReference"]["jobId"]
    assert len(scene.fake.inserted) == 1


def test_an_attempt_that_failed_for_good_is_followed_by_one_of_the_next_call(scene: Scene) -> None:
    scene.fake.fail_next = ["invalid"]
    with pytest.raises(Rejected):
        scene.load()
    assert scene.load().endswith("_2")
    assert scene.load().endswith("_2")
    assert (scene.rows, len(scene.fake.inserted)) == (1, 2)


@pytest.mark.parametrize("failed", [1, 2, 3, 7, 8, 40])
def test_a_table_may_wait_for_its_repair_for_any_number_of_messages(scene: Scene, failed: int) -> None:
    for _ in range(failed):
        scene.fake.fail_next = ["invalid"]
        with pytest.raises(OnefoldError):
            scene.load()
    before = scene.fake.requests_seen
    assert scene.load().endswith(f"_{failed + 1}")
    assert (scene.rows, len(scene.fake.inserted)) == (1, failed + 1)
    assert scene.fake.requests_seen - before < 30  # it does not ask for every attempt


def test_more_files_than_a_job_takes_are_refused(scene: Scene) -> None:
    file = EventFile(f"{RUN}/part-0", 1, 100)
    load = EventTableLoad(
        RUN, datetime(2026, 11, 23, tzinfo=UTC), EventTable("t", (("id", "INT64"),)), 10_001 * (file,), "none"
    )
    with pytest.raises(Rejected, match=r"10,001 files for .*, and a job takes 10,000"):
        scene.jobs.append_parquet(TABLE, load, as_long_as_it_takes)
