"""The function `sink_records`: a message holds captured rows, and they are appended to their versioned table."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served

from onefold.settings.environment import Settings, load_settings
from onefold.sink.handler import RecordHandler, check_sink_settings


@functools.cache
def sink() -> RecordHandler:
    """Settings and clients, once per instance. Clients are made at the first request, when their answer has a reader."""
    from onefold.adapters.bigquery.storage_write import landing_in
    from onefold.adapters.connect import connect
    from onefold.adapters.gcs import GcsObjects
    from onefold.adapters.pubsub import PubSub

    settings = sink_settings()
    warehouse = connect(settings.project)
    return RecordHandler(settings, landing_in(warehouse), GcsObjects(), PubSub(warehouse.project))


@functions_framework.http
def sink_records(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Answers 204 to what is done with, 500 to what should be delivered again; an HTTP function as `refresh_view` is."""
    return answer(request, "sink_records", sink)


def sink_settings() -> Settings:
    """Raises InvalidSettings with what is wrong, or with what the sink needs and nobody has set."""
    return check_sink_settings(load_settings(os.environ))


def check_settings() -> Settings | None:
    return check(sink_settings)


if is_served("sink_records"):
    check_settings()
