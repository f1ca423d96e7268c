"""Errors of Google's clients: what each of them means, and which error of Onefold it becomes for each service.

`_FAILURES` says what an error means whatever the service, `ERRORS` which error it becomes, and the services at the end of
this file where they differ. Nothing else translates errors of Google's clients.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

import requests.exceptions
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from onefold.core.errors import AccessDenied, NotFound, OnefoldError, Rejected, TopicRefused, TryAgain, ViewChanged
from onefold.ports.objects import ObjectChanged


class Failure(Enum):
    """What an error of a client means, whatever the service."""

    NO_CREDENTIALS = auto()
    NOT_FOUND = auto()
    CHANGED = auto()
    """The condition of a write is not met: somebody else wrote in between (412)."""
    CONFLICT = auto()
    """The name is taken, or somebody else writes at the same time (409)."""
    DENIED = auto()
    """A permission is missing (403)."""
    NO_ACCESS = auto()
    """BigQuery's 403 for a permission that is missing, also where the table or its dataset does not exist."""
    WRONG_STATE = auto()
    """The request is valid, but not in the present state of what it is about (gRPC's FAILED_PRECONDITION)."""
    UNSUPPORTED = auto()
    """The server does not have this method (501)."""
    INVALID = auto()
    """Any other request that the server refuses (4xx)."""
    TRANSIENT = auto()
    """The server, the network or a token failed: a later try may succeed (5xx, 401, 408, 429)."""
    NO_ANSWER = auto()
    """No connection, or no answer in time."""


# In this order: the first line with a class of the error counts.
_FAILURES: tuple[tuple[tuple[type[Exception], ...], Failure], ...] = (
    ((auth.DefaultCredentialsError,), Failure.NO_CREDENTIALS),
    ((api.NotFound,), Failure.NOT_FOUND),
    ((api.PreconditionFailed,), Failure.CHANGED),
    # The client makes a 409 of gRPC's ABORTED, a 499 of CANCELLED; 401 is a token that has just expired.
    ((api.Aborted, api.Cancelled, api.TooManyRequests, api.Unauthorized), Failure.TRANSIENT),
    ((api.Conflict,), Failure.CONFLICT),
    ((api.Forbidden,), Failure.DENIED),
    ((api.FailedPrecondition, api.OutOfRange), Failure.WRONG_STATE),
    ((api.MethodNotImplemented,), Failure.UNSUPPORTED),
    ((api.RetryError, api.DeadlineExceeded, ConnectionError, TimeoutError), Failure.NO_ANSWER),
    ((requests.exceptions.ConnectionError, requests.exceptions.Timeout), Failure.NO_ANSWER),
    # RefreshError and TransportError are what errors of the metadata server become.
    ((api.ServerError, requests.exceptions.RequestException, auth.GoogleAuthError), Failure.TRANSIENT),
    ((api.GoogleAPICallError,), Failure.INVALID),
)
_REQUEST_TIMEOUT = 408
QUOTA_REASONS = frozenset({"rateLimitExceeded", "quotaExceeded"})
_NO_ACCESS_REASON = "accessDenied"
_TRANSIENT_REASONS = QUOTA_REASONS | {  # the limits of a quota are by time
    "backendError",
    "internalError",
    "jobBackendError",
    "jobInternalError",
    "jobRateLimitExceeded",
}
"""BigQuery, "Error messages", https://cloud.google.com/bigquery/docs/error-messages, 2025-11."""

ERRORS: Mapping[Failure, type[OnefoldError]] = {
    Failure.NO_CREDENTIALS: Rejected,
    Failure.NOT_FOUND: Rejected,
    Failure.CHANGED: Rejected,
    Failure.CONFLICT: Rejected,
    Failure.DENIED: TryAgain,  # a right that was just granted takes a minute to arrive
    Failure.NO_ACCESS: AccessDenied,
    Failure.WRONG_STATE: Rejected,
    Failure.UNSUPPORTED: TryAgain,
    Failure.INVALID: Rejected,
    Failure.TRANSIENT: TryAgain,
    Failure.NO_ANSWER: TryAgain,
}
"""The error of Onefold for each failure, where a service has no other one."""


def failure_of(error: Exception) -> Failure | None:
    """Return what an error means; None where it is not an error of a Google client."""
    failure = next((failure for types, failure in _FAILURES if isinstance(error, types)), None)
    if failure in (Failure.DENIED, Failure.INVALID) and isinstance(error, api.GoogleAPICallError):
        reasons = reasons_of(error)
        if _NO_ACCESS_REASON in reasons:
            return Failure.NO_ACCESS
        is_transient = error.code == _REQUEST_TIMEOUT or reasons & _TRANSIENT_REASONS
        return Failure.TRANSIENT if is_transient else failure
    return failure


def reasons_of(error: api.GoogleAPICallError) -> set[str]:
    """Return the reasons that an answer of a REST API gives besides its status."""
    return {detail.get("reason", "") for detail in error.errors if isinstance(detail, Mapping)}


def message_of(error: api.GoogleAPICallError) -> str:
    """Return the server's message on one line: of a job, BigQuery's client adds location and name on lines of their own."""
    return _one_line(str(error.message))


@dataclass(frozen=True)
class Service:
    """A service of Google, and how the errors of its client are translated.

    name: the service's name in error texts.
    emulator: the environment variable that holds the address of its emulator.
    start: the advice where the emulator does not answer.
    errors: the error for each failure that is another one than in `ERRORS`.
    """

    name: str
    emulator: str
    start: str
    errors: Mapping[Failure, type[OnefoldError]] = field(default_factory=dict)

    def kind(self, failure: Failure) -> type[OnefoldError]:
        """Return the error of Onefold that a failure is for this service."""
        return self.errors.get(failure, ERRORS[failure])

    def translate(self, subject: str, error: Exception) -> OnefoldError | None:
        """Return the error of Onefold, with its advice; None where `error` is not an error of a Google client.

        Args:
            subject: what the request was about, which begins the text.
            error: any error that a request raised.
        """
        failure = failure_of(error)
        return self.kind(failure)(self._text(subject, error, failure)) if failure else None

    @contextmanager
    def translated(self, subject: str, not_found: Callable[[str], OnefoldError] | None = None) -> Iterator[None]:
        """Raise errors of the client as errors of Onefold, and any other error as it is.

        Args:
            subject: what the requests are about, which begins the text.
            not_found: makes the error of a 404, of its text; the one of `kind` by default.

        Raises:
            OnefoldError: an error of the client, as `translate` returns it.
        """
        try:
            yield
        except Exception as error:
            if not_found and isinstance(error, api.NotFound):
                raise not_found(f"{subject}: {message_of(error)}") from error
            translation = self.translate(subject, error)
            if translation is None:
                raise
            raise translation from error

    def _text(self, subject: str, error: Exception, failure: Failure) -> str:
        if failure is Failure.NO_CREDENTIALS:
            return f"no credentials: run `gcloud auth application-default login` ({error})"
        if failure in (Failure.CHANGED, Failure.CONFLICT):
            return f"{subject} was written by somebody else: {_description(error)}"
        if failure is Failure.NO_ANSWER:
            return f"{subject}: {self._no_answer(error)}"
        if isinstance(error, api.GoogleAPICallError) and failure not in (Failure.TRANSIENT, Failure.NO_ACCESS):
            return f"{subject}: {message_of(error)}"
        return f"{subject}: {_description(error)}"  # with the status

    def _no_answer(self, error: Exception) -> str:
        cause = error.cause if isinstance(error, api.RetryError) and error.cause else error
        if host := os.environ.get(self.emulator):
            # The texts of `requests` are long, and say nothing that the address does not say.
            reason = _description(cause) if isinstance(cause, api.GoogleAPICallError) else type(cause).__name__
            return f"no answer from {host} ({reason}): {self.start}, or unset {self.emulator}"
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return f"no answer from {self.name} in time ({reason}): see that its network is reachable from here, and try again"


def _description(error: BaseException) -> str:
    return _one_line(str(error)) or type(error).__name__


def _one_line(text: str) -> str:
    return ", ".join(line for line in text.splitlines() if line.strip())


BIGQUERY = Service(
    "BigQuery",
    "BIGQUERY_EMULATOR_HOST",
    "start BigQuery's emulator there",
    {
        Failure.NOT_FOUND: NotFound,
        Failure.CHANGED: ViewChanged,
        Failure.CONFLICT: ViewChanged,
        # A right that is missing has a reason of its own, and is transient; other refusals are about billing or policies.
        Failure.DENIED: Rejected,
    },
)
STORAGE_WRITE = Service(
    "BigQuery's Storage Write API",
    BIGQUERY.emulator,
    BIGQUERY.start,
    # The table was replaced, or its stream has ended: the next delivery opens another one.
    {Failure.NOT_FOUND: TryAgain, Failure.CONFLICT: TryAgain, Failure.WRONG_STATE: TryAgain},
)
CLOUD_STORAGE = Service(
    "Cloud Storage", "STORAGE_EMULATOR_HOST", "start the stand-in there", {Failure.CHANGED: ObjectChanged}
)
PUBSUB = Service(
    "Pub/Sub",
    "PUBSUB_EMULATOR_HOST",
    "start the Pub/Sub emulator there",
    # Somebody has to grant a right, or to enable the topic's key again: then the same message is published.
    {Failure.DENIED: TopicRefused, Failure.WRONG_STATE: TopicRefused, Failure.CONFLICT: TryAgain},
)
DATAPROC = Service(
    "Dataproc",
    "DATAPROC_EMULATOR_HOST",
    "start the stand-in (onefold local start)",
    {Failure.UNSUPPORTED: Rejected, Failure.CONFLICT: TryAgain},
)
