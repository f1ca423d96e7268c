"""`onefold batch`: the same batch as a message gets, its state and its link, and an end like its own."""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from google.cloud import dataproc_v1
from support.batches import ENVIRON
from support.cli import Run, check_json
from support.fake_gcs import ObjectStore

from onefold_lab.dataproc import dataproc_emulator

CUSTOMER = ("batch", "reconcile", "--dataset", "shop", "--table", "customer")
KEYS = ("--", "--keys", "id")


class Jobs:
    def __init__(self) -> None:
        self.ran: queue.Queue[dataproc_v1.Batch] = queue.Queue()
        self.may_end = threading.Event()
        self.message: str | None = None
        self.print: Callable[[Path], None] = lambda _: None

    def run(self, batch: dataproc_v1.Batch, cancelled: threading.Event) -> str | None:
        while not (self.may_end.wait(0.01) or cancelled.is_set()):
            pass
        self.print(Path(batch.runtime_info.output_uri.removeprefix("file://") + ".000000000"))
        self.ran.put(batch)
        return self.message


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[Jobs]:  # noqa: ARG001 an empty folder first
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    jobs = Jobs()
    with dataproc_emulator(run=jobs.run) as host:
        monkeypatch.setenv("DATAPROC_EMULATOR_HOST", host)
        yield jobs


def test_a_batch_is_created_and_shown(run: Run, jobs: Jobs) -> None:
    outcome = run(*CUSTOMER, *KEYS)
    created, link, state = outcome.out.splitlines()
    assert (outcome.code, outcome.err, state) == (0, "", "PENDING")
    id_ = created.removesuffix(" created")
    assert re.fullmatch(r"onefold-reconcile-[0-9a-f]{20}", id_)
    assert link == f"https://console.cloud.google.com/dataproc/batches/europe-west1/{id_}/monitoring?project=my-project"
    jobs.may_end.set()
    assert list(jobs.ran.get(timeout=300).pyspark_batch.args)[:2] == ["--keys", "id"]


def test_a_batch_without_a_table_is_for_all_of_the_dataset(run: Run, jobs: Jobs) -> None:
    outcome = run("batch", "reconcile", "--dataset", "shop", "--", "--match", "order_*")
    assert (outcome.code, outcome.err) == (0, "")
    jobs.may_end.set()
    assert list(jobs.ran.get(timeout=300).pyspark_batch.args) == ["--match", "order_*", "--dataset=shop"]


def test_bad_rows_in_a_bucket_are_read_again_by_a_batch(
    run: Run, jobs: Jobs, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_BATCH_FOLDERS", "gs://lake/shredded,gs://schemas")
    text = json.dumps({"inputs": ["gs://lake/good/a"], "format": "parquet", "tables": []}).encode()
    done = "lake/shredded/run=2026-11-23-08-00-00"
    object_store.objects = {f"{done}/shredding_complete.json": (text, 1), f"{done}/bad/part-0.json": (b"{}\n", 1)}
    words = ("bad-rows", "retry", "--runs", "gs://lake/shredded", "--registry", "gs://schemas", "--warehouse", "bigquery")
    outcome = run(*words, "--input", "enriched-tsv", "--unknown", "keep_json")
    assert (outcome.code, outcome.err, outcome.out.splitlines()[0]) == (0, "", "1 file of bad rows of 1 run")
    jobs.may_end.set()
    assert list(jobs.ran.get(timeout=300).pyspark_batch.args) == [
        "--events", "gs://lake/shredded/run=2026-11-23-08-00-00/bad", "--registry", "gs://schemas",
        "--output=gs://lake/shredded", "--input=enriched-tsv", "--unknown=keep_json", "--warehouse=bigquery",
    ]  # fmt: skip


def test_the_former_name_of_a_job_is_taken_with_a_warning(run: Run, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_DATASETS", "fraud_models")
    words = ("--dataset", "fraud_models", "--", "--source", "fraud", "--database", "models", "--window", "15m")
    outcome = run("batch", "extract", *words)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "PENDING")
    assert outcome.err == "the job extract is now called pull: the former name goes with the next release\n"
    jobs.may_end.set()
    assert jobs.ran.get(timeout=300).pyspark_batch.main_python_file_uri.endswith("/extract.py")


def test_a_pull_of_several_databases_needs_no_dataset(run: Run, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_DATASET", "shop")
    monkeypatch.setenv("ONEFOLD_DATASETS", "fraud_models,fraud_cards")
    words = ("--source", "fraud", "--databases", "models", "cards", "--window", "15m")
    outcome = run("batch", "pull", "--", *words)
    assert (outcome.code, outcome.err, outcome.out.splitlines()[-1]) == (0, "", "PENDING")
    jobs.may_end.set()
    assert tuple(jobs.ran.get(timeout=300).pyspark_batch.args) == words


def test_batch_waits_for_the_end_of_a_batch(run: Run, jobs: Jobs) -> None:
    jobs.may_end.set()
    outcome = run(*CUSTOMER, "--wait", *KEYS)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1] == "SUCCEEDED"


def test_batch_shows_the_counts_of_the_report(run: Run, jobs: Jobs) -> None:
    report = {"run": "2026-11-23-08-00-00", "events": 3, "tables": {"com_acme_click_1": 2}, "bad": {"invalid": 1}}
    first, second = json.dumps(report)[:20], json.dumps(report)[20:]

    def in_two_parts(output: Path) -> None:
        output.parent.mkdir()
        output.write_text(f"26/11/23 WARN Spark\n{first}")
        output.with_suffix(".000000001").write_text(f'{second}\n{{"severity": "INFO"}}\n{{no report\n')

    jobs.print = in_two_parts
    jobs.may_end.set()
    outcome = run(*CUSTOMER, "--wait", *KEYS)
    assert outcome.out.splitlines()[-4:] == ["com_acme_click_1: 2 rows", "bad: invalid 1", "events 3", "SUCCEEDED"]
    shown = run(*CUSTOMER, "--wait", "--json", *KEYS)
    check_json(shown.out)
    assert shown.result["report"] == report


def test_batch_says_that_the_report_cannot_be_read(run: Run, jobs: Jobs) -> None:
    jobs.print = lambda output: output.mkdir(parents=True)
    jobs.may_end.set()
    outcome = run(*CUSTOMER, "--wait", *KEYS)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "SUCCEEDED")
    assert "the report of the job cannot be read: " in outcome.err


def test_batch_exits_with_1_and_the_reason_if_the_batch_fails(run: Run, jobs: Jobs) -> None:
    jobs.message = "job ended:\nout of memory"
    jobs.may_end.set()
    outcome = run(*CUSTOMER, "--wait", *KEYS)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (1, "FAILED")
    assert outcome.err == "job ended:\nout of memory\n"


COMPARE = ("batch", "compare", "--dataset", "shop", "--table", "customer", "--wait")
SIDES = ("--", "--right", "bigquery:shop.truth", "--keys", "id")
HINT = "A comparison that finds differences fails as well, with exit code 2: see its log.\n"


@pytest.mark.parametrize(
    ("message", "code", "state", "text"),
    [
        (None, 0, "SUCCEEDED", ""),
        (
            "compare.py ended with exit code 2:\n{}",
            2,
            "FAILED: the two sides differ",
            "compare.py ended with exit code 2:\n{}\n",
        ),
        (
            "SparkUserAppException: User application exited with 2",
            2,
            "FAILED: the two sides differ",
            "SparkUserAppException: User application exited with 2\n",
        ),
        (
            "compare.py ended with exit code 1:\n2 problems",
            1,
            "FAILED",
            "compare.py ended with exit code 1:\n2 problems\n",
        ),
        ("Job failed. See the log of 2024", 1, "FAILED", f"Job failed. See the log of 2024\n{HINT}"),
    ],
)
def test_a_comparison_with_differences_exits_with_2_if_its_exit_code_is_known(
    run: Run, jobs: Jobs, message: str | None, code: int, state: str, text: str
) -> None:
    jobs.message = message
    jobs.may_end.set()
    outcome = run(*COMPARE, *SIDES)
    assert (outcome.code, outcome.out.splitlines()[-1], outcome.err) == (code, state, text)
    assert run(*COMPARE, "--json", *SIDES).code == code


def test_exit_code_2_of_another_job_is_a_failure(run: Run, jobs: Jobs) -> None:
    jobs.message = "ended with exit code 2"
    jobs.may_end.set()
    assert run(*CUSTOMER, "--wait", *KEYS).code == 1


@pytest.mark.parametrize(("message", "code", "state"), [(None, 0, "SUCCEEDED"), ("out of memory", 1, "FAILED")])
def test_batch_prints_one_json_value(run: Run, jobs: Jobs, message: str | None, code: int, state: str) -> None:
    jobs.message = message
    jobs.may_end.set()
    outcome = run(*CUSTOMER, "--id", "nightly-1", "--wait", "--json", *KEYS)
    assert outcome.code == code
    text = outcome.result
    assert text.pop("link").endswith(f"{text['batch']}/monitoring?project=my-project")
    assert re.fullmatch(r"onefold-reconcile-[0-9a-f]{20}", text.pop("batch"))
    assert text == {"id": "nightly-1", "created": True, "state": state, "message": message or "", "report": None}


def test_a_look_says_what_would_run_and_creates_no_batch(run: Run, jobs: Jobs) -> None:
    shown = run(*CUSTOMER, "--dry-run", "--id", "nightly-1", *KEYS)
    assert shown.code == 0, shown.err
    assert "would run gs://" in shown.out
    assert "/reconcile.py --keys id --changes=bigquery:shop.customer --base=bigquery:shop.customer_base" in shown.out
    look = run(*CUSTOMER, "--dry-run", "--id", "nightly-1", "--json", *KEYS).result
    jobs.may_end.set()
    made = run(*CUSTOMER, "--id", "nightly-1", "--json", *KEYS).result
    assert (look["batch"], look["created"], made["created"]) == (made["batch"], False, True)


def test_the_same_id_starts_no_second_batch(run: Run, jobs: Jobs) -> None:
    first = run(*CUSTOMER, "--id", "nightly-1", "--json", *KEYS).result
    jobs.may_end.set()
    again = run(*CUSTOMER, "--id", "nightly-1", "--wait", "--json", *KEYS).result
    assert (again["batch"], again["created"], again["state"]) == (first["batch"], False, "SUCCEEDED")
    assert run(*CUSTOMER, "--wait", "--json", *KEYS).result["batch"] != first["batch"]


def test_a_second_batch_of_a_table_is_refused_while_one_runs(run: Run, jobs: Jobs) -> None:
    run(*CUSTOMER, *KEYS)
    outcome = run(*CUSTOMER, *KEYS)
    assert (outcome.code, outcome.out) == (1, "")
    assert "for shop.customer has not ended" in outcome.err
    jobs.may_end.set()


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("batch",), "Missing argument '{reconcile|pull|check|compare|shred}'"),
        (("batch", "drop", "--dataset", "shop", "--table", "customer"), "'drop' is not one of"),
        (("batch", "reconcile", "--table", "customer"), "the job reconcile works on a dataset: name it with --dataset"),
        (("batch", "compare", "--dataset", "shop"), "the job compare works on one table: name it"),
        (("batch", "reconcile", "--dataset", "shop", *KEYS), "unrecognized arguments: --keys id"),
        ((*CUSTOMER, "--", "--changes", "gs://lake/changes"), "Error: --keys: name the columns that identify a row"),
        ((*CUSTOMER, "--keys", "id"), "No such option"),
        ((*CUSTOMER, *KEYS, "--format=csv"), "invalid choice: 'csv'"),
        ((*CUSTOMER, *KEYS, "--changes=bigquery:crm.x"), "dataset crm is not among ONEFOLD_DATASETS"),
        ((*CUSTOMER, *KEYS, "--output=gs://x1y/z"), "is not inside a folder of ONEFOLD_BATCH_FOLDERS"),
        ((*CUSTOMER, "--id", "a b", *KEYS), "--id 'a b' is invalid: use 1 to 200 letters"),
        ((*CUSTOMER, "--project", "MY", *KEYS), "project 'MY' is not a valid name"),
        (("batch", "reconcile", "--dataset", "s.h", "--table", "c`", *KEYS), "dataset 's.h' is not a valid name"),
    ],
)
def test_wrong_usage_exits_with_1_and_creates_no_batch(run: Run, jobs: Jobs, arguments: tuple[str, ...], text: str) -> None:
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert text in outcome.err
    jobs.may_end.set()
    assert jobs.ran.empty()


def test_all_missing_settings_are_reported(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Path.cwd() == tmp_path
    for name in ENVIRON:
        monkeypatch.delenv(name, raising=False)
    outcome = run(*CUSTOMER, *KEYS)
    assert outcome.code == 1
    assert [line.split(" is ")[0] for line in outcome.err.splitlines()] == [
        "Error: ONEFOLD_BATCH_REGION",
        "Error: ONEFOLD_BATCH_SERVICE_ACCOUNT",
        "Error: ONEFOLD_BATCH_CODE",
    ]


def test_the_jobs_own_help_needs_no_settings(run: Run) -> None:
    outcome = run(*CUSTOMER, "--", "--help")
    assert (outcome.code, outcome.out.split()[:2]) == (0, ["usage:", "reconcile.py"])
