"""The function `refresh_view`: a message says that a versioned table is new, and the unified view is rebuilt."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework

from onefold.deliveries import Receiver
from onefold.settings import load_settings


@functools.cache
def receiver() -> Receiver:
    """Settings and clients, once per instance; what is wrong with the settings is said at the first request."""
    from onefold.bigquery import connect
    from onefold.pubsub import PubSub

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    return Receiver(settings, warehouse, PubSub(warehouse.project))


@functions_framework.http
def refresh_view(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Answers 204 to what is done with, 500 to what should be delivered again.

    Registered as an HTTP function, which wins over `--signature-type cloudevent`: so the body of a CloudEvent, of a
    plain push and of anything else reaches our own parser, and none is answered by an error of the framework, which
    Pub/Sub would deliver for ever.
    """
    if request.method != "POST":
        return "refresh_view takes Pub/Sub messages by POST\n", 405
    receiver().receive(request.get_data())
    return "", 204
