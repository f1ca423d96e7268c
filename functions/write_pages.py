"""The function `write_pages`: takes messages that name a dataset, and writes its page into a bucket."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served
from imports import uncollected

from onefold.core.errors import InvalidSettings
from onefold.inventory.page_handler import PageHandler
from onefold.settings.environment import Settings, load_settings


@functools.cache
@uncollected()
def handler() -> PageHandler:
    """Return the handler of messages, one per instance of the function.

    Clients are made at the first request, whose answer tells why they cannot be made.
    """
    from onefold.adapters.connect import connect
    from onefold.adapters.objects_at import objects_at, writable_objects_at
    from onefold.adapters.pubsub import PubSub

    settings = page_settings()
    folder = (settings.pages or "").removeprefix("file://")  # a folder of a laptop
    warehouse = connect(settings.project)
    return PageHandler(settings, folder, writable_objects_at(folder), warehouse, PubSub(warehouse.project), objects_at)


@functions_framework.http
def write_pages(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Return 204 for a message that is done, 500 for a message that has to be delivered again.

    It is an HTTP function for the same reason as `refresh_view`.
    """
    return answer(request, "write_pages", handler)


def page_settings() -> Settings:
    """Return the settings of the function.

    Raises:
        InvalidSettings: settings are wrong, or the folder of the pages is missing.
    """
    settings = load_settings(os.environ)
    if not settings.pages:
        raise InvalidSettings("ONEFOLD_PAGES is not set: set it to the folder of the pages, gs://BUCKET/FOLDER")
    return settings


def check_settings() -> Settings | None:
    """Return the settings of the function; log what is wrong with them."""
    return check(page_settings)


if is_served("write_pages"):
    check_settings()
