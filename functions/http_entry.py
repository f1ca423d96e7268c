"""The part that all functions share: answer a request, and log in one line why a function cannot start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol
from urllib.parse import quote

import flask

from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.log import log
from onefold.ports.publisher import REASON
from onefold.settings.environment import Settings

_MAX_REASON = 1_000


class MessageHandler(Protocol):
    """The handler of a topic's messages."""

    def handle(self, body: bytes) -> str | None:
        """Handle the body of a request. A return acknowledges the message; an error has it delivered again.

        Returns:
            Why nothing was done; None for a message that was handled.
        """


def answer(request: flask.Request, name: str, handler: Callable[[], MessageHandler]) -> flask.typing.ResponseReturnValue:
    """Return 204 for a message that is done or can never be handled, 500 for a message that has to be delivered again.

    Args:
        request: a request with the message in its body.
        name: the name of the function, for its answers.
        handler: returns the handler of the messages; an error of it means that the function cannot start.
    """
    if request.method != "POST":
        return f"{name} takes Pub/Sub messages by POST\n", 405
    try:
        handle = handler().handle
    except Exception as error:  # noqa: BLE001 any error is logged, and the message is delivered again
        log_unready(error)
        return "the function cannot start; its log says why\n", 500
    try:
        reason = handle(request.get_data())
    except TryAgain as error:  # logged already
        return f"{error}\n", 500
    # Pub/Sub reads the status only; the header is for a person who sends a test message.
    return "", 204, {REASON: quote(reason[:_MAX_REASON])} if reason else {}


def log_unready(error: Exception) -> None:
    """Log all problems in one line, instead of the many lines of a traceback."""
    log("CRITICAL", f"the function cannot start: {error}", event="not_ready", reason=str(error), kind=type(error).__name__)


def check(load: Callable[[], Settings]) -> Settings | None:
    """Return the settings; log what is wrong with them, and return None, when the function starts.

    The function goes on and answers requests with 500, so that no message is lost.
    """
    try:
        return load()
    except OnefoldError as error:
        log_unready(error)
        return None


def keep_grpc_out() -> None:
    """Keep Google's clients from loading grpc, where nothing has loaded it: they do without, and so do all calls by REST.

    It would take 13 MB of each instance, and a thirteenth of its cold start.
    """
    sys.modules.setdefault("grpc", None)  # type: ignore[arg-type]


def is_served(name: str) -> bool:
    """Return whether this process serves the function, and does not import it for something else."""
    return flask.has_app_context() and flask.current_app.name == name
