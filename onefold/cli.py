"""The command line. Every command is a thin call into the library.

Exit codes: 0 nothing to do, or done; 1 an error, wrong usage included; 2 there are changes to make.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.progress import Progress

from onefold import __version__
from onefold.columns_file import read_columns
from onefold.errors import NothingFound, OnefoldError
from onefold.names import TableId, check_names
from onefold.settings import Settings, load_settings
from onefold.versions import in_order
from onefold.view import build_view, limit_faults, limit_warnings

OK, ERROR, CHANGES = 0, 1, 2

_stderr = Console(stderr=True, highlight=False, soft_wrap=True)

EPILOG = "Exit codes: 0 nothing to do, or done; 1 an error, wrong usage included; 2 there are changes to make."

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
project = click.option("--project", metavar="P", help="The project.  [default: ONEFOLD_PROJECT, GOOGLE_CLOUD_PROJECT]")


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onefold")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The settings of tables.  [default: ONEFOLD_CONFIG, onefold.yaml where there is one]",
)
@click.pass_context
def cli(context: click.Context, config: Path | None) -> None:
    """Onefold: every version of every table, as one.

    Versioned tables (customer_v_abc, customer_v_def) become one view (customer_unified) that holds every row of each,
    with columns united by name and types reconciled.
    """
    context.obj = config


@cli.command()
@click.argument("table")
@click.option(
    "--columns",
    "columns",
    metavar="FILE",
    required=True,
    type=click.File("rb"),
    help="Rows of INFORMATION_SCHEMA.COLUMNS as a JSON array or JSON lines; - is standard input.",
)
@click.option("--dataset", metavar="D", help="The dataset of the versioned tables.")
@project
@click.option("--ddl", is_flag=True, help="Print the whole statement, leaf views included.")
@as_json
@click.pass_context
def render(
    context: click.Context, table: str, columns: Any, dataset: str | None, project: str | None, ddl: bool, as_json: bool
) -> int:
    """Print the query of TABLE's unified view. No warehouse is needed.

    FILE has the columns table_name, column_name, ordinal_position and data_type, optionally creation_time and is_hidden.
    Without creation_time, versions are in the order of the file.
    """
    from onefold.show import view_as_dict

    if ddl and as_json:
        raise click.UsageError("Say --ddl or --json, not both.")
    if ddl and not dataset:
        raise click.UsageError("--ddl names the view, and for that it needs --dataset.")
    if project and not dataset:
        raise click.UsageError("--project needs --dataset.")
    check_names([("table", table), *_given(("dataset", dataset), ("project", project))])
    settings = _settings(context)
    base = TableId(project, dataset, table)
    versions = in_order(read_columns(_text(columns), table), settings.rules_for(base))
    if not versions:
        raise NothingFound(f"{_name(columns)}: no rows of a table named {table}_v_<letters and digits>")
    view = build_view(settings.view_of(base), base, versions, settings.rules_for(base))
    for warning in [*limit_faults(view), *limit_warnings(view)]:
        _say("yellow", f"Warning: {warning}")
    if view.leaves and not ddl and not as_json:
        _say("yellow", f"This view reads {len(view.leaves)} leaf views; print them with --ddl or --json.")
    click.echo(json.dumps(view_as_dict(view)) if as_json else view.ddl if ddl else view.query)
    return OK


@cli.command()
@click.argument("dataset")
@click.argument("table", required=False)
@project
@as_json
@click.pass_context
def plan(context: click.Context, dataset: str, table: str | None, project: str | None, as_json: bool) -> int:
    """Show what a refresh of TABLE, or of all tables of DATASET, would change, and why.

    Writes nothing. Exits with 2 where there are changes to make.
    """
    from onefold.refresh import plan_refresh
    from onefold.show import plan_as_dict, show_plan

    settings, warehouse = _connect(context, project, dataset, table)
    plans, failed = _each(warehouse, dataset, table, lambda base: plan_refresh(warehouse, base, settings), progress=False)
    if as_json:
        click.echo(json.dumps([plan_as_dict(plan) for plan in plans]))
    else:
        for one in plans:
            show_plan(Console(), one)
    changed = any(one.action != "none" for one in plans)
    return ERROR if failed else CHANGES if changed else OK


@cli.command()
@click.argument("dataset")
@click.argument("table", required=False)
@click.option("--all", "all_", is_flag=True, help="All tables of the dataset.")
@click.option("--prune", is_flag=True, help="Remove the view where no version is left.")
@project
@as_json
@click.pass_context
def refresh(
    context: click.Context, dataset: str, table: str | None, all_: bool, prune: bool, project: str | None, as_json: bool
) -> int:
    """Bring the view of TABLE, or of --all tables of DATASET, up to date."""
    from onefold import deliveries, pubsub
    from onefold.refresh import refresh as refresh_view
    from onefold.show import plan_as_dict

    if all_ == bool(table):
        raise click.UsageError("Name a TABLE, or say --all.")
    if prune and all_:
        raise click.UsageError("--prune removes the view of one TABLE; name it.")
    settings, warehouse = _connect(context, project, dataset, table)
    publisher = pubsub.PubSub(warehouse.project)

    def work(base: TableId) -> Any:
        announce = lambda made: deliveries.announce(publisher, settings, made)  # noqa: E731
        return refresh_view(warehouse, base, settings, prune=prune, announce=announce)

    plans, failed = _each(warehouse, dataset, table, work, progress=all_ and not as_json)
    if as_json:
        click.echo(json.dumps([plan_as_dict(plan) for plan in plans]))
    else:
        for one in plans:
            _say_done(one)
    return ERROR if failed else OK


@cli.command()
@click.argument("dataset")
@click.argument("table")
@click.argument("version")
@click.option("--to", metavar="URL", help="Send a CloudEvent straight to a local function instead of publishing.")
@click.option("--topic", metavar="T", help="The topic.  [default: ONEFOLD_TOPIC_TABLE_CREATED, table-created]")
@project
@as_json
@click.pass_context
def publish(
    context: click.Context,
    dataset: str,
    table: str,
    version: str,
    to: str | None,
    topic: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Say that VERSION of TABLE is new: a test message, to Pub/Sub or its emulator (PUBSUB_EMULATOR_HOST)."""
    from onefold.events import table_message
    from onefold.local.events import send_event
    from onefold.pubsub import Message, PubSub

    check_names([("dataset", dataset), ("table", table), ("version", version), *_given(("project", project))])
    data = table_message(dataset, table, version)
    if to:
        identifier = send_event(to, data)
    else:
        settings = _settings(context)
        name = project or settings.project
        if not name:
            raise click.UsageError("Say --project, or set ONEFOLD_PROJECT.")
        topic = topic or settings.topic_table_created or "table-created"
        identifier = PubSub(name).publish(topic, [Message(data)])[0]
    if as_json:
        click.echo(json.dumps({"id": identifier, "message": json.loads(data)}))
    else:
        click.echo(f"sent to {to or topic} as {identifier}: {data.decode()}")
    return OK


@cli.command()
def demo() -> int:
    """Show the main job on this machine: an embedded BigQuery, the real function, two test messages, a real history."""
    from onefold.local.demo import run_demo

    try:
        run_demo(Console())
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error.name} is missing: pip install 'onefold[local]'") from error
    return OK


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: errors as one clear text, and the documented exit codes."""
    try:
        sys.exit(cli.main(args=arguments, prog_name="onefold", standalone_mode=False) or OK)
    except click.exceptions.Abort:
        _say("red", "Interrupted.")
    except click.ClickException as error:
        error.show()
    except OnefoldError as error:
        for line in str(error).splitlines():
            _say("red", f"Error: {line}")
    sys.exit(ERROR)


def _settings(context: click.Context) -> Settings:
    return load_settings(os.environ, context.obj)


def _connect(context: click.Context, project: str | None, dataset: str, table: str | None) -> tuple[Settings, Any]:
    from onefold.bigquery import connect

    check_names([("dataset", dataset), *_given(("table", table), ("project", project))])
    settings = _settings(context)
    return settings, connect(project or settings.project)


def _text(file: Any) -> str:
    try:
        return str(file.read().decode())
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{_name(file)} is not UTF-8 text: {error}") from error


def _name(file: Any) -> str:
    return str(getattr(file, "name", "-"))


def _given(*named: tuple[str, str | None]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in named if name is not None]


def _each(
    warehouse: Any, dataset: str, table: str | None, work: Callable[[TableId], Any], progress: bool
) -> tuple[list[Any], bool]:
    """Work on one table, or on all; each failure is told, and none keeps the others from being done."""
    tables = [table] if table else list(warehouse.list_bases(dataset))
    if not tables:
        raise NothingFound(f"dataset {warehouse.project}.{dataset} has no versioned tables (NAME_v_<letters and digits>)")
    results, failed = [], False
    with Progress(console=_stderr, disable=not progress) as bar:
        for name in bar.track(tables, description=f"refreshing {dataset}"):
            try:
                results.append(work(TableId(warehouse.project, dataset, name)))
            except OnefoldError as error:
                failed = True
                for line in str(error).splitlines():
                    _say("red", f"Error: {name}: {line}")
    return results, failed


def _say_done(plan: Any) -> None:
    from onefold.show import show_changes

    done = {"none": "is up to date", "create": "created", "update": "updated", "remove": "removed"}[plan.action]
    view = plan.view.id if plan.view else plan.stored.id
    console = Console()
    console.print(f"{view} {done}", highlight=False, soft_wrap=True)
    show_changes(console, plan.changes)


def _say(colour: str, text: str) -> None:
    _stderr.print(text, style=colour, markup=False)
