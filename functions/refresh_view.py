"""The function `refresh_view`: a message says that a versioned table is new, and the unified view is rebuilt."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework

from onefold.deliveries import Receiver
from onefold.errors import OnefoldError, TryAgain
from onefold.log import log
from onefold.settings import Settings, load_settings


@functools.cache
def receiver() -> Receiver:
    """Settings and clients, once per instance. Clients are made at the first request, when their answer has a reader."""
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
    try:
        handle = receiver().receive
    except Exception as error:  # noqa: BLE001 whatever it is, it is told, and the message is delivered again
        tell_unready(error)
        return "the function cannot start; its log says why\n", 500
    try:
        handle(request.get_data())
    except TryAgain as error:  # logged already
        return f"{error}\n", 500
    return "", 204


def tell_unready(error: Exception) -> None:
    """Every fault in one line, where a traceback would have been many that say less."""
    log("CRITICAL", f"the function cannot start: {error}", event="not_ready", reason=str(error), kind=type(error).__name__)


def check_settings() -> Settings | None:
    """Say at the start what is wrong with the settings. Requests are answered with 500, so that no message is lost."""
    try:
        return load_settings(os.environ)
    except OnefoldError as error:
        tell_unready(error)
        return None


check_settings()
