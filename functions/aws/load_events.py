"""The Lambda function `onefold-loader`: takes messages about finished runs of the shredder, and loads them into Redshift."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from onefold.events.load.queue_handler import QueueHandler
from onefold.settings.redshift import read_redshift

if TYPE_CHECKING:
    from onefold.adapters.redshift.connection import RedshiftConnection
    from onefold.adapters.s3 import S3Objects
    from onefold.events.load.external import ExternalTables
    from onefold.events.load.runs import FolderRuns

SECONDS = 420.0
"""How long one call may load. The function may run for 600 seconds (infra/aws/loader.tf)."""


@functools.cache
def loader() -> QueueHandler:
    """Return the handler of messages, one for each instance of the function.

    Raises:
        InvalidInput: a variable is missing or not valid; the error lists all of them.
    """
    from onefold.adapters.redshift.connection import RedshiftConnection
    from onefold.adapters.redshift.event_tables import RedshiftEventTables
    from onefold.adapters.s3 import S3Objects
    from onefold.events.load.load import Loader
    from onefold.events.load.runs import FolderRuns, runs_address

    settings = read_redshift(os.environ)
    connection, objects, address = RedshiftConnection(**settings.connection), S3Objects(), runs_address(settings.runs)
    runs = FolderRuns(address, objects, settings.since)
    external = _external(FolderRuns(address, objects), connection, objects, settings.external)
    return QueueHandler(Loader(runs, RedshiftEventTables(connection), seconds=SECONDS), external=external)


def _external(
    runs: FolderRuns, connection: RedshiftConnection, objects: S3Objects, names: tuple[str, str, str] | None
) -> ExternalTables | None:
    """Return the external tables over all runs, also those that are not loaded; None where there are to be none."""
    if names is None:
        return None
    from onefold.adapters.glue import GlueCatalog
    from onefold.adapters.redshift.external import SpectrumViews, list_writer
    from onefold.events.load.external import ExternalTables

    views = SpectrumViews(connection, *names)
    return ExternalTables(runs, GlueCatalog(names[0], connection.region), views, list_writer(objects))


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the messages of a batch that the queue has to deliver again."""
    return loader().handle(event)
