"""A request without a table is one batch for all tables of the dataset."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.batches import BATCH_SETTINGS, SETTINGS, MemoryBatches

from onefold.batches.allow_list import AllowList
from onefold.batches.arguments import DatasetArguments
from onefold.batches.batch import batch_id, labels_of, plan_batch
from onefold.batches.launch import launch
from onefold.batches.request import BatchRequest, batch_message, parse_batch_request
from onefold.core.errors import InvalidInput, InvalidMessage, TryAgain
from onefold.ports.batches import BatchState

PLACES = AllowList("my-project", frozenset({"shop"}), BATCH_SETTINGS)
ALL = BatchRequest("reconcile", "shop")


def message(**content: Any) -> bytes:
    return json.dumps({"job": "reconcile", "dataset": "shop", **content}).encode()


def problems_of(data: bytes) -> list[str]:
    with pytest.raises(InvalidMessage) as refused:
        plan_batch(parse_batch_request(data), "1", BATCH_SETTINGS, PLACES)
    return list(refused.value.problems)


def test_a_message_without_a_table_is_a_request_for_the_dataset() -> None:
    assert parse_batch_request(message()) == ALL
    assert parse_batch_request(batch_message("reconcile", "shop", None, {})) == ALL


def test_only_what_differs_from_the_defaults_is_named() -> None:
    assert plan_batch(ALL, "1", BATCH_SETTINGS, PLACES).arguments == ("--dataset=shop",)
    request = parse_batch_request(message(arguments={"match": "order_*", "parallel": 8, "late-hours": 30}))
    words = plan_batch(request, "1", BATCH_SETTINGS, PLACES).arguments
    assert DatasetArguments.parse(words) == DatasetArguments("shop", "order_*", 8, 30)


def test_the_labels_are_no_labels_of_a_table() -> None:
    labels = labels_of(ALL, "1")
    assert labels.pop("onefold_message")
    assert labels == {"onefold_job": "reconcile", "onefold_dataset": "shop", "onefold_scope": "dataset"}


@pytest.mark.parametrize("table", ["all", "dataset", "shop"])
def test_the_identifier_is_that_of_no_table(table: str) -> None:
    assert batch_id(ALL, "1") != batch_id(BatchRequest("reconcile", "shop", table), "1")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (message(job="compare"), "the message names no `table`, and the job compare works on one table"),
        (message(tabel={"name": "customer"}), "the message names no `table`, and has unknown fields: 'tabel'"),
        (message(table=None), "`table` is not an object with a `name`"),
        (message(dataset="crm"), "dataset crm is not among ONEFOLD_DATASETS"),
        (message(arguments={"dataset": "crm"}), "--dataset crm is not shop, the dataset of the request"),
        (message(arguments={"keys": "id"}), "unrecognized arguments: --keys=id"),
        (message(arguments={"parallel": 0}), "--parallel: expected 1 to 64 tables at the same time, got 0"),
        (message(arguments={"match": ""}), "--match: expected a pattern of base names, got an empty text"),
        (message(table={"name": "customer"}, arguments={"dataset": "shop"}), "unrecognized arguments: --dataset=shop"),
    ],
)
def test_what_cannot_be_meant_is_refused(data: bytes, told: str) -> None:
    (problem,) = problems_of(data)
    assert told in problem


def test_the_job_reports_all_problems_of_its_arguments_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        DatasetArguments.parse(["--dataset", "a.b", "--match=", "--parallel=65"])
    assert len(refused.value.problems) == 3


def test_batches_for_the_dataset_wait_for_each_other_and_not_for_those_of_a_table() -> None:
    batches = MemoryBatches()
    launch(batches, BatchRequest("reconcile", "shop", "customer", ("--keys=id",)), "1", SETTINGS)
    first = launch(batches, ALL, "2", SETTINGS).batch.id
    with pytest.raises(TryAgain, match=f"batch {first} for dataset shop has not ended"):
        launch(batches, ALL, "3", SETTINGS)
    batches.enter(first, BatchState.SUCCEEDED)
    assert launch(batches, ALL, "3", SETTINGS).created
