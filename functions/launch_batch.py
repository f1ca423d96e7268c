"""The function `launch_batch`: takes messages that ask for a Spark job, and creates batches on Dataproc Serverless."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served
from imports import uncollected

from onefold.batches.launch import BatchHandler
from onefold.settings.environment import Settings, load_settings


@functools.cache
@uncollected()
def launcher() -> BatchHandler:
    """Return the handler of messages, one per instance of the function.

    Clients are made at the first request, whose answer tells why they cannot be made.
    """
    from onefold.adapters.dataproc import connect
    from onefold.adapters.pubsub import PubSub

    settings = launch_settings()
    batches = connect(settings.project, settings.batch)
    return BatchHandler(settings, batches, PubSub(batches.project))


@functions_framework.http
def launch_batch(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Return 204 for a message that is done, 500 for a message that has to be delivered again.

    It is an HTTP function for the same reason as `refresh_view`.
    """
    return answer(request, "launch_batch", launcher)


def launch_settings() -> Settings:
    """Return the settings of the function.

    Raises:
        InvalidSettings: settings are wrong, or a setting that batches need is missing.
    """
    settings = load_settings(os.environ)
    settings.batch.check_complete()
    return settings


def check_settings() -> Settings | None:
    """Return the settings of the function; log what is wrong with them."""
    return check(launch_settings)


if is_served("launch_batch"):
    check_settings()
