"""The loads of a dataset, with BigQuery or its emulator behind them."""

from __future__ import annotations

from collections.abc import Callable

from onefold.adapters.connect import connect, load_jobs_for, row_appender_for, row_writer_for
from onefold.ports.publisher import Publisher
from onefold.pull.load.day_rows import QueriedDays
from onefold.pull.load.deletion_files import StoredDeletions
from onefold.pull.load.log_store import LoadLog
from onefold.pull.load.run import TableLoads
from onefold.pull.load.small_appends import SmallAppends
from onefold.pull.load.tables import Announcements
from onefold.pull.read.part import FileDestination
from onefold.pull.read.pulled import Loads
from onefold.settings.environment import Settings

_TOPIC = "table-created"


def loads_of(settings: Settings, dataset: str, to: FileDestination, publisher_of: Callable[[str], Publisher]) -> Loads:
    """Return the loads of the tables of a dataset.

    Args:
        settings: those of the installation.
        dataset: the dataset.
        to: the folder of the pull's files, where files of deletions go, too.
        publisher_of: returns the publisher of announcements, for a project.
    """
    warehouse = connect(settings.project)
    jobs = load_jobs_for(warehouse)
    appender = row_appender_for(warehouse)
    announcements = Announcements(warehouse, publisher_of(warehouse.project), settings.topic_table_created or _TOPIC)
    return TableLoads(
        announcements,
        jobs,
        LoadLog(warehouse, row_writer_for(warehouse), dataset),
        lambda base: QueriedDays(warehouse, jobs, base),
        StoredDeletions(to),
        small=SmallAppends(to.store, appender) if appender else None,
    )
