"""The function `refresh_view`: a message says that a versioned table is new, and the unified view is rebuilt."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served

from onefold.settings.environment import Settings, load_settings
from onefold.views.handler import TableCreatedHandler


@functools.cache
def receiver() -> TableCreatedHandler:
    """Settings and clients, once per instance. Clients are made at the first request, when their answer has a reader."""
    from onefold.adapters.connect import connect
    from onefold.adapters.pubsub import PubSub

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    return TableCreatedHandler(settings, warehouse, PubSub(warehouse.project))


@functions_framework.http
def refresh_view(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Answers 204 to what is done with, 500 to what should be delivered again.

    Registered as an HTTP function, which wins over `--signature-type cloudevent`: so the body of a CloudEvent, of a
    plain push and of anything else reaches our own parser, and none is answered by an error of the framework, which
    Pub/Sub would deliver for ever.
    """
    return answer(request, "refresh_view", receiver)


def check_settings() -> Settings | None:
    return check(lambda: load_settings(os.environ))


if is_served("refresh_view"):
    check_settings()
