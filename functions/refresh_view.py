"""The function `refresh_view`: takes messages about new versioned tables, and refreshes their unified and current views."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import flask
import functions_framework
from http_entry import answer, check, is_served, keep_grpc_out
from imports import uncollected

from onefold.settings.environment import Settings, load_settings

if TYPE_CHECKING:
    from onefold.views.handler import TableCreatedHandler


@functools.cache
@uncollected()
def receiver() -> TableCreatedHandler:
    """Return the handler of messages, one per instance of the function.

    The handler and its clients are made at the first request, whose answer tells why they cannot be made.
    """
    from onefold.adapters.connect import connect
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.changes.ledger import Ledger
    from onefold.views.handler import TableCreatedHandler

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    ledger = Ledger(warehouse, settings.changes_dataset) if settings.changes_dataset else None
    return TableCreatedHandler(settings, warehouse, RestPublisher(warehouse.project), ledger)


@functions_framework.http
def refresh_view(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Return 204 for a message that is done, 500 for a message that has to be delivered again.

    The function is registered as an HTTP function, which takes precedence over `--signature-type cloudevent`. So every body,
    that of a CloudEvent or of a plain push, reaches Onefold's own parser. The framework would answer an invalid body with an
    error, and Pub/Sub would deliver the message for ever.
    """
    return answer(request, "refresh_view", receiver)


def check_settings() -> Settings | None:
    """Return the settings of the function; log what is wrong with them."""
    return check(lambda: load_settings(os.environ))


if is_served("refresh_view"):
    keep_grpc_out()
    check_settings()
