"""The function `launch_batch`: a message asks for a Spark job, and a batch on Dataproc Serverless is created for it."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served

from onefold.batches.launch import BatchHandler
from onefold.settings.environment import Settings, load_settings


@functools.cache
def launcher() -> BatchHandler:
    """Settings and clients, once per instance. Clients are made at the first request, when their answer has a reader."""
    from onefold.adapters.dataproc import connect
    from onefold.adapters.pubsub import PubSub

    settings = launch_settings()
    batches = connect(settings.project, settings.batch)
    return BatchHandler(settings, batches, PubSub(batches.project))


@functions_framework.http
def launch_batch(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Answers 204 to what is done with, 500 to what should be delivered again; an HTTP function as `refresh_view` is."""
    return answer(request, "launch_batch", launcher)


def launch_settings() -> Settings:
    """Raises InvalidSettings with what is wrong, or with what a batch needs and nobody has set."""
    settings = load_settings(os.environ)
    settings.batch.check_complete()
    return settings


def check_settings() -> Settings | None:
    return check(launch_settings)


if is_served("launch_batch"):
    check_settings()
