"""Load jobs, through Google's own client over a transport that honours the identifiers of jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import pytest
from support.fake_load_jobs import LOCATION, FakeLoadJobs, FakeTable
from support.rest import PROJECT

from onefold.adapters.bigquery.load_jobs import MAX_ATTEMPTS, BigQueryLoadJobs, Load
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.core.names import TableId
from onefold.ports.load_jobs import PULLED_LABEL, LoadJobs, NotPulled

TABLE = TableId(PROJECT, "fraud_models", "score_v_abc")
DAY, NEXT = date(2026, 5, 3), date(2026, 5, 4)


def at(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


@dataclass(frozen=True)
class File:
    name: str
    checksum: str
    rows: int = 1


class Bucket:
    """A fake with one pulled table, and files to load into it."""

    def __init__(self) -> None:
        self.fake = FakeLoadJobs({"score_v_abc": FakeTable({PULLED_LABEL: "true"})})
        self.pauses: list[float] = []
        self.jobs: LoadJobs = BigQueryLoadJobs(BigQueryWarehouse(self.fake.client()), self.pauses.append)

    def file(self, name: str, *ids: int, day: date = DAY) -> File:
        address = f"gs://pulled/{name}"
        self.fake.files[address] = "".join(json.dumps({"id": id_, "_day": day.isoformat()}) + "\n" for id_ in ids)
        return File(address, f"{hash(ids) & 0xFFFF:x}", len(ids))

    @property
    def created(self) -> datetime:
        return at(self.fake.tables["score_v_abc"].created)

    @property
    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.fake.tables["score_v_abc"].rows)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def test_the_rows_of_all_files_are_appended_by_one_job_that_allows_no_bad_record(bucket: Bucket) -> None:
    job = bucket.jobs.append(TABLE, [bucket.file("b.json", 3), bucket.file("a.json", 1, 2)])
    assert bucket.ids == [1, 2, 3]
    assert job.rows == 3
    assert bucket.fake.inserted == [
        {
            "sourceUris": ["gs://pulled/a.json", "gs://pulled/b.json"],
            "destinationTable": {"projectId": PROJECT, "datasetId": "fraud_models", "tableId": "score_v_abc"},
            "sourceFormat": "NEWLINE_DELIMITED_JSON",
            "writeDisposition": "WRITE_APPEND",
            "createDisposition": "CREATE_NEVER",
            "maxBadRecords": 0,
        }
    ]
    assert bucket.fake.jobs.keys() == {job.id}


def test_a_partition_is_replaced_by_the_partition_decorator(bucket: Bucket) -> None:
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1), bucket.file("b.json", 2, day=NEXT)])
    bucket.jobs.replace(TABLE, [bucket.file("c.json", 3)], DAY)
    assert bucket.ids == [2, 3]
    last = bucket.fake.inserted[-1]
    assert last["destinationTable"]["tableId"] == "score_v_abc$20260503"
    assert last["writeDisposition"] == "WRITE_TRUNCATE"


def test_a_partition_of_the_first_years_is_named_by_eight_digits(bucket: Bucket) -> None:
    bucket.jobs.replace(TABLE, [bucket.file("a.json", 1, day=date(1, 1, 1))], date(1, 1, 1))
    assert bucket.fake.inserted[-1]["destinationTable"]["tableId"] == "score_v_abc$00010101"


def test_a_whole_table_is_replaced_and_keeps_its_schema_and_its_declared_key(bucket: Bucket) -> None:
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1), bucket.file("b.json", 2, day=NEXT)])
    bucket.jobs.replace(TABLE, [bucket.file("c.json", 3)])
    assert bucket.ids == [3]
    assert bucket.fake.inserted[-1]["writeDisposition"] == "WRITE_TRUNCATE_DATA"


def test_no_files_empty_a_partition_or_the_table(bucket: Bucket) -> None:
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1), bucket.file("b.json", 2, day=NEXT)])
    assert bucket.jobs.replace(TABLE, [], DAY) is None
    assert bucket.ids == [2]
    assert bucket.jobs.replace(TABLE, []) is None
    assert bucket.ids == []


@pytest.mark.parametrize("day", [DAY, None])
@pytest.mark.parametrize("has_files", [True, False])
def test_nothing_of_a_table_without_the_label_is_replaced(bucket: Bucket, day: date | None, has_files: bool) -> None:
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1)])
    bucket.fake.tables["score_v_abc"].labels = {"onefold_table": "x"}
    with pytest.raises(NotPulled, match=r"score_v_abc does not have the label onefold_pulled"):
        bucket.jobs.replace(TABLE, [bucket.file("b.json", 2)] if has_files else [], day)
    assert bucket.ids == [1]


def test_the_same_files_are_loaded_once_however_often_they_are_sent(bucket: Bucket) -> None:
    files = [bucket.file("a.json", 1), bucket.file("b.json", 2)]
    first = bucket.jobs.append(TABLE, files)
    assert bucket.jobs.append(TABLE, files[::-1]) == first
    assert bucket.ids == [1, 2]


def test_a_lost_answer_does_not_load_twice(bucket: Bucket) -> None:
    bucket.fake.lose_answers = 1
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1)])
    assert bucket.ids == [1]
    assert len(bucket.fake.inserted) == 1


def test_a_job_that_another_process_has_sent_and_that_is_running_is_waited_for(bucket: Bucket) -> None:
    file = bucket.file("a.json", 1)
    bucket.fake.running = 3
    other = BigQueryLoadJobs(BigQueryWarehouse(bucket.fake.client()))
    load = Load(str(TABLE), "WRITE_APPEND", (file,), bucket.created)
    other._insert(TABLE, load, load.job_id(1), {})
    assert bucket.jobs.append(TABLE, [file]).rows == 1
    assert bucket.ids == [1]
    assert len(bucket.fake.inserted) == 1


def test_after_a_failed_job_the_same_files_go_in_by_the_next_attempt(bucket: Bucket) -> None:
    file = bucket.file("a.json", 1)
    bucket.fake.fail_next = ["invalid"]
    with pytest.raises(Rejected, match=r"as the test wanted"):
        bucket.jobs.append(TABLE, [file])
    job = bucket.jobs.append(TABLE, [file])
    assert bucket.ids == [1]
    assert job.id == Load(str(TABLE), "WRITE_APPEND", (file,), bucket.created).job_id(2)


def test_a_job_that_failed_by_an_error_of_bigquery_is_tried_again_after_a_pause(bucket: Bucket) -> None:
    bucket.fake.fail_next = ["backendError", "backendError"]
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1)])
    assert bucket.ids == [1]
    assert len(bucket.pauses) == 2
    bucket.fake.fail_next = ["backendError"] * 3
    with pytest.raises(TryAgain):
        bucket.jobs.append(TABLE, [bucket.file("b.json", 2)])


def test_attempts_have_an_end(bucket: Bucket) -> None:
    file = bucket.file("a.json", 1)
    bucket.fake.fail_next = ["invalid"] * MAX_ATTEMPTS
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(Rejected, match="as the test wanted"):
            bucket.jobs.append(TABLE, [file])
    with pytest.raises(Rejected, match=f"{MAX_ATTEMPTS} attempts of this load have failed"):
        bucket.jobs.append(TABLE, [file])


def test_a_file_with_one_bad_row_is_not_loaded_at_all_and_the_error_names_it(bucket: Bucket) -> None:
    file = bucket.file("a.json", 1)
    bucket.fake.files[file.name] += "no json\n"
    with pytest.raises(Rejected, match="Error while reading data"):
        bucket.jobs.append(TABLE, [file])
    assert bucket.ids == []


def test_a_row_of_another_day_keeps_a_partition_as_it_was(bucket: Bucket) -> None:
    bucket.jobs.append(TABLE, [bucket.file("a.json", 1)])
    with pytest.raises(Rejected, match="different partitions"):
        bucket.jobs.replace(TABLE, [bucket.file("b.json", 2, day=NEXT)], DAY)
    assert bucket.ids == [1]


def test_a_file_that_does_not_exist_is_refused_by_its_name(bucket: Bucket) -> None:
    with pytest.raises(Rejected, match="gone"):
        bucket.jobs.append(TABLE, [File("gs://pulled/gone.json", "0")])


def test_a_table_that_does_not_exist_is_not_replaced(bucket: Bucket) -> None:
    with pytest.raises(NotFound):
        bucket.jobs.replace(TABLE.sibling("score_v_def"), [], DAY)


def test_the_identifier_of_a_job_depends_on_everything_that_the_load_depends_on() -> None:
    files = (File("gs://b/a.json", "1"), File("gs://b/c.json", "2"))
    load = Load("p.d.t", "WRITE_APPEND", files)
    others = [
        replace(load, destination="p.d.t$20260503"),
        replace(load, disposition="WRITE_TRUNCATE"),
        replace(load, files=files[:1]),
        replace(load, files=(File("gs://b/a.json", "2"), File("gs://b/c.json", "1"))),
        replace(load, files=(File("gs://b/A.json", "1"), files[1])),
        replace(load, table_created=at(1_000)),
        replace(load, table_created=at(1_001)),
    ]
    ids = {load.job_id(1), load.job_id(2), *(one.job_id(1) for one in others)}
    assert len(ids) == len(others) + 2
    assert replace(load, files=files[::-1]).job_id(1) == load.job_id(1)
    assert all(id_.replace("_", "").isalnum() and len(id_) <= 1024 for id_ in ids)


def test_a_job_does_not_count_for_a_table_that_was_made_anew(bucket: Bucket) -> None:
    files = [bucket.file("a.json", 1)]
    first = bucket.jobs.append(TABLE, files)
    bucket.fake.tables["score_v_abc"] = FakeTable({PULLED_LABEL: "true"}, created=3_000)
    assert bucket.jobs.append(TABLE, files) != first
    assert bucket.ids == [1]


@pytest.mark.parametrize("day", [None, DAY])
def test_a_job_does_not_count_for_a_table_without_its_rows(bucket: Bucket, day: date | None) -> None:
    files = [bucket.file("a.json", 1, 2)]
    first = bucket.jobs.replace(TABLE, files, day)
    bucket.fake.tables["score_v_abc"].rows.pop()
    again = bucket.jobs.replace(TABLE, files, day)
    assert first is not None
    assert again is not None
    assert (first.id[-2:], again.id[-2:]) == ("_1", "_2")
    bucket.jobs.replace(TABLE, files, day)
    assert bucket.ids == [1, 2]


def test_a_job_from_before_the_load_began_does_not_count(bucket: Bucket) -> None:
    files = [bucket.file("a.json", 1)]
    old = bucket.jobs.append(TABLE, files)
    bucket.fake.tables["score_v_abc"].rows = [{"id": 5, "_day": DAY.isoformat()}]
    bucket.fake.now = 5_000
    since = bucket.jobs.since(at(2_001))
    new = since.append(TABLE, files)
    assert new != old
    assert since.append(TABLE, files) == new
    assert bucket.jobs.since(at(2_000)).append(TABLE, files) == old
    assert bucket.ids == [1, 5]


def test_a_job_that_wrote_other_rows_than_the_files_have_is_an_error_each_time(bucket: Bucket) -> None:
    file = replace(bucket.file("a.json", 1), rows=5)
    for _ in range(2):
        with pytest.raises(Rejected, match="expected 5 rows, as the files were counted, got 1"):
            bucket.jobs.append(TABLE, [file])
    assert bucket.ids == [1]


def test_keys_are_loaded_into_temporary_tables_alone(bucket: Bucket) -> None:
    keys = TABLE.sibling("onefold_tmp_keys_score")
    bucket.fake.tables[keys.table] = FakeTable(rows=[{"id": 9, "_day": "2026-05-03"}])
    bucket.jobs.load_keys(keys, [bucket.file("a.json", 1), bucket.file("b.json", 2, day=NEXT)])
    assert [row["id"] for row in bucket.fake.tables[keys.table].rows] == [1, 2]
    assert bucket.fake.inserted[-1]["ignoreUnknownValues"] is True
    with pytest.raises(Rejected, match="temporary"):
        bucket.jobs.load_keys(TABLE, [bucket.file("a.json", 1)])


def test_jobs_run_where_the_dataset_is(bucket: Bucket) -> None:
    job = bucket.jobs.append(TABLE, [bucket.file("a.json", 1)])
    assert bucket.fake.jobs[job.id]["jobReference"]["location"] == LOCATION
