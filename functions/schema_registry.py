"""The function `schema_registry`: answers requests to a schema registry as Iglu's server does."""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import flask
import functions_framework
from http_entry import check, is_served, log_unready
from imports import uncollected

from onefold.core.errors import Rejected
from onefold.core.log import LogSeverity, log
from onefold.events.registry.api_keys import ApiKey, parse_keys
from onefold.events.registry.http import ApiRequest
from onefold.settings.environment import Settings, load_settings

if TYPE_CHECKING:
    from onefold.events.registry.handler import RegistryHandler
    from onefold.events.registry.recording import SchemaRecording
    from onefold.events.registry.store import RegistryStore
    from onefold.ports.rows import Row

_MAX_DISCARDED = 32_000_000
"""Bytes. Cloud Run takes no larger body over HTTP/1 (Cloud Run, "Quotas and limits", 2025-11)."""
_PIECE = 65_536


@functools.cache
@uncollected()
def registry() -> RegistryHandler:
    """Return the handler of requests, one per instance of the function.

    Clients are made at the first request, whose answer tells why they cannot be made. The validator is imported here, too.
    """
    from onefold.adapters.objects_at import writable_objects_at
    from onefold.events.registry.handler import RegistryHandler
    from onefold.events.registry.open import open_registry_store

    known = registry_settings()
    settings = known.registry
    address = settings.require_address()
    store = open_registry_store(address, writable_objects_at(address), settings, known.contracts)
    return RegistryHandler(store, keys_of(settings.keys), settings.public, recording_of(store, known))


def recording_of(store: RegistryStore, settings: Settings) -> SchemaRecording | None:
    """Return what records added schemas in the ledger of changes; None where no setting names it."""
    if not settings.changes_dataset:
        return None
    from onefold.adapters.connect import connect
    from onefold.changes.ledger import Ledger
    from onefold.events.registry.recording import SchemaRecording

    def say(severity: LogSeverity, text: str, event: str, row: Row) -> None:
        log(severity, text, event=event, entry=row)

    return SchemaRecording(store, say, Ledger(connect(settings.project), settings.changes_dataset))


def keys_of(path: str | None) -> Callable[[], Iterable[ApiKey]]:
    """Return a function that reads the present keys: a secret that is mounted as a file changes while the function runs.

    Args:
        path: the file of keys; None where there are none.
    """

    def read() -> Iterable[ApiKey]:
        """Read the file.

        Raises:
            Rejected: the file cannot be read.
            OnefoldError: the file is not valid.
        """
        if path is None:
            return ()
        try:
            return parse_keys(Path(path).read_bytes(), path)
        except OSError as error:
            raise Rejected(f"{path} cannot be read: {error.strerror}; check ONEFOLD_REGISTRY_KEYS") from error

    return read


@functions_framework.http
def schema_registry(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Return the answer of the registry, or 500 where the function cannot start."""
    try:
        handler = registry()
    except Exception as error:  # noqa: BLE001 any error is logged, and the next request tries again
        log_unready(error)
        return "the function cannot start; its log says why\n", 500
    try:
        answer = handler.answer(_request(request))
    except Exception as error:  # noqa: BLE001 any error is logged in one line, and the next request is answered
        log("CRITICAL", f"the request failed: {error}", event="failed", stack_trace=traceback.format_exc())
        return "the request failed; the log says why\n", 500
    return answer.body, answer.status, dict(answer.headers)


def _request(request: flask.Request) -> ApiRequest:
    return ApiRequest(
        method=request.method,
        path=request.path,
        query=request.args.to_dict(),
        api_key=request.headers.get("apikey"),
        if_none_match=request.headers.get("If-None-Match"),
        read_body=lambda most: _body(request, most),
    )


def _body(request: flask.Request, most: int) -> bytes:
    """Return the body, or its beginning, and never keep more of it in memory.

    The rest is read and thrown away: a client that still sends would otherwise see a broken connection instead of 413.
    """
    body = bytearray()
    rest = _MAX_DISCARDED
    while rest > 0 and (piece := request.stream.read(_PIECE)):
        body += piece[: most - len(body)]
        rest -= len(piece)
    return bytes(body)


def registry_settings() -> Settings:
    """Return the settings of the function.

    Raises:
        InvalidSettings: settings are wrong, or the address of the registry is missing.
    """
    settings = load_settings(os.environ)
    settings.registry.require_address()
    return settings


def check_settings() -> Settings | None:
    """Return the settings of the function; log what is wrong with them."""
    return check(registry_settings)


if is_served("schema_registry"):
    check_settings()
