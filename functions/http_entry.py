"""What every function does with a request: answers it, and says in one log line why it cannot start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import flask

from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.log import log
from onefold.settings.environment import Settings


class MessageHandler(Protocol):
    def handle(self, body: bytes) -> None:
        """Returning acknowledges the message; raising has it delivered again."""


def answer(request: flask.Request, name: str, receiver: Callable[[], MessageHandler]) -> flask.typing.ResponseReturnValue:
    """204 to what is done with, 500 to what should be delivered again."""
    if request.method != "POST":
        return f"{name} takes Pub/Sub messages by POST\n", 405
    try:
        handle = receiver().handle
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


def check(load: Callable[[], Settings]) -> Settings | None:
    """Say at the start what is wrong with the settings. Requests are answered with 500, so that no message is lost."""
    try:
        return load()
    except OnefoldError as error:
        tell_unready(error)
        return None


def is_served(name: str) -> bool:
    """Whether this process serves that function: main.py imports all of them, and each has demands of its own."""
    return flask.has_app_context() and flask.current_app.name == name
