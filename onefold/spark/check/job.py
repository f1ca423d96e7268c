"""The job that checks the tables of a database: settings, connections, and the check itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pymysql

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.capture_keys import read_capture_key
from onefold.adapters.connect import connect as connect_warehouse
from onefold.adapters.gcs import GcsObjects
from onefold.adapters.secrets import read_password
from onefold.batches.source_arguments import CheckArguments
from onefold.capture.copy_mailbox import open_mailbox
from onefold.check.report import CheckReport
from onefold.check.request import CheckRequest
from onefold.check.run import first_line
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.ports.publisher import Publisher
from onefold.pull.read.connection import connect_source
from onefold.pull.read.part import FileDestination
from onefold.pull.read.pull import Reader
from onefold.settings.environment import Settings
from onefold.settings.sources import Source
from onefold.spark.check.checks import checks_of
from onefold.spark.pull.loads import loads_of
from onefold.spark.pull.places import destination_of, source_of

ReaderOf = Callable[[Source, str, Callable[[], pymysql.Connection], FileDestination], Reader]
"""Returns the reader: of the source, its password, a function that opens connections, and where files go."""


def check(
    arguments: CheckArguments,
    settings: Settings,
    environ: Mapping[str, str],
    reader_of: ReaderOf,
    publisher_of: Callable[[str], Publisher],
    failure: Callable[[BaseException], str] = first_line,
    dry_run: bool = False,
) -> CheckReport:
    """Check the tables of a database that the arguments name.

    Args:
        arguments: those of the job.
        settings: those of the installation.
        environ: the environment, which may hold the password.
        reader_of: returns the reader of ranges of keys.
        publisher_of: returns the publisher of announcements, for a project.
        failure: returns an unexpected error of a table as one line.
        dry_run: report which tables would be compared, and compare none.

    Raises:
        InvalidInput: the source or the database is none of onefold.yaml, or there is no key where capture hashes columns.
        InvalidSettings: no folder of files is set.
        Rejected: the password, or the key of hashes, cannot be read.
        NotFound: the database has no such table.
    """
    source, to = source_of(settings, arguments.source, arguments.database), destination_of(settings)
    password = read_password(source.password, environ)

    def connect() -> pymysql.Connection:
        return connect_source(source, password)

    reader = reader_of(source, password, connect, to)
    loads = loads_of(settings, arguments.dataset, to, publisher_of)
    warehouse = connect_warehouse(settings.project)
    columns = rules_of(arguments, settings, warehouse, environ)
    request = CheckRequest(**vars(arguments), at=datetime.now(UTC))
    checkpoint = settings.batch.checkpoints.get(arguments.tenant_name) if arguments.captured else None
    mailbox = open_mailbox(checkpoint, GcsObjects()) if checkpoint else None
    checks = checks_of(request, settings, connect, reader, to, warehouse, loads, columns, mailbox)
    return checks.look() if dry_run else replace(checks, failure=failure).run()


def rules_of(
    arguments: CheckArguments, settings: Settings, warehouse: BigQueryWarehouse, environ: Mapping[str, str]
) -> LandingRules:
    """Return the rules of columns under which the database is captured, with the key of the hashes.

    Args:
        arguments: those of the job.
        settings: those of the installation.
        warehouse: has the key of the clean views.
        environ: the environment, which may hold the key.

    Raises:
        InvalidInput: there is no key where columns are hashed.
        Rejected: the key cannot be read.
    """
    source = arguments.tenant_name
    found = settings.captures.get(source)
    if arguments.captured is None or found is None:
        return NO_RULES
    return LandingRules(found.rules, read_capture_key(source, arguments.captured, settings, warehouse, environ))
