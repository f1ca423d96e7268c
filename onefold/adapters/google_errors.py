"""Errors of Google's clients: what each of them means, and which error of Onefold it becomes for each service.

`_FAILURES` says what an error means whatever the service, `ERRORS` which error it becomes, and the services at the end of
this file where they differ. Nothing else translates errors of Google's clients.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

import requests.exceptions
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from onefold.core.errors import AccessDenied, NotFound, OnefoldError, Rejected, TopicRefused, TryAgain, ViewChanged
from onefold.core.network import network_reason, refusal
from onefold.ports.objects import ObjectChanged


class ApiFailure(Enum):
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
_FAILURES: tuple[tuple[tuple[type[Exception], ...], ApiFailure], ...] = (
    ((auth.DefaultCredentialsError,), ApiFailure.NO_CREDENTIALS),
    ((api.NotFound,), ApiFailure.NOT_FOUND),
    ((api.PreconditionFailed,), ApiFailure.CHANGED),
    # The client makes a 409 of gRPC's ABORTED, a 499 of CANCELLED; 401 is a token that has just expired.
    ((api.Aborted, api.Cancelled, api.TooManyRequests, api.Unauthorized), ApiFailure.TRANSIENT),
    ((api.Conflict,), ApiFailure.CONFLICT),
    ((api.Forbidden,), ApiFailure.DENIED),
    ((api.FailedPrecondition, api.OutOfRange), ApiFailure.WRONG_STATE),
    ((api.MethodNotImplemented,), ApiFailure.UNSUPPORTED),
    ((api.RetryError, api.DeadlineExceeded, ConnectionError, TimeoutError), ApiFailure.NO_ANSWER),
    ((requests.exceptions.ConnectionError, requests.exceptions.Timeout), ApiFailure.NO_ANSWER),
    # RefreshError and TransportError are what errors of the metadata server become.
    ((api.ServerError, requests.exceptions.RequestException, auth.GoogleAuthError), ApiFailure.TRANSIENT),
    ((api.GoogleAPICallError,), ApiFailure.INVALID),
)
_BUSY = (api.ServiceUnavailable, api.TooManyRequests, api.BadGateway, api.GatewayTimeout)
"""What a server answers that has too much to do, and gRPC also where no server answers."""
_REQUEST_TIMEOUT = 408
QUOTA_REASONS = frozenset({"rateLimitExceeded", "quotaExceeded"})
_REQUEST = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) https?://\S+: ")
_TWICE = re.compile(r"(?P<text>\w.*); reason: \w+, (?:\w+: \S+, )?message: (?P=text)(?:, location: query)?")
_NOWHERE = re.compile(r", Location: None, Job ID: \S+")
"""What the client adds for the emulator, whose jobs nobody looks up."""
_CLIENTS_ADVICE = "set up Application Default Credentials"
_NO_ACCESS_REASON = "accessDenied"
_TRANSIENT_REASONS = QUOTA_REASONS | {  # the limits of a quota are by time
    "backendError",
    "internalError",
    "jobBackendError",
    "jobInternalError",
    "jobRateLimitExceeded",
}
"""BigQuery, "Error messages", https://cloud.google.com/bigquery/docs/error-messages, 2025-11."""

ERRORS: Mapping[ApiFailure, type[OnefoldError]] = {
    ApiFailure.NO_CREDENTIALS: Rejected,
    ApiFailure.NOT_FOUND: Rejected,
    ApiFailure.CHANGED: Rejected,
    ApiFailure.CONFLICT: Rejected,
    ApiFailure.DENIED: TryAgain,  # a right that was just granted takes a minute to arrive
    ApiFailure.NO_ACCESS: AccessDenied,
    ApiFailure.WRONG_STATE: Rejected,
    ApiFailure.UNSUPPORTED: TryAgain,
    ApiFailure.INVALID: Rejected,
    ApiFailure.TRANSIENT: TryAgain,
    ApiFailure.NO_ANSWER: TryAgain,
}
"""The error of Onefold for each failure, where a service has no other one."""


def failure_of(error: Exception) -> ApiFailure | None:
    """Return what an error means; None where it is not an error of a Google client."""
    failure = next((failure for types, failure in _FAILURES if isinstance(error, types)), None)
    if failure in (ApiFailure.DENIED, ApiFailure.INVALID) and isinstance(error, api.GoogleAPICallError):
        reasons = reasons_of(error)
        if _NO_ACCESS_REASON in reasons:
            return ApiFailure.NO_ACCESS
        is_transient = error.code == _REQUEST_TIMEOUT or reasons & _TRANSIENT_REASONS
        return ApiFailure.TRANSIENT if is_transient else failure
    return failure


def reasons_of(error: api.GoogleAPICallError) -> set[str]:
    """Return the reasons that an answer of a REST API gives besides its status."""
    return {detail.get("reason", "") for detail in error.errors if isinstance(detail, Mapping)}


def no_credentials(error: Exception) -> str:
    """Return the advice where there are no credentials, or Google refuses them; the client's own advice is long."""
    reason = _one_line(str(error.args[0] if error.args else ""))
    detail = f" ({reason})" if reason and _CLIENTS_ADVICE not in reason else ""
    return f"no valid credentials: run `gcloud auth application-default login`{detail}"


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
    errors: Mapping[ApiFailure, type[OnefoldError]] = field(default_factory=dict)

    def kind(self, failure: ApiFailure) -> type[OnefoldError]:
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

    def _text(self, subject: str, error: Exception, failure: ApiFailure) -> str:
        if failure is ApiFailure.NO_CREDENTIALS:
            return no_credentials(error)
        if failure in (ApiFailure.CHANGED, ApiFailure.CONFLICT):
            return f"{subject} was written by somebody else: {_description(error)}"
        is_silent = failure is ApiFailure.NO_ANSWER
        if (host := os.environ.get(self.emulator)) and (is_silent or isinstance(error, _BUSY)):
            return f"{subject}: {self._of_emulator(host, network_reason(error))}"
        if is_silent:
            advice = "see that its network is reachable from here, and try again"
            return f"{subject}: {self.name} does not answer ({network_reason(error)}): {advice}"
        if isinstance(error, api.GoogleAPICallError) and failure not in (ApiFailure.TRANSIENT, ApiFailure.NO_ACCESS):
            return f"{subject}: {message_of(error)}"
        return f"{subject}: {_description(error)}"  # with the status

    def missing_emulator(self, host: str) -> str | None:
        """Return that the emulator does not listen; None where it does.

        Clients wait for a server that is not there until their time is over: only a connection tells at once.

        Args:
            host: its address.
        """
        refused = refusal(host)
        return f"no answer from {host} ({refused}): {self.start}, or unset {self.emulator}" if refused else None

    def _of_emulator(self, host: str, reason: str) -> str:
        """Return that the emulator is missing, or that it is busy: to start another one would not help then."""
        if missing := self.missing_emulator(host):
            return missing
        return f"the emulator at {host} is busy ({reason}): let its other work end, and try again"


def _description(error: BaseException) -> str:
    return _one_line(str(error)) or type(error).__name__


def _one_line(text: str) -> str:
    r"""Return a text without line breaks, the URL of the request, and what the client says twice.

    Examples:
        >>> _one_line("404 GET https://host/x?a=b: no such table\n\nLocation: EU")
        '404 no such table, Location: EU'
        >>> _one_line("no such column; reason: invalidQuery, message: no such column")
        'no such column'
    """
    line = ", ".join(line for line in _REQUEST.sub("", text).splitlines() if line.strip())
    line = _NOWHERE.sub("", line)
    return _TWICE.sub(r"\g<text>", line)


BIGQUERY = Service(
    "BigQuery",
    "BIGQUERY_EMULATOR_HOST",
    "start BigQuery's emulator there",
    {
        ApiFailure.NOT_FOUND: NotFound,
        ApiFailure.CHANGED: ViewChanged,
        ApiFailure.CONFLICT: ViewChanged,
        # A right that is missing has a reason of its own, and is transient; other refusals are about billing or policies.
        ApiFailure.DENIED: Rejected,
    },
)
STORAGE_WRITE = Service(
    "BigQuery's Storage Write API",
    BIGQUERY.emulator,
    BIGQUERY.start,
    # The table was replaced, or its stream has ended: the next delivery opens another one.
    {ApiFailure.NOT_FOUND: TryAgain, ApiFailure.CONFLICT: TryAgain, ApiFailure.WRONG_STATE: TryAgain},
)
CLOUD_STORAGE = Service(
    "Cloud Storage", "STORAGE_EMULATOR_HOST", "start the stand-in there", {ApiFailure.CHANGED: ObjectChanged}
)
PUBSUB = Service(
    "Pub/Sub",
    "PUBSUB_EMULATOR_HOST",
    "start the Pub/Sub emulator there",
    # Somebody has to grant a right, or to enable the topic's key again: then the same message is published.
    {ApiFailure.DENIED: TopicRefused, ApiFailure.WRONG_STATE: TopicRefused, ApiFailure.CONFLICT: TryAgain},
)
DATAPROC = Service(
    "Dataproc",
    "DATAPROC_EMULATOR_HOST",
    "start the stand-in (onefold local start)",
    {ApiFailure.UNSUPPORTED: Rejected, ApiFailure.CONFLICT: TryAgain},
)
