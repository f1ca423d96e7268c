"""The stand-in for Dataproc: what it honours of the API, and how it runs a job with the local Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.api_core import exceptions as api
from google.cloud import dataproc_v1
from google.cloud.dataproc_v1.services.batch_controller.transports import BatchControllerGrpcTransport

from onefold.core.errors import Rejected
from onefold.doctor.java import java_version
from onefold_lab.dataproc import dataproc_emulator
from onefold_lab.spark_process import job_file, last_lines, run_job

PARENT = "projects/local/locations/europe-west1"
State = dataproc_v1.Batch.State


class Job:
    """Batches without Spark: a batch runs until it may end or is cancelled."""

    def __init__(self) -> None:
        self.started, self.may_end = threading.Event(), threading.Event()
        self.message: str | None = None
        self.error: Exception | None = None

    def run(self, _: dataproc_v1.Batch, cancelled: threading.Event) -> str | None:
        self.started.set()
        while not (self.may_end.wait(0.01) or cancelled.is_set()):
            pass
        if self.error:
            raise self.error
        return self.message


class Api:
    def __init__(self, host: str) -> None:
        self.client = dataproc_v1.BatchControllerClient(
            transport=BatchControllerGrpcTransport(channel=grpc.insecure_channel(host))
        )

    def create(self, id_: str, request_id: str = "", parent: str = PARENT, **labels: str) -> dataproc_v1.CreateBatchRequest:
        batch = dataproc_v1.Batch(pyspark_batch={"main_python_file_uri": "gs://code/job.py"}, labels=labels)
        request = dataproc_v1.CreateBatchRequest(parent=parent, batch=batch, batch_id=id_, request_id=request_id)
        self.operation: Any = self.client.create_batch(request=request)
        return request

    def get(self, id_: str) -> dataproc_v1.Batch:
        return self.client.get_batch(name=f"{PARENT}/batches/{id_}")

    def listed(self, filter_: str = "", parent: str = PARENT, page_size: int = 0) -> list[str]:
        request = dataproc_v1.ListBatchesRequest(parent=parent, filter=filter_, page_size=page_size)
        return [batch.name.rpartition("/")[2] for batch in self.client.list_batches(request=request)]

    def until(self, id_: str, state: int) -> dataproc_v1.Batch:
        while (batch := self.get(id_)).state != state:
            assert batch.state not in (State.SUCCEEDED, State.FAILED, State.CANCELLED), batch
        return batch


@pytest.fixture
def job() -> Job:
    return Job()


@pytest.fixture
def dataproc(job: Job) -> Iterator[Api]:
    with dataproc_emulator(run=job.run) as host:
        yield Api(host)


def test_a_batch_is_pending_then_runs_then_has_succeeded(dataproc: Api, job: Job) -> None:
    dataproc.create("first-one")
    dataproc.until("first-one", State.RUNNING)
    dataproc.create("second-one")
    assert dataproc.get("second-one").state == State.PENDING
    job.may_end.set()
    batch = dataproc.until("second-one", State.SUCCEEDED)
    assert [past.state for past in batch.state_history] == [State.PENDING, State.RUNNING]
    times = dataproc_v1.Batch.pb(batch)
    assert times.state_time.ToNanoseconds() > times.create_time.ToNanoseconds() > 0
    assert batch.uuid


def test_the_operation_gives_the_batch_when_it_has_succeeded(dataproc: Api, job: Job) -> None:
    dataproc.create("first-one")
    assert not dataproc.operation.done()
    job.may_end.set()
    assert dataproc.operation.result(timeout=300).name == f"{PARENT}/batches/first-one"
    assert dataproc.operation.metadata.batch == f"{PARENT}/batches/first-one"


def test_a_failed_batch_has_the_reason_as_its_message(dataproc: Api, job: Job) -> None:
    job.message = "out of memory"
    job.may_end.set()
    dataproc.create("first-one")
    assert dataproc.until("first-one", State.FAILED).state_message == "out of memory"
    with pytest.raises(api.GoogleAPICallError, match="out of memory"):
        dataproc.operation.result(timeout=300)


def test_a_batch_whose_job_cannot_start_has_failed(dataproc: Api, job: Job) -> None:
    job.error = Rejected("there is no job")
    job.may_end.set()
    dataproc.create("first-one")
    assert "there is no job" in dataproc.until("first-one", State.FAILED).state_message


def test_a_batch_can_be_cancelled_while_it_runs_or_waits(dataproc: Api, job: Job) -> None:
    dataproc.create("first-one")
    first = dataproc.operation
    job.started.wait(300)
    dataproc.create("second-one")
    assert dataproc.operation.cancel()
    assert first.cancel()
    assert dataproc.until("first-one", State.CANCELLED).state_message == ""
    history = dataproc.until("second-one", State.CANCELLED).state_history
    assert [past.state for past in history] == [State.PENDING, State.CANCELLING]


def test_a_repeated_identifier_is_refused_and_a_repeated_request_gives_the_same_batch(dataproc: Api) -> None:
    dataproc.create("first-one", "request-1")
    name = dataproc.operation.operation.name
    with pytest.raises(api.AlreadyExists, match="first-one"):
        dataproc.create("first-one", "request-2")
    with pytest.raises(api.AlreadyExists):
        dataproc.create("first-one")
    dataproc.create("first-one", "request-1")
    assert dataproc.operation.operation.name == name
    assert dataproc.listed() == ["first-one"]


@pytest.mark.parametrize("id_", ["", "abc", "a" * 64, "Batch-1", "batch_1", "-batch", "batch-"])
def test_an_identifier_of_another_form_is_refused(dataproc: Api, id_: str) -> None:
    with pytest.raises(api.InvalidArgument, match="4 to 63 lower-case letters"):
        dataproc.create(id_)


@pytest.mark.parametrize("labels", [{"Name": "x"}, {"name": "Größe"}, {"name": "a" * 64}])
def test_a_label_of_another_form_is_refused(dataproc: Api, labels: dict[str, str]) -> None:
    with pytest.raises(api.InvalidArgument, match="is not valid"):
        dataproc.create("first-one", **labels)


def test_a_missing_batch_is_not_found(dataproc: Api) -> None:
    with pytest.raises(api.NotFound):
        dataproc.get("first-one")
    with pytest.raises(api.NotFound):
        dataproc.client.delete_batch(name=f"{PARENT}/batches/first-one")


def test_only_a_batch_that_has_ended_can_be_deleted(dataproc: Api, job: Job) -> None:
    dataproc.create("first-one")
    with pytest.raises(api.FailedPrecondition, match="has not ended"):
        dataproc.client.delete_batch(name=f"{PARENT}/batches/first-one")
    job.may_end.set()
    dataproc.until("first-one", State.SUCCEEDED)
    dataproc.client.delete_batch(name=f"{PARENT}/batches/first-one")
    assert dataproc.listed() == []


def test_batches_are_listed_by_region_newest_first_in_pages(dataproc: Api) -> None:
    for number in range(5):
        dataproc.create(f"batch-{number}")
    elsewhere = "projects/local/locations/us-central1"
    dataproc.create("elsewhere", parent=elsewhere)
    assert dataproc.listed(page_size=2) == [f"batch-{number}" for number in (4, 3, 2, 1, 0)]
    assert dataproc.listed(parent=elsewhere) == ["elsewhere"]


def test_an_unsupported_filter_is_refused(dataproc: Api) -> None:
    with pytest.raises(api.InvalidArgument, match="expected FIELD = VALUE"):
        dataproc.listed("state")


# The local Spark.

TELLS = """
import os, sys
import onefold.batches.arguments
print(sys.argv[1:], os.environ["BIGQUERY_EMULATOR_HOST"], "ONEFOLD_BATCH_REGION" in os.environ)
sys.exit("an error of the job" if "--fail" in sys.argv else 0)
"""
SPARK = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(10).write.parquet(sys.argv[1])
assert spark.conf.get("spark.sql.shuffle.partitions") == "3", spark.conf.get("spark.sql.shuffle.partitions")
assert spark.sparkContext.master == "local[2]", spark.sparkContext.master
"""


def batch_of(*arguments: str, **properties: str) -> dataproc_v1.Batch:
    return dataproc_v1.Batch(
        pyspark_batch={"main_python_file_uri": "gs://code/v1/job.py", "args": arguments},
        runtime_config={"properties": {f"spark.{name.replace('_', '.')}": value for name, value in properties.items()}},
    )


def run(folder: Path, job: str, batch: dataproc_v1.Batch, cancelled: threading.Event | None = None) -> str | None:
    (folder / "job.py").write_text(job)
    (folder / "logs").mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(folder / "logs"))
        return run_job(batch, cancelled or threading.Event(), {"BIGQUERY_EMULATOR_HOST": "here:1"}, folder)


def test_a_job_is_run_with_its_arguments_and_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_BATCH_REGION", "europe-west1")
    assert run(tmp_path, TELLS, batch_of("--keys=a b")) is None
    message = run(tmp_path, TELLS, batch_of("--keys=a b", "--fail"))
    assert message is not None
    reported, _, log = message.partition("\nIts whole log: ")
    assert reported == "job.py ended with exit code 1:\n['--keys=a b', '--fail'] here:1 False\nan error of the job"
    assert Path(log).read_text() == "['--keys=a b', '--fail'] here:1 False\nan error of the job\n"
    assert list((tmp_path / "logs").iterdir()) == [Path(log)]


NOISY = """WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
24/05/01 12:00:00 WARN NativeCodeLoader: Unable to load native-hadoop library
12:00:01 ERROR TaskSetManager: Task 0 in stage 1.0 failed 1 times; aborting job
java.lang.IllegalStateException: noise\r[Stage 1:=====>    (3 + 2) / 4]\r
Traceback (most recent call last):
  File "job.py", line 1, in <module>
    main()
gs://lake/a: there is no such file
gs://lake/b: there is no such file
\tat org.apache.spark.Job.run(Job.java:1)
Caused by: java.io.IOException
"""


def test_the_error_of_a_job_has_the_last_lines_that_the_job_printed() -> None:
    words = last_lines(NOISY).splitlines()
    assert words[-2:] == ["gs://lake/a: there is no such file", "gs://lake/b: there is no such file"]
    assert not [line for line in words if "WARN" in line or "at org" in line or "Stage" in line or "File" in line]
    assert last_lines("\tat nothing.but.Noise\n") == "\tat nothing.but.Noise"
    assert len(last_lines("fault\n" * 100).splitlines()) == 10


PULLED = """\
:: loading settings :: url = jar:file:/spark/jars/ivy-2.5.3.jar!/org/apache/ivy/core/settings/ivysettings.xml
Ivy Default Cache set to: /home/a/.ivy2.5.2/cache
The jars for the packages stored in: /home/a/.ivy2.5.2/jars
org.mariadb.jdbc#mariadb-java-client added as a dependency
:: resolving dependencies :: org.apache.spark#spark-submit-parent-27744b1c;1.0
\tfound org.mariadb.jdbc#mariadb-java-client;3.5.6 in central
downloading https://repository/mariadb-java-client-3.5.6.jar ...
{"severity": "ERROR", "message": "score: failed; no right", "event": "table_pulled"}
{"dataset": "fraud_models", "window": "15m", "loaded": 1, "failed": 1}
rule: 2 rows of the whole table in 1 file
score: failed; no right
fraud_models: 1 loaded, 0 skipped, 1 failed
"""


def test_the_error_of_a_pull_has_its_lines_for_people_alone() -> None:
    assert last_lines(PULLED).splitlines() == PULLED.splitlines()[-3:]


def test_a_job_that_is_cancelled_is_ended(tmp_path: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    message = run(tmp_path, "import time; time.sleep(600)", batch_of(), cancelled)
    assert message is not None
    assert message.startswith("job.py ended with exit code -15")


def test_a_missing_job_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"there is no job .*drop\.py"):
        job_file("gs://code/v1/drop.py", tmp_path)


@pytest.mark.long
def test_a_job_is_run_by_the_local_spark_with_the_batchs_properties(tmp_path: Path) -> None:
    if java_version() is None:
        pytest.skip("Spark needs Java")
    output = tmp_path / "rows"
    assert run(tmp_path, SPARK, batch_of(str(output), sql_shuffle_partitions="3")) is None
    assert (output / "_SUCCESS").is_file()
