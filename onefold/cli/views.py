"""The commands of unified views: render, plan, refresh, publish."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from onefold.cli.common import CHANGES, ERROR, OK, as_json, each, given, open_warehouse, project, read_settings, say
from onefold.columns_file import read_columns
from onefold.errors import NothingFound
from onefold.names import TableId, check_names
from onefold.versions import in_order
from onefold.view import build_view, limit_faults, limit_warnings


@click.command()
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
    check_names([("table", table), *given(("dataset", dataset), ("project", project))])
    settings = read_settings(context)
    base = TableId(project, dataset, table)
    versions = in_order(read_columns(_text(columns), table), settings.rules_for(base))
    if not versions:
        raise NothingFound(f"{_name(columns)}: no rows of a table named {table}_v_<letters and digits>")
    view = build_view(settings.view_of(base), base, versions, settings.rules_for(base))
    for warning in [*limit_faults(view), *limit_warnings(view)]:
        say("yellow", f"Warning: {warning}")
    if view.leaves and not ddl and not as_json:
        say("yellow", f"This view reads {len(view.leaves)} leaf views; print them with --ddl or --json.")
    click.echo(json.dumps(view_as_dict(view)) if as_json else view.ddl if ddl else view.query)
    return OK


@click.command()
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

    settings, warehouse = open_warehouse(context, project, dataset, table)
    plans, failed = each(warehouse, dataset, table, lambda base: plan_refresh(warehouse, base, settings), progress=False)
    if as_json:
        click.echo(json.dumps([plan_as_dict(plan) for plan in plans]))
    else:
        for one in plans:
            show_plan(Console(), one)
    changed = any(one.action != "none" for one in plans)
    return ERROR if failed else CHANGES if changed else OK


@click.command()
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
    settings, warehouse = open_warehouse(context, project, dataset, table)
    publisher = pubsub.PubSub(warehouse.project)

    def work(base: TableId) -> Any:
        announce = lambda made: deliveries.announce(publisher, settings, made)  # noqa: E731
        return refresh_view(warehouse, base, settings, prune=prune, announce=announce)

    plans, failed = each(warehouse, dataset, table, work, progress=all_ and not as_json)
    if as_json:
        click.echo(json.dumps([plan_as_dict(plan) for plan in plans]))
    else:
        for one in plans:
            _say_done(one)
    return ERROR if failed else OK


@click.command()
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

    check_names([("dataset", dataset), ("table", table), ("version", version), *given(("project", project))])
    data = table_message(dataset, table, version)
    if to:
        identifier = send_event(to, data)
    else:
        settings = read_settings(context)
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


def _text(file: Any) -> str:
    try:
        return str(file.read().decode())
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{_name(file)} is not UTF-8 text: {error}") from error


def _name(file: Any) -> str:
    return str(getattr(file, "name", "-"))


def _say_done(plan: Any) -> None:
    from onefold.show import show_changes

    done = {"none": "is up to date", "create": "created", "update": "updated", "remove": "removed"}[plan.action]
    view = plan.view.id if plan.view else plan.stored.id
    console = Console()
    console.print(f"{view} {done}", highlight=False, soft_wrap=True)
    show_changes(console, plan.changes)
