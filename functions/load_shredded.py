"""The function `load_shredded`: takes messages about finished runs of the shredder, and loads them into BigQuery."""

from __future__ import annotations

import functools
import os

import flask
import functions_framework
from http_entry import answer, check, is_served
from imports import uncollected

from onefold.core.errors import InvalidSettings
from onefold.events.load.handler import SECONDS, ShreddedHandler
from onefold.settings.environment import Settings, load_settings
from onefold.settings.events import EventSettings


@functools.cache
@uncollected()
def handler() -> ShreddedHandler:
    """Return the handler of messages, one per instance of the function.

    Clients are made at the first request, whose answer tells why they cannot be made.
    """
    from onefold.adapters.bigquery.event_tables import BigQueryEventTables
    from onefold.adapters.connect import connect
    from onefold.adapters.objects_at import run_objects_at
    from onefold.adapters.pubsub import PubSub
    from onefold.events.load.announce import announcing
    from onefold.events.load.load import Loader
    from onefold.events.load.runs import FolderRuns, runs_address

    settings = event_settings()
    dataset, folder = _places(settings.events)
    warehouse = connect(settings.project)
    publisher = PubSub(warehouse.project)
    address = runs_address(folder)
    loader = Loader(
        FolderRuns(address, run_objects_at(address)),
        BigQueryEventTables(warehouse, dataset),
        announcing(publisher, settings.topic_table_created, dataset),
        SECONDS,
    )
    return ShreddedHandler(address, loader, warehouse, publisher, settings.topic_dead_letter)


@functions_framework.http
def load_shredded(request: flask.Request) -> flask.typing.ResponseReturnValue:
    """Return 204 for a message that is done, 500 for a message that has to be delivered again.

    It is an HTTP function for the same reason as `refresh_view`.
    """
    return answer(request, "load_shredded", handler)


def event_settings() -> Settings:
    """Return the settings of the function.

    Raises:
        InvalidSettings: settings are wrong, or a setting of events is missing; or the dataset is not an allowed one.
    """
    settings = load_settings(os.environ)
    dataset, _ = _places(settings.events)
    if settings.datasets is not None and dataset not in settings.datasets:
        raise InvalidSettings(f"ONEFOLD_EVENTS_DATASET {dataset} is not one of ONEFOLD_DATASETS: add it there")
    return settings


def _places(settings: EventSettings) -> tuple[str, str]:
    return settings.require_all()


def check_settings() -> Settings | None:
    """Return the settings of the function; log what is wrong with them."""
    return check(event_settings)


if is_served("load_shredded"):
    check_settings()
