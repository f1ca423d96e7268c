"""The function `sink_records`: takes messages of captured rows, and appends the rows to their versioned tables."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served
from imports import uncollected

from onefold.settings.environment import Settings, load_settings
from onefold.sink.handler import RecordHandler, check_sink_settings


@functools.cache
@uncollected()
def sink() -> RecordHandler:
    """Return the handler of messages, one per instance of the function.

    Clients are made at the first request, whose answer tells why they cannot be made.
    """
    from onefold.adapters.connect import connect, row_writer_for
    from onefold.adapters.gcs import GcsObjects
    from onefold.adapters.pubsub import PubSub

    settings = sink_settings()
    warehouse = connect(settings.project)
    return RecordHandler(settings, row_writer_for(warehouse), GcsObjects(), PubSub(warehouse.project))


@functions_framework.http
def sink_records(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Return 204 for a message that is done, 500 for a message that has to be delivered again.

    It is an HTTP function for the same reason as `refresh_view`.
    """
    return answer(request, "sink_records", sink)


def sink_settings() -> Settings:
    """Return the settings of the function.

    Raises:
        InvalidSettings: settings are wrong, or a setting that the sink needs is missing.
    """
    return check_sink_settings(load_settings(os.environ))


def check_settings() -> Settings | None:
    """Return the settings of the function; log what is wrong with them."""
    return check(sink_settings)


if is_served("sink_records"):
    check_settings()
