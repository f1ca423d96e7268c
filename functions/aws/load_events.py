"""The Lambda function `onefold-loader`: takes messages about finished runs of the shredder, and loads them into Redshift."""

from __future__ import annotations

import functools
import os
from typing import Any

from onefold.events.load.queue_handler import QueueHandler
from onefold.settings.redshift import read_redshift

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
    warehouse = RedshiftEventTables(RedshiftConnection(**settings.connection))
    runs = FolderRuns(runs_address(settings.runs), S3Objects(), settings.since)
    return QueueHandler(Loader(runs, warehouse, seconds=SECONDS))


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the messages of a batch that the queue has to deliver again."""
    return loader().handle(event)
