"""The batch for a message: its identifier, its labels, its arguments, and what may be read and written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import BATCH_SETTINGS, REQUEST

from onefold.batches.allow_list import AllowList, is_within
from onefold.batches.batch import batch_id, batch_link, label, labels_of, meaning, plan_batch, with_defaults
from onefold.batches.request import BatchRequest, batch_message, parse_batch_request
from onefold.core.errors import InvalidMessage
from onefold.ports.batches import Batch, BatchState

PLACES = AllowList("my-project", frozenset({"shop"}), BATCH_SETTINGS)
NAMES = st.from_regex(r"[\w-]{1,200}", fullmatch=True)
IDENTIFIERS = st.from_regex(r"[A-Za-z0-9_-]{1,200}", fullmatch=True)


def plan(*words: str, job: str = "reconcile", places: AllowList = PLACES) -> Batch:
    return plan_batch(BatchRequest(job, "shop", "customer", words), "1", places.settings, places)


def problems_of(*words: str, job: str = "reconcile", places: AllowList = PLACES) -> list[str]:
    with pytest.raises(InvalidMessage) as refused:
        plan(*words, job=job, places=places)
    return list(refused.value.problems)


# Identifiers and labels.


@given(message=IDENTIFIERS, table=NAMES, attempt=st.integers(1, 999))
def test_an_identifier_is_one_that_dataproc_takes(message: str, table: str, attempt: int) -> None:
    request = BatchRequest("reconcile", "shop", table)
    batch = Batch(batch_id(request, message), "reconcile", (), {}, BATCH_SETTINGS).attempt(attempt)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{2,61}[a-z0-9]", batch.id)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", batch.request_id)


@given(message=IDENTIFIERS)
def test_each_delivery_of_a_message_has_the_same_identifier(message: str) -> None:
    again = replace(REQUEST, words=("--keys=id",))
    assert batch_id(REQUEST, message) == batch_id(again, message)


@given(messages=st.lists(IDENTIFIERS, unique=True, min_size=2, max_size=2))
def test_two_messages_have_two_identifiers(messages: list[str]) -> None:
    assert len({batch_id(REQUEST, message) for message in messages}) == 2


def test_the_same_message_identifier_of_another_topic_is_another_batch() -> None:
    others = [replace(REQUEST, table="order"), replace(REQUEST, dataset="crm"), replace(REQUEST, job="compare")]
    assert len({batch_id(request, "1") for request in [REQUEST, *others]}) == 4


def test_each_attempt_has_its_own_suffix_and_its_own_request() -> None:
    first = plan("--keys=id")
    attempts = [first.attempt(number) for number in (1, 2, 3)]
    assert [batch.id.removeprefix(first.id) for batch in attempts] == ["", "-2", "-3"]
    assert len({batch.request_id for batch in attempts}) == 3
    assert first.request_id == plan("--keys=id").request_id


@given(name=NAMES)
def test_every_name_is_a_label_that_dataproc_takes(name: str) -> None:
    assert re.fullmatch(r"[a-z]([a-z0-9_-]{0,61}[a-z0-9])?", label(name))


@pytest.mark.parametrize("name", ["customer", "customer_vip", "a", "order-2", "a" * 63])
def test_a_name_that_fits_is_its_own_label(name: str) -> None:
    assert label(name) == name


@pytest.mark.parametrize("name", ["Customer", "größe", "_customer", "customer_", "2024", "a" * 64])
def test_a_name_that_is_no_label_becomes_a_digest_of_its_own(name: str) -> None:
    assert label(name).startswith("h-")
    assert label(name) != label(name.lower() + "2")


def test_labels_name_the_job_and_the_table_of_a_batch() -> None:
    labels = labels_of(REQUEST, "1234")
    assert {**labels, "onefold_message": ""} == {
        "onefold_job": "reconcile",
        "onefold_dataset": "shop",
        "onefold_table": "customer",
        "onefold_message": "",
    }
    assert re.fullmatch(r"m-[0-9a-f]{32}", labels["onefold_message"])


def test_labels_of_the_settings_come_besides_and_never_instead() -> None:
    labels = {"team": "data"}
    batch = plan("--keys=id", places=replace(PLACES, settings=replace(BATCH_SETTINGS, labels=labels)))
    assert batch.labels == {**labels, **labels_of(BatchRequest("reconcile", "shop", "customer", ()), "1")}


@pytest.mark.parametrize(
    ("state", "means"),
    [
        (BatchState.PENDING, "attach"),
        (BatchState.RUNNING, "attach"),
        (BatchState.SUCCEEDED, "attach"),
        (BatchState.FAILED, "again"),
        (BatchState.CANCELLED, "again"),
        (BatchState.CANCELLING, "wait"),
        (BatchState.UNKNOWN, "wait"),
    ],
)
def test_the_state_of_an_existing_batch_decides_about_its_message(state: BatchState, means: str) -> None:
    assert meaning(state) == means


def test_the_link_leads_to_the_console() -> None:
    assert batch_link("p", "europe-west1", "b") == (
        "https://console.cloud.google.com/dataproc/batches/europe-west1/b/monitoring?project=p"
    )


# Arguments.


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["--keys=id"], ["--changes=bigquery:shop.customer", "--base=bigquery:shop.customer_base"]),
        (["--changes", "bigquery:shop.log"], ["--base=bigquery:shop.customer_base"]),
        (["--base=bigquery:shop.other"], ["--changes=bigquery:shop.customer"]),
        (["--output=gs://lake/bases/1"], ["--changes=bigquery:shop.customer"]),
        (["--changes=gs://lake/changes", "--output", "gs://lake/bases/1"], []),
    ],
)
def test_the_names_of_the_table_replace_arguments_that_a_request_leaves_out(words: list[str], completed: list[str]) -> None:
    assert with_defaults(BatchRequest("reconcile", "shop", "customer", tuple(words))) == (*words, *completed)


def test_a_comparison_is_of_the_current_view_unless_it_says_otherwise() -> None:
    words = ("--right=gs://lake/changes/export", "--keys=id")
    assert plan(*words, job="compare").arguments == (*words, "--left=bigquery:shop.customer_current")
    assert problems_of("--keys=id", job="compare") == ["the following arguments are required: --right"]


def test_a_batch_runs_the_job_of_the_code_folder_with_our_archive() -> None:
    batch = plan("--keys=id")
    assert (batch.main, batch.archives) == ("gs://code/v1/reconcile.py", ("gs://code/v1/spark.zip",))


def test_a_pull_has_the_client_that_the_runtime_does_not_have() -> None:
    batch = replace(plan("--keys=id"), job="pull")
    assert batch.archives == ("gs://code/v1/spark.zip", "gs://code/v1/pymysql.zip")
    assert batch.unpacked == ("gs://code/v1/compiled_libraries.zip",)
    assert plan("--keys=id").unpacked == ()


def test_arguments_are_checked_by_the_jobs_own_parser() -> None:
    assert problems_of("--keys=id,", "--format=modify_time", "--output=gs://lake/bases/1", "--base=bigquery:shop.b") == [
        "--keys 'id,': name columns, separated by commas",
        "--output: a base in BigQuery is merged into, and takes no output",
        "--position names the column that orders rows, with --format modify_time and only with it",
    ]


# What may be read and written.


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["--changes=bigquery:crm.customer"], "dataset crm is not among ONEFOLD_DATASETS"),
        (["--base=bigquery:crm.customer_base"], "dataset crm is not among ONEFOLD_DATASETS"),
        (["--changes=bigquery:other.shop.customer"], "other.shop.customer: project other is not my-project"),
        (["--changes=gs://elsewhere/x"], "gs://elsewhere/x is not in a folder of ONEFOLD_BATCH_FOLDERS"),
        (["--changes=gs://lake/changes2"], "gs://lake/changes2 is not in a folder"),
        (["--changes=gs://lake/changes/../secret"], "'gs://lake/changes/../secret' is no folder that a batch may use"),
        (["--changes=gs://lake/changes/./x"], "is no folder that a batch may use"),
        (["--changes=gs://lake/changes//x"], "is no folder that a batch may use"),
        (["--changes=gs://lake/{changes,secret}"], "name one folder; Spark would read"),
        (["--changes=gs://lake/changes/*"], "name one folder; Spark would read"),
        (["--changes=gs://lake/changes/a,gs://lake/secret"], "is no folder that a batch may use"),
        (["--changes=/etc/passwd"], "'/etc/passwd' is no folder that a batch may use"),
        (["--changes=file:/etc"], "'file:/etc' is no folder that a batch may use"),
        (["--changes=hdfs://x/y"], "name bigquery:dataset.table, gs://bucket/folder"),
        (["--changes", "gs://lake/changes/a", "gs://elsewhere/b"], "gs://elsewhere/b is not in a folder"),
        (["--output=gs://elsewhere/x"], "gs://elsewhere/x is not inside a folder"),
        (["--output=gs://lake/bases"], "gs://lake/bases is not inside a folder"),
        (["--output=gs://lake/bases/"], "gs://lake/bases/ is not inside a folder"),
    ],
)
def test_tables_and_folders_that_are_not_allowed_are_refused(words: list[str], reported: str) -> None:
    problems = problems_of("--keys=id", *words)
    assert len(problems) == 1
    assert reported in problems[0]


def test_a_request_for_another_dataset_is_refused_whatever_its_arguments_name() -> None:
    words = ("--keys=id", "--changes=bigquery:shop.log", "--output=gs://lake/bases/1")
    with pytest.raises(InvalidMessage, match="dataset crm is not among ONEFOLD_DATASETS"):
        plan_batch(BatchRequest("reconcile", "crm", "customer", words), "1", BATCH_SETTINGS, PLACES)


def test_tables_and_folders_that_are_allowed_are_not_refused() -> None:
    plan("--keys=id", "--changes", "gs://lake/changes", "gs://lake/changes/day=2024-01-01/", "--output=gs://lake/bases/2")
    plan("--keys=id", "--changes=bigquery:my-project.shop.log")


def test_all_problems_are_in_one_error_and_each_once() -> None:
    problems = problems_of(
        "--keys=id", "--changes", "bigquery:crm.a", "bigquery:crm.b", "gs://x1y/z", "--output=gs://lake/bases"
    )
    assert len(problems) == 3


def test_without_datasets_in_the_settings_all_of_our_project_are_allowed_and_no_other() -> None:
    anything = replace(PLACES, datasets=None)
    plan("--keys=id", "--changes=bigquery:crm.customer", places=anything)
    assert (
        "project other is not my-project" in problems_of("--keys=id", "--changes=bigquery:other.crm.t", places=anything)[0]
    )


def test_without_folders_in_the_settings_none_is_allowed() -> None:
    none = replace(PLACES, settings=replace(BATCH_SETTINGS, folders=()))
    assert "(none is set)" in problems_of("--keys=id", "--changes=gs://lake/changes", places=none)[0]


@pytest.mark.parametrize("output", ["gs://lake/code/v1", "gs://lake/code", "gs://lake/code/v1/x"])
def test_a_job_must_not_write_over_the_code_of_the_jobs(output: str) -> None:
    shared = replace(PLACES, settings=replace(BATCH_SETTINGS, code="gs://lake/code/v1", folders=("gs://lake",)))
    assert "holds the code of the jobs" in problems_of("--keys=id", f"--output={output}", places=shared)[0]
    plan("--keys=id", "--output=gs://lake/code2", places=shared)


SEGMENTS = st.lists(st.sampled_from(["a", "ab", "b", "gs:", ""]), min_size=1, max_size=4)


@given(folder=SEGMENTS, below=SEGMENTS)
def test_folders_are_compared_by_whole_segments(folder: list[str], below: list[str]) -> None:
    parent = "gs://bucket/" + "/".join(folder).strip("/")
    assert is_within(f"{parent.rstrip('/')}/{'/'.join(below)}", parent)
    assert not is_within(f"{parent.rstrip('/')}x", parent)


# Messages.


def message(**changed: Any) -> bytes:
    content = {"job": "reconcile", "dataset": "shop", "table": {"name": "customer"}, "arguments": {"keys": ["id"]}}
    return json.dumps({**content, **changed}).encode()


def test_a_message_names_a_job_and_a_table() -> None:
    assert parse_batch_request(message()) == REQUEST
    assert parse_batch_request(batch_message("reconcile", "shop", "customer", {"keys": "id"})) == REQUEST
    assert parse_batch_request(message(arguments={"changes": ["gs://b1x/a", "gs://b1x/b"], "keys": ["a", "b"]})).words == (
        "--changes",
        "gs://b1x/a",
        "gs://b1x/b",
        "--keys=a,b",
    )


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"job": "drop"}, "`job` must be one of reconcile, pull, check, compare"),
        ({"job": None}, "`job` must be one of"),
        ({"job": ["reconcile"]}, "`job` must be one of"),
        ({"dataset": "a.b"}, "dataset 'a.b' is not a valid name"),
        ({"table": "customer"}, "`table` is not an object with a `name`"),
        ({"table": {"name": "cust`omer"}}, "is not a valid name"),
        ({"arguments": ["--keys=id"]}, "`arguments` is not an object"),
        ({"arguments": {"keys": {"a": 1}}}, "argument 'keys' must be text or a list of texts"),
        ({"arguments": {"keys": []}}, "argument 'keys' must be text or a list of texts"),
        ({"arguments": {"keys": "\ud800"}}, "holds characters that are no text"),
        ({"arguments": {"keys\n": "id"}}, "holds characters that are no text"),
        ({"arguments": {"keys": "id", "changes": ["gs://b/a", "--help"]}}, "no URI begins with '-'"),
    ],
)
def test_other_messages_are_refused(changed: dict[str, Any], reported: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        parse_batch_request(message(**changed))
    assert len(refused.value.problems) == 1
    assert reported in refused.value.problems[0]


def test_all_problems_of_a_message_are_in_one_error() -> None:
    with pytest.raises(InvalidMessage) as refused:
        parse_batch_request(b'{"job": "x", "arguments": 1}')
    assert len(refused.value.problems) == 3


def test_a_message_that_is_far_too_long_is_refused_unread() -> None:
    with pytest.raises(InvalidMessage, match="is no request"):
        parse_batch_request(message(arguments={"keys": "x" * 60_000}))
