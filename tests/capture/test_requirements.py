"""The destination is checked before anything is written: all problems are reported at once, each with its remedy."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.capture import bench_of, eventually
from support.capture_receiver import Receiver, receiving
from support.cli import Run
from support.database_servers import READER
from support.fake_bigquery import FakeBigQuery
from support.fake_gcs import ObjectStore
from support.rest import PROJECT
from support.source_database import SourceDatabase, end_of_log

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.gcs import GcsObjects
from onefold.adapters.pubsub import PubSub
from onefold.capture.checkpoint import Checkpoint, Progress
from onefold.capture.checkpoint_store import open_checkpoint_store
from onefold.capture.large_rows import large_rows_at
from onefold.capture.requirements import Requirement, check
from onefold.core.errors import InvalidSettings, LimitExceeded, NotFound, OnefoldError, Rejected, TryAgain
from onefold.core.identity import UNKNOWN

WHO = "serviceAccount:capture@my-project.iam.gserviceaccount.com"
FOLDER = "gs://a-bucket/shop-db"


def warehouse(fake: FakeBigQuery) -> BigQueryWarehouse:
    client = fake.client()
    client._credentials.service_account_email = WHO.partition(":")[2]
    return BigQueryWarehouse(client)


def test_a_dataset_in_which_tables_may_be_made_has_no_problem_and_stays_as_it_is(cloud: FakeBigQuery) -> None:
    before = copy.deepcopy(cloud.datasets)
    assert warehouse(cloud).dataset_problems("shop") == []
    assert cloud.datasets == before


def test_a_missing_dataset_is_named_with_the_command_that_creates_it(cloud: FakeBigQuery) -> None:
    (problem,) = warehouse(cloud).dataset_problems("nowhere")
    assert problem == (
        "dataset my-project.nowhere does not exist; run: bq --location=LOCATION mk --dataset my-project:nowhere"
    )


@pytest.mark.parametrize(
    ("right", "command"),
    [
        (
            "bigquery.jobs.create",
            f"gcloud projects add-iam-policy-binding my-project --member={WHO} --role=roles/bigquery.jobUser",
        ),
        *(
            (
                f"bigquery.tables.{right}",
                "bq query --project_id=my-project --nouse_legacy_sql "
                f"""'GRANT `roles/bigquery.dataEditor` ON SCHEMA `my-project.shop` TO "{WHO}"'""",
            )
            for right in ("create", "get")
        ),
    ],
)  # fmt: skip
def test_a_missing_right_in_bigquery_is_named_with_its_grant(cloud: FakeBigQuery, right: str, command: str) -> None:
    cloud.lacks.add(right)
    (problem,) = warehouse(cloud).dataset_problems("shop")
    assert right in problem
    assert problem.endswith(f"run: {command}")


@pytest.mark.parametrize(("status", "reason"), [(503, "backendError"), (403, "rateLimitExceeded")])
def test_an_error_of_bigquery_that_may_pass_is_no_problem(cloud: FakeBigQuery, status: int, reason: str) -> None:
    cloud.fail("dry run", status, reason)
    with pytest.raises(TryAgain, match=r"dataset my-project\.shop"):
        warehouse(cloud).dataset_problems("shop")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as found:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", found.pubsub_address)
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", found.bigquery_address)
        monkeypatch.setenv("ONEFOLD_PROJECT", PROJECT)
        monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
        yield found


def test_a_topic_that_takes_messages_has_no_problem_and_gets_none(receiver: Receiver) -> None:
    assert PubSub(PROJECT).topic_problems("change-records", WHO) == []
    receiver.knows_rights = False
    assert PubSub(PROJECT).topic_problems("change-records", WHO) == []
    assert receiver.arrived == []


def test_a_topic_is_named_with_the_commands_that_grant_or_create_it(receiver: Receiver) -> None:
    receiver.closed.add("closed")
    (problem,) = PubSub(PROJECT).topic_problems("projects/other/topics/closed", WHO)
    grant = (
        f"gcloud pubsub topics add-iam-policy-binding closed --project=other --member={WHO} --role=roles/pubsub.publisher"
    )
    assert f"{WHO} may not publish to topic projects/other/topics/closed; run: {grant}; " in problem
    assert problem.endswith("run: gcloud pubsub topics create closed --project=other")


def test_a_topic_that_an_emulator_lacks_is_missing(receiver: Receiver) -> None:
    receiver.missing.add("gone")
    receiver.knows_rights = False
    (problem,) = PubSub(PROJECT).topic_problems("gone", WHO)
    assert problem.endswith("does not exist; run: gcloud pubsub topics create gone --project=my-project")


def test_a_topic_that_does_not_answer_is_checked_again(receiver: Receiver) -> None:
    receiver.down = True
    with pytest.raises(TryAgain, match="topic projects/my-project/topics/t"):
        PubSub(PROJECT).topic_problems("t", WHO)


def test_a_folder_of_a_bucket_that_can_be_written_stays_as_it_is(object_store: ObjectStore) -> None:
    open_checkpoint_store(FOLDER, GcsObjects()).save(Checkpoint("shop-db", "shop"))
    before = dict(object_store.objects)
    assert (
        open_checkpoint_store(FOLDER, GcsObjects()).problems(WHO),
        large_rows_at(FOLDER, GcsObjects()).problems(WHO),
    ) == ([], [])
    assert object_store.objects == before


@pytest.mark.parametrize("right", ["get", "create", "delete"])
def test_a_missing_right_on_objects_is_named_with_its_grant(object_store: ObjectStore, right: str) -> None:
    object_store.lacks.add(f"storage.objects.{right}")
    for what, found in (
        ("checkpoint", open_checkpoint_store(FOLDER, GcsObjects()).problems(WHO)),
        ("large rows", large_rows_at(FOLDER, GcsObjects()).problems(WHO)),
    ):
        assert found == [
            f"{what}: {WHO} lacks storage.objects.{right} below {FOLDER}; run: gcloud storage buckets "
            f"add-iam-policy-binding gs://a-bucket --member={WHO} --role=roles/storage.objectUser"
        ]
    assert object_store.objects == {}


def test_a_missing_bucket_is_named(object_store: ObjectStore) -> None:
    object_store.buckets = {"another"}
    (problem,) = open_checkpoint_store(FOLDER, GcsObjects()).problems(WHO)
    assert problem.endswith("bucket gs://a-bucket does not exist; run: gcloud storage buckets create gs://a-bucket")


def test_a_bucket_that_does_not_answer_is_checked_again(object_store: ObjectStore) -> None:
    object_store.status = 503
    with pytest.raises(TryAgain, match=FOLDER):
        large_rows_at(FOLDER, GcsObjects()).problems(WHO)


def test_a_folder_of_this_machine_need_not_exist_yet(tmp_path: Path) -> None:
    for place in ("state", "deep/er", "."):
        assert open_checkpoint_store(str(tmp_path / place), GcsObjects()).problems(WHO) == []
    (tmp_path / "file").touch()
    for found in (
        open_checkpoint_store(str(tmp_path / "file" / "state"), GcsObjects()),
        large_rows_at((tmp_path / "file").as_uri(), GcsObjects()),
    ):
        (problem,) = found.problems(WHO)
        assert f"{tmp_path / 'file'} is a file" in problem
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def requirement(error: OnefoldError | None = None, *problems: str) -> Requirement:
    def ask() -> tuple[str, ...]:
        if error:
            raise error
        return problems

    return Requirement("one", ask)


def test_all_final_problems_are_raised_at_once_and_passing_errors_only_without_them() -> None:
    check((requirement(), requirement()))
    passing, refused = requirement(TryAgain("later")), requirement(Rejected("never"))
    with pytest.raises(InvalidSettings) as reported:
        check((requirement(None, "a", "b"), passing, refused, requirement(LimitExceeded(["c", "d"]))))
    assert reported.value.problems == ("a", "b", "never", "c", "d")
    with pytest.raises(TryAgain, match="later"):
        check((requirement(), passing, requirement()))
    with pytest.raises(NotFound):
        check((requirement(), requirement(NotFound("gone"))))


def test_any_problem_ends_capture_before_anything_is_written(source: SourceDatabase, tmp_path: Path) -> None:
    """A table in quarantine would be reported, and the other one created."""
    source.run("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (x TEXT CHARACTER SET swe7)")
    bench = bench_of(source, tmp_path)
    bench.requirements = (requirement(None, "no topic"), requirement(Rejected("no bucket")))
    source.run("SET GLOBAL binlog_format = MIXED")
    try:
        with pytest.raises(InvalidSettings) as reported:
            bench.once(snapshot=True)
    finally:
        source.run("SET GLOBAL binlog_format = ROW")
    assert [problem.split(";")[0] for problem in reported.value.problems] == [
        "the source's binlog_format is MIXED", "no topic", "no bucket",
    ]  # fmt: skip
    assert (bench.publisher.topics, bench.warehouse.tables, list(tmp_path.iterdir())) == ({}, {}, [])


def test_errors_that_may_pass_are_retried_before_anything_is_written(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    bench = bench_of(source, tmp_path)
    written: list[bool] = []

    def ask() -> tuple[str, ...]:
        written.append(bool(bench.publisher.topics or bench.warehouse.tables))
        if len(written) < 3:
            raise TryAgain("not yet")
        return ()

    bench.requirements = (Requirement("topic", ask),)
    with pytest.raises(TryAgain, match="not yet"):  # with --once nothing is waited for
        bench.once(snapshot=True)
    with bench.running(snapshot=True, start=Progress(end_of_log(source.connection))):
        eventually(lambda: bench.publisher.records())
    assert written[:3] == [False] * 3


def command(source: SourceDatabase, *more: str) -> list[str]:
    address = ["capture", "--host", "127.0.0.1", "--port", str(source.server.port), "--user", READER]
    return [*address, "--include", source.name, "--source", "shop-db", "--once", *more]


def test_the_command_names_all_destinations_that_it_cannot_write_to(
    source: SourceDatabase, receiver: Receiver, object_store: ObjectStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.run("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    monkeypatch.setenv("ONEFOLD_TOPIC_SCHEMA_CHANGES", "reported")
    receiver.closed |= {"change-records", "reported", "table-created"}
    object_store.lacks.add("storage.objects.create")
    places = ("--checkpoint", FOLDER, "--bucket", "gs://a-bucket/records")
    done = run(*command(source, "--dataset", "missing", *places))
    reported = [line for line in done.err.splitlines() if line.startswith("Error: ")]
    assert done.code == 1
    assert len(reported) == 6, done.err
    for name in (
        "dataset my-project.missing",
        "topics/change-records",
        "topics/reported",
        "topics/table-created",
        FOLDER,
        "/records",
    ):
        assert any(name in line for line in reported), name
    assert all(UNKNOWN in line for line in reported[1:])
    assert (receiver.arrived, object_store.objects) == ([], {})


def test_the_command_runs_where_all_is_in_order(
    source: SourceDatabase, receiver: Receiver, object_store: ObjectStore, run: Run
) -> None:
    source.run("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    receiver.missing.add("schema-changes")  # is not configured
    start = f"{source.start.file}:{source.start.offset}"
    done = run(*command(source, "--dataset", "shop", "--checkpoint", FOLDER, "--start", start))
    assert done.code == 0, done.err
    assert [record["data"] for record in receiver.records()] == [{"id": 1}]
    assert json.loads(object_store.objects["a-bucket/shop-db/checkpoint.json"][0])["source"] == "shop-db"
    assert set(object_store.objects) == {"a-bucket/shop-db/checkpoint.json"}
