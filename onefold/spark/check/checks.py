"""The checks of a database, with BigQuery or its emulator behind them. Nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Callable

import pymysql

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import load_jobs_for, row_writer_for
from onefold.capture.copy_mailbox import CopyMailbox, NoMailbox
from onefold.check.arrivals import Arrivals
from onefold.check.by_copy import CopyRepairer
from onefold.check.counting import RowCounter
from onefold.check.exact import ChunkComparer
from onefold.check.in_memory import MemoryComparer
from onefold.check.inspect import Inspector
from onefold.check.log import CheckLog
from onefold.check.repair import Repairer
from onefold.check.request import CheckRequest
from onefold.check.run import Checks
from onefold.check.same_chunk import ChunkDigests
from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.pull.load.deletion_files import StoredDeletions
from onefold.pull.read.part import FileDestination
from onefold.pull.read.present_rows import SourceRows
from onefold.pull.read.pull import Reader
from onefold.pull.read.pulled import Loads
from onefold.settings.environment import Settings
from onefold.views.plain import with_plain_tables


def checks_of(
    request: CheckRequest,
    settings: Settings,
    connect: Callable[[], pymysql.Connection],
    reader: Reader,
    to: FileDestination,
    warehouse: BigQueryWarehouse,
    loads: Loads,
    columns: LandingRules = NO_RULES,
    mailbox: CopyMailbox | None = None,
) -> Checks:
    """Return the checks of a database.

    Args:
        request: what was asked for.
        settings: those of the installation.
        connect: opens a connection to the source.
        reader: reads ranges of keys into files.
        to: where these files go.
        warehouse: where the views are.
        loads: the loads of the tables, which a repair uses.
        columns: the rules of columns of a captured source.
        mailbox: takes requests for copies of its tables; None where it is not known where.
    """
    settings = with_plain_tables(warehouse, request.captured, settings) if request.captured else settings
    jobs = load_jobs_for(warehouse)
    inspector = Inspector(request, settings.sources[request.source], settings, warehouse, loads, columns)
    comparer = ChunkComparer(connect, reader, jobs, warehouse, to)
    # A key that ends with this process: a hash in a finding says whether two values are equal, and nothing else.
    return Checks(
        inspector, connect, ChunkDigests(connect, warehouse), comparer, MemoryComparer(connect, warehouse),
        RowCounter(connect, to, comparer), Arrivals(warehouse, settings.names_in),
        Repairer(warehouse, loads, jobs, StoredDeletions(to), to, SourceRows(connect)),
        CheckLog(warehouse, row_writer_for(warehouse), inspector.log_dataset, request), HashKey.new(),
        CopyRepairer(mailbox or NoMailbox()),
    )  # fmt: skip
