"""The command `external-tables`: tables of Redshift Spectrum over the runs that are not loaded, and views over both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from onefold.cli.common import ERROR, OK, as_json, print_lines, say
from onefold.cli.kept_entities import address_of_runs
from onefold.cli.output import echo_json
from onefold.cli.redshift_options import redshift_connection, redshift_options
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput
from onefold.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onefold.events.load.external import ExternalReport, ExternalTables

_ACTIONS = {"create": "new table", "change": "other columns", "none": "as it was"}


@click.command("external-tables")
@click.option("--runs", metavar="URI", help="The folder of the runs.  [default: ONEFOLD_EVENTS_RUNS]")
@click.option("--catalog", metavar="D", help="The database of the Glue Data Catalog.")
@click.option("--external-schema", metavar="S", help="The schema of the external tables.")
@click.option("--view-schema", metavar="S", help="The schema of the views over loaded and external tables.")
@redshift_options
@dry_run_option
@as_json
@click.pass_context
def external_tables(
    context: click.Context, /, runs: str | None, catalog: str | None, external_schema: str | None, view_schema: str | None,
    dry_run: bool, as_json: bool, **redshift: str | None,
) -> int:  # fmt: skip
    """Have Redshift Spectrum read the runs that are not loaded, and bring views over loaded and external tables up to date.

    Each finished run in Parquet is a partition of an external table in the Glue Data Catalog. A view has the rows of the
    loaded table, and of the runs that the manifest table does not list as loaded. Running the command twice changes nothing,
    whoever loads at the same time.
    """
    address = address_of_runs(context, runs)
    names = {"catalog": catalog, "external-schema": external_schema, "view-schema": view_schema}
    reports = list(_tables(address, names, redshift).bring(dry_run=dry_run))
    if as_json:
        echo_json([report.as_dict() for report in reports])
    else:
        _print(reports, dry_run=dry_run)
    return ERROR if any(report.error for report in reports) else OK


def _tables(runs: str, names: dict[str, str | None], redshift: dict[str, str | None]) -> ExternalTables:
    """Return the external tables of a command line.

    Raises:
        InvalidInput: options are missing or not valid; the error lists all of them.
    """
    from onefold.adapters.glue import GlueCatalog
    from onefold.adapters.redshift.external import SpectrumViews, list_writer
    from onefold.adapters.s3 import S3Objects
    from onefold.events.load.external import ExternalTables
    from onefold.events.load.runs import FolderRuns

    problems = [f"expected --{name}: name it" for name, value in names.items() if not value]
    problems += [] if runs.startswith("s3://") else [f"--runs {runs}: expected runs in S3, which Redshift reads"]
    try:
        connection = redshift_connection(redshift)
    except InvalidInput as error:
        raise InvalidInput([*problems, *error.problems]) from error
    if problems:
        raise InvalidInput(problems)
    catalog, external, views = (value or "" for value in names.values())
    objects = S3Objects()
    spectrum = SpectrumViews(connection, catalog, external, views)
    return ExternalTables(FolderRuns(runs, objects), GlueCatalog(catalog, connection.region), spectrum, list_writer(objects))


def _print(reports: Sequence[ExternalReport], *, dry_run: bool) -> None:
    for report in reports:
        if report.error:
            for line in str(report.error).splitlines():
                say("red", f"Error: {report.name}: {line}")
        else:
            runs = counted(len(report.added), "run")
            print_lines(f"{report.name}: {_ACTIONS[report.action]}, {runs} added", is_whole=True)
    would = "would be " if dry_run else ""
    print_lines(f"{counted(sum(report.is_news for report in reports), 'external table')} {would}changed")
