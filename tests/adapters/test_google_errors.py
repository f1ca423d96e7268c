"""Errors of Google's clients: which error of Onefold each becomes for each service, and which advice its text gives."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
import requests.exceptions
from google.api_core import exceptions as api
from google.auth import exceptions as auth
from google.rpc import code_pb2

from onefold.adapters.google_errors import (
    BIGQUERY,
    CLOUD_STORAGE,
    DATAPROC,
    PUBSUB,
    STORAGE_WRITE,
    ApiFailure,
    Service,
    failure_of,
)
from onefold.core.errors import AccessDenied, NotFound, OnefoldError, Rejected, TopicRefused, TryAgain, ViewChanged
from onefold.ports.objects import ObjectChanged

SERVICES = (BIGQUERY, STORAGE_WRITE, CLOUD_STORAGE, PUBSUB, DATAPROC)


def http(status: int, reason: str = "", message: str = "no") -> api.GoogleAPICallError:
    """Return the error that a client with a REST API makes of an answer."""
    errors = [{"reason": reason, "message": message}] if reason else []
    error: api.GoogleAPICallError = api.from_http_status(status, message, errors=errors)  # type: ignore[no-untyped-call]
    return error


def grpc(name: str) -> api.GoogleAPICallError:
    """Return the error that a client with gRPC makes of a status."""
    error: api.GoogleAPICallError = api.from_grpc_status(code_pb2.Code.Value(name), "no")  # type: ignore[no-untyped-call]
    return error


# By the documentation of each API: what may succeed later, what is final, what somebody has to change first.
REST: list[tuple[tuple[Service, ...], list[tuple[tuple[Any, ...], type[OnefoldError]]]]] = [
    (
        (BIGQUERY, CLOUD_STORAGE),
        [
            ((500,), TryAgain),
            ((502,), TryAgain),
            ((503,), TryAgain),
            ((504,), TryAgain),
            ((408,), TryAgain),
            ((429,), TryAgain),
            ((401,), TryAgain),
            ((403, "accessDenied"), AccessDenied),
            ((403, "quotaExceeded"), TryAgain),
            ((403, "rateLimitExceeded"), TryAgain),
            ((400, "invalid"), Rejected),
            ((413,), Rejected),
        ],
    ),
    (
        (BIGQUERY,),
        [
            ((403, "billingNotEnabled"), Rejected),
            ((403,), Rejected),
            ((400, "jobBackendError"), TryAgain),
            ((400, "jobInternalError"), TryAgain),
            ((400, "jobRateLimitExceeded"), TryAgain),
            ((404, "notFound"), NotFound),
            ((409, "duplicate"), ViewChanged),
            ((412, "conditionNotMet"), ViewChanged),
        ],
    ),
    (
        (CLOUD_STORAGE,),
        [
            ((403,), TryAgain),
            ((404,), Rejected),
            ((412,), ObjectChanged),
        ],
    ),
]
GRPC = {
    "UNAVAILABLE": (TryAgain, TryAgain, TryAgain),
    "INTERNAL": (TryAgain, TryAgain, TryAgain),
    "UNKNOWN": (TryAgain, TryAgain, TryAgain),
    "DATA_LOSS": (TryAgain, TryAgain, TryAgain),
    "ABORTED": (TryAgain, TryAgain, TryAgain),
    "CANCELLED": (TryAgain, TryAgain, TryAgain),
    "RESOURCE_EXHAUSTED": (TryAgain, TryAgain, TryAgain),
    "DEADLINE_EXCEEDED": (TryAgain, TryAgain, TryAgain),
    "UNAUTHENTICATED": (TryAgain, TryAgain, TryAgain),
    "PERMISSION_DENIED": (TopicRefused, TryAgain, TryAgain),
    "FAILED_PRECONDITION": (TopicRefused, Rejected, TryAgain),
    "NOT_FOUND": (Rejected, Rejected, TryAgain),
    "INVALID_ARGUMENT": (Rejected, Rejected, Rejected),
    "UNIMPLEMENTED": (TryAgain, Rejected, TryAgain),
}
"""For Pub/Sub, Dataproc and the Storage Write API."""


@pytest.mark.parametrize(
    ("service", "answer", "kind"),
    [(service, answer, kind) for services, table in REST for service in services for answer, kind in table],
    ids=lambda value: getattr(value, "name", None),
)
def test_an_answer_of_a_rest_api_becomes_the_error_of_its_service(
    service: Service, answer: tuple[int, str], kind: type[OnefoldError]
) -> None:
    assert type(service.translate("a table", http(*answer))) is kind


@pytest.mark.parametrize("status", GRPC)
def test_a_status_of_grpc_becomes_the_error_of_its_service(status: str) -> None:
    services = (PUBSUB, DATAPROC, STORAGE_WRITE)
    assert tuple(type(service.translate("a table", grpc(status))) for service in services) == GRPC[status]


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ConnectionError("reset"),
        requests.exceptions.ReadTimeout("slow"),
        requests.exceptions.ChunkedEncodingError("cut"),
        ConnectionResetError("reset"),
        TimeoutError(),
        api.RetryError("too late", cause=http(503)),  # type: ignore[no-untyped-call]
        auth.TransportError("no metadata server"),  # type: ignore[no-untyped-call]
        auth.RefreshError("no token"),  # type: ignore[no-untyped-call]
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_broken_connection_may_work_later_for_every_service(service: Service, error: Exception) -> None:
    translation = service.translate("a table", error)
    assert type(translation) is TryAgain
    assert str(translation).startswith("a table: ")


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_missing_credentials_are_final_and_the_text_says_how_to_log_in(service: Service) -> None:
    translation = service.translate("a table", auth.DefaultCredentialsError("nobody"))  # type: ignore[no-untyped-call]
    assert type(translation) is Rejected
    assert str(translation) == "no valid credentials: run `gcloud auth application-default login` (nobody)"


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyError("no"), OSError("no"), Rejected("no"), TryAgain("no")], ids=repr
)
def test_other_errors_are_not_translated(error: Exception) -> None:
    assert failure_of(error) is None
    with pytest.raises(type(error)) as caught, BIGQUERY.translated("a table"):
        raise error
    assert caught.value is error


def test_a_final_error_is_one_line_with_its_subject_and_a_transient_one_has_its_status() -> None:
    final = BIGQUERY.translate("a query", http(400, "invalid", "no such column\n\nLocation: EU\nJob ID: 1\n"))
    assert str(final) == "a query: no such column, Location: EU, Job ID: 1"
    assert str(BIGQUERY.translate("a query", http(503, message="not\nnow"))) == "a query: 503 not, now"


NO_ANSWERS = [
    (TimeoutError(), "no answer in time"),
    (requests.exceptions.ReadTimeout("a pool", TimeoutError("timed out")), "no answer in time"),
    (requests.exceptions.ConnectionError("aborted", ConnectionResetError(104, "reset by peer")), "reset by peer"),
    (http(503, message="busy"), "503 busy"),
    (http(429, message="slow down"), "429 slow down"),
    (api.RetryError("too late", cause=http(503, message="busy")), "503 busy"),  # type: ignore[no-untyped-call]
    (api.RetryError("too late", cause=TimeoutError("slow")), "no answer in time"),  # type: ignore[no-untyped-call]
]


@pytest.mark.parametrize("error", [error for error, _ in NO_ANSWERS], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_an_emulator_that_is_not_there_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, service: Service, error: Exception
) -> None:
    monkeypatch.setenv(service.emulator, "127.0.0.1:9")
    expected = f"a table: no answer from 127.0.0.1:9 (Connection refused): {service.start}, or unset {service.emulator}"
    assert str(service.translate("a table", error)) == expected


@pytest.mark.parametrize(("error", "reason"), NO_ANSWERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_an_emulator_that_is_busy_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, service: Service, error: Exception, reason: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv(service.emulator, host)
        expected = f"a table: the emulator at {host} is busy ({reason}): let its other work end, and try again"
        assert str(service.translate("a table", error)) == expected


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_a_service_that_does_not_answer_is_named_with_the_advice_to_look_at_the_network(
    monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    monkeypatch.delenv(service.emulator, raising=False)
    text = str(service.translate("a table", TimeoutError("slow")))
    advice = "see that its network is reachable from here, and try again"
    assert text == f"a table: {service.name} does not answer (no answer in time): {advice}"


@pytest.mark.parametrize(
    ("not_found", "kind"), [(None, NotFound), (Rejected, Rejected), (lambda text: ViewChanged(text), ViewChanged)]
)
def test_the_caller_may_say_what_a_404_means(
    not_found: Callable[[str], OnefoldError] | None, kind: type[OnefoldError]
) -> None:
    with pytest.raises(OnefoldError, match=r"^a table: it has gone$") as caught, BIGQUERY.translated("a table", not_found):
        raise http(404, message="it has gone")
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, api.NotFound)


def test_every_failure_has_an_error_for_every_service() -> None:
    assert all(issubclass(service.kind(failure), OnefoldError) for service in SERVICES for failure in ApiFailure)
