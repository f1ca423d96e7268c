<<<<<<< HEAD
"""The loads of a batch: the tables of one dataset, in BigQuery or in its emulator."""

from __future__ import annotations

from onefold.adapters.bigquery.load_jobs import load_jobs_in
from onefold.adapters.bigquery.storage_write import landing_in
from onefold.adapters.connect import connect
from onefold.adapters.pubsub_rest import RestPublisher
from onefold.core.errors import InvalidSettings
=======
"""The loads of a dataset, with BigQuery or its emulator behind them."""

from __future__ import annotations

from collections.abc import Callable

from onefold.adapters.bigquery.load_jobs import load_jobs_in
from onefold.adapters.bigquery.storage_write import landing_in
from onefold.adapters.connect import connect
from onefold.extract.part import Destination
>>>>>>> i13q
from onefold.load.day_rows import QueriedDays
from onefold.load.deletion_files import StoredDeletions
from onefold.load.log_store import LoadLog
from onefold.load.run import TableLoads
from onefold.load.tables import Announcements
from onefold.ports.publisher import Publisher
from onefold.settings.environment import Settings
<<<<<<< HEAD
from onefold.spark.extract.job import destination_of


def loads_of(settings: Settings, dataset: str, publisher: Publisher | None = None) -> TableLoads:
    """Return the loads of the pulled tables of a dataset.

    Args:
        settings: those of the installation.
        dataset: of the tables.
        publisher: publishes messages about new tables; Pub/Sub by default.

    Raises:
        InvalidSettings: no topic for new tables, or no folder of files is set.
    """
    if settings.topic_table_created is None:
        raise InvalidSettings(["ONEFOLD_TOPIC_TABLE_CREATED is not set: nobody would learn of a new version"])
    warehouse = connect(settings.project)
    jobs = load_jobs_in(warehouse)
    log = LoadLog(warehouse, landing_in(warehouse), dataset)
    announcements = Announcements(warehouse, publisher or RestPublisher(warehouse.project), settings.topic_table_created)
    deletions = StoredDeletions(destination_of(settings))
    return TableLoads(announcements, jobs, log, lambda base: QueriedDays(warehouse, jobs, base), deletions)
=======

_TOPIC = "table-created"


def loads_of(settings: Settings, dataset: str, to: Destination, publisher_of: Callable[[str], Publisher]) -> TableLoads:
    """Return the loads of the tables of a dataset.

    Args:
        settings: those of the installation.
        dataset: the dataset.
        to: the folder of the pull's files, where files of deletions go, too.
        publisher_of: returns the publisher of announcements, for a project.
    """
    warehouse = connect(settings.project)
    jobs = load_jobs_in(warehouse)
    announcements = Announcements(warehouse, publisher_of(warehouse.project), settings.topic_table_created or _TOPIC)
    return TableLoads(
        announcements,
        jobs,
        LoadLog(warehouse, landing_in(warehouse), dataset),
        lambda base: QueriedDays(warehouse, jobs, base),
        StoredDeletions(to),
    )
>>>>>>> i13q
