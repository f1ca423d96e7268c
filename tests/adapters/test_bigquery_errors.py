"""Errors of BigQuery's answers, through Google's own client over the fake transport."""

from __future__ import annotations

from collections.abc import Callable

import google.auth.exceptions
import pytest
import requests.exceptions
from google.api_core.exceptions import BadRequest
from google.cloud.bigquery.retry import DEFAULT_RETRY
from support.bigquery_views import BASE, OTHER_QUERY, QUERY, VIEW
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

import onefold.adapters.bigquery.client
from onefold.adapters.bigquery.errors import translated
from onefold.adapters.connect import connect
from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain, ViewChanged
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, ViewDraft, Warehouse

CALLS: dict[str, Callable[[Warehouse], object]] = {
    "get": lambda warehouse: warehouse.get_view(VIEW),
    "query": lambda warehouse: warehouse.read_versions(BASE),
    "list": lambda warehouse: warehouse.list_views("shop"),
    "insert": lambda warehouse: warehouse.create_view(VIEW, ViewDraft(QUERY)),
    "patch": lambda warehouse: warehouse.update_view(StoredView(VIEW, True, QUERY), ViewDraft(OTHER_QUERY)),
    "delete": lambda warehouse: warehouse.delete_view(VIEW),
}


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "internalError"),
        (502, "badGateway"),
        (503, "backendError"),
        (504, ""),
        (408, ""),
        (429, ""),
        (429, "rateLimitExceeded"),
        (403, "rateLimitExceeded"),
        (403, "quotaExceeded"),
        (403, "accessDenied"),
        (400, "jobBackendError"),
    ],
)
def test_a_transient_answer_raises_try_again(
    cloud: FakeBigQuery, warehouse: Warehouse, kind: str, status: int, reason: str
) -> None:
    cloud.fail(kind, status, reason)
    with pytest.raises(TryAgain):
        CALLS[kind](warehouse)


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ConnectionError("reset"),
        requests.exceptions.ReadTimeout("slow"),
        requests.exceptions.ChunkedEncodingError("cut"),
        ConnectionResetError("reset"),
        TimeoutError("slow"),
        google.auth.exceptions.TransportError("no metadata server"),  # type: ignore[no-untyped-call]
        google.auth.exceptions.RefreshError("no token"),  # type: ignore[no-untyped-call]
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_broken_connection_raises_try_again(
    cloud: FakeBigQuery, warehouse: Warehouse, kind: str, error: Exception
) -> None:
    cloud.break_off(kind, error)
    with pytest.raises(TryAgain):
        CALLS[kind](warehouse)


def test_an_emulator_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.client, "TIMEOUT", 0.1)
    monkeypatch.setattr(onefold.adapters.bigquery.client, "_RETRY", DEFAULT_RETRY.with_delay(initial=0, maximum=0))
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", "http://127.0.0.1:9")
    expected = r"no answer from http://127\.0\.0\.1:9 \(Connection refused\): start .*, or unset BIGQUERY_EMULATOR_HOST$"
    with pytest.raises(TryAgain, match=expected):
        connect("local").get_view(TableId("local", "shop", "customer_unified"))


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(("status", "reason"), [(400, "invalidQuery"), (400, "invalid"), (403, "billingNotEnabled")])
def test_a_refusal_raises_rejected(cloud: FakeBigQuery, warehouse: Warehouse, kind: str, status: int, reason: str) -> None:
    cloud.fail(kind, status, reason, "that cannot be")
    with pytest.raises(Rejected, match="that cannot be"):
        CALLS[kind](warehouse)


def test_the_message_of_a_job_is_one_line() -> None:
    with pytest.raises(Rejected, match=r"^a query: no such column, Location: EU, Job ID: 1$"), translated("a query"):
        raise BadRequest("no such column\n\nLocation: EU\nJob ID: 1\n")  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "call",
    [
        lambda warehouse: warehouse.read_versions(TableId(PROJECT, "nowhere", "customer")),
        lambda warehouse: warehouse.list_views("nowhere"),
        lambda warehouse: warehouse.list_bases("nowhere"),
    ],
    ids=["query", "list", "list bases"],
)
def test_a_dataset_that_does_not_exist_raises_not_found(warehouse: Warehouse, call: Callable[[Warehouse], object]) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        call(warehouse)


def test_a_dataset_for_views_that_does_not_exist_is_a_wrong_setting(warehouse: Warehouse) -> None:
    with pytest.raises(Rejected, match=r"nowhere.*create the dataset for views"):
        warehouse.create_view(TableId(PROJECT, "nowhere", "customer_unified"), ViewDraft(QUERY))


def test_a_token_that_has_expired_raises_try_again(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.fail("get", 401, "", "no token")
    with pytest.raises(TryAgain):
        warehouse.get_view(VIEW)


def test_an_error_names_the_view_and_gives_the_message_of_bigquery(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.fail("get", 403, "accessDenied", "no permission")
    with pytest.raises(OnefoldError, match=r"my-project\.shop\.customer_unified.*no permission"):
        warehouse.get_view(VIEW)


@pytest.mark.parametrize("kind", ["insert", "patch"])
def test_a_view_that_needs_a_key_says_how_to_write_it_and_is_written_later(
    cloud: FakeBigQuery, warehouse: Warehouse, kind: str
) -> None:
    cloud.datasets["shop__keys"] = {}
    query = f"SELECT k.ipad FROM `{PROJECT}.shop__keys.hash_key` AS k"
    if kind == "patch":
        warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = warehouse.get_view(VIEW)
    with pytest.raises(TryAgain, match=r"Not found: Table .* and has no key: run `onefold policies key shop`$") as raised:
        warehouse.update_view(stored, ViewDraft(query)) if stored else warehouse.create_view(VIEW, ViewDraft(query))
    assert not isinstance(raised.value, ViewChanged), "another try at once would not help"
