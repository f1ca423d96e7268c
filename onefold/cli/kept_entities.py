"""The command `bad-rows from-table`: entities that were kept as JSON become bad rows, which `bad-rows retry` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from onefold.cli.common import OK, as_json, open_warehouse, print_lines, project, read_settings, say
from onefold.cli.load_shredded import TARGETS
from onefold.cli.output import echo_json
from onefold.cli.redshift_options import check_no_redshift, redshift_connection, redshift_options
from onefold.cli.registry_options import open_registries, registries_option
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput
from onefold.core.text import counted, shown_list

if TYPE_CHECKING:
    from onefold.ports.kept_entities import KeptEntities
    from onefold.ports.objects import ObjectWriter


@click.command("from-table")
@click.option("--runs", metavar="URI", help="The folder of the runs.  [default: ONEFOLD_EVENTS_RUNS]")
@registries_option
@click.option("--dataset", metavar="D", help="The dataset of the tables.  [default: ONEFOLD_EVENTS_DATASET]")
@click.option("--target", "to", type=click.Choice(TARGETS), default=TARGETS[0], show_default=True, help="The warehouse.")
@redshift_options
@dry_run_option
@project
@as_json
@click.pass_context
def from_table(
    context: click.Context, /, runs: str | None, registries: tuple[str, ...], dataset: str | None, to: str, dry_run: bool,
    project: str | None, as_json: bool, **redshift: str | None,
) -> int:  # fmt: skip
    """Write the entities of unknown_entities whose schema the registry has now as bad rows, which `bad-rows retry` loads.

    Entities of one run and one schema are in files of fixed names, which are written once and read by one run: nothing is
    loaded twice, however often this command is repeated or killed. The rows of the table stay.
    """
    from onefold.events.load.kept import folders_elsewhere, known_schemas, write_kept

    address = address_of_runs(context, runs)
    if to == "redshift":
        kept = _of_redshift(dataset or project, redshift)
    else:
        check_no_redshift(redshift)
        kept = _of_bigquery(context, project, dataset)
    known = known_schemas(kept, open_registries(context, registries))
    files = list(write_kept(kept, address, known, None if dry_run else _writer(address)))
    if elsewhere := folders_elsewhere(kept, address, known):
        say("yellow", f"Warning: entities of runs in {shown_list(elsewhere)} stay: name each folder by --runs")
    if as_json:
        echo_json([vars(file) for file in files])
        return OK
    words = {True: "would be written" if dry_run else "written", False: "was there already"}
    print_lines(*(f"{file.address}: {file.rows:,} of {file.schema} {words[file.new]}" for file in files), is_whole=True)
    nothing = "no entity of a schema that the registry has now"
    print_lines(f"{counted(len(files), 'file')}: shred them by `onefold bad-rows retry`" if files else nothing)
    return OK


def address_of_runs(context: click.Context, runs: str | None) -> str:
    """Return the folder of runs that a command line or the settings name.

    Raises:
        InvalidInput: neither of them names one.
    """
    from onefold.events.load.runs import runs_address

    runs = runs or read_settings(context).events.runs
    if not runs:
        raise InvalidInput("expected --runs: name the folder, or set ONEFOLD_EVENTS_RUNS")
    return runs_address(runs)


def _of_bigquery(context: click.Context, project: str | None, dataset: str | None) -> KeptEntities:
    """Return the table of a dataset.

    Raises:
        InvalidInput: neither the command line nor the settings name the dataset.
    """
    from onefold.adapters.bigquery.kept_entities import BigQueryKeptEntities

    dataset = dataset or read_settings(context).events.dataset
    if dataset is None:
        raise InvalidInput("expected --dataset: name it, or set ONEFOLD_EVENTS_DATASET")
    _, warehouse = open_warehouse(context, project, dataset, None)
    return BigQueryKeptEntities(warehouse, dataset)


def _of_redshift(of_bigquery: str | None, options: dict[str, str | None]) -> KeptEntities:
    """Return the table of a schema of Redshift.

    Raises:
        InvalidInput: options are missing or not valid, or are for BigQuery.
    """
    from onefold.adapters.redshift.kept_entities import RedshiftKeptEntities

    if of_bigquery:
        raise InvalidInput("expected --dataset and --project for BigQuery only: leave them out")
    return RedshiftKeptEntities(redshift_connection(options))


def _writer(address: str) -> ObjectWriter:
    if address.startswith("s3://"):
        from onefold.adapters.s3 import S3Objects

        return S3Objects()
    from onefold.adapters.objects_at import writable_objects_at

    return writable_objects_at(address.removeprefix("file://"))
