"""The commands `render`, `plan` and `refresh` for unified views, and `publish` for a test message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from onefold.cli.common import (
    CHANGES,
    ERROR,
    OK,
    Failure,
    accept_settings,
    announcing,
    as_json,
    each,
    given,
    open_warehouse,
    project,
    raise_problems,
    read_settings,
    say,
)
from onefold.core.errors import NotFound
from onefold.core.names import TableId, check_names, problems_of_name
from onefold.core.text import counted
from onefold.core.versioned_names import SkippedTable, VersionedNames
from onefold.schema.information_schema import read_columns
from onefold.schema.versions import active_versions
from onefold.settings.environment import Settings
from onefold.views.limits import limit_problems
from onefold.views.unified_view import UnifiedView, build_view


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
@click.option("--project", metavar="P", help="The project of the dataset.  [default: none, names stay unqualified]")
@click.option("--ddl", is_flag=True, help="Print the whole CREATE statement, leaf views included.")
@as_json
@click.pass_context
def render(
    context: click.Context, table: str, columns: Any, dataset: str | None, project: str | None, ddl: bool, as_json: bool
) -> int:
    """Print the query of TABLE's unified view. No warehouse is needed.

    FILE has the columns table_name, column_name, ordinal_position and data_type, optionally creation_time, is_hidden and
    table_type. Without creation_time, versions keep the order of the file.
    """
    from onefold.views.display import view_as_dict

    _refuse(ddl and as_json, "--ddl and --json exclude each other: leave one out.")
    _refuse(ddl and not dataset, "--ddl needs --dataset for the name of the view.")
    _refuse(bool(project) and not dataset, "--project needs --dataset.")
    check_names([("table", table), *given(("dataset", dataset), ("project", project))])
    view = _built(columns, TableId(project, dataset, table), read_settings(context))
    _warn(view, leaves=not ddl and not as_json)
    click.echo(json.dumps(view_as_dict(view)) if as_json else view.ddl if ddl else view.query)
    return OK


@click.command()
@click.argument("dataset")
@click.argument("table", required=False)
@click.option("--prune", is_flag=True, help="Plan to remove the view if no version is left.")
@project
@as_json
@click.pass_context
def plan(context: click.Context, dataset: str, table: str | None, prune: bool, project: str | None, as_json: bool) -> int:
    """Show what a refresh of TABLE, or of all tables of DATASET, would change, and why, and which tables are left out.

    Writes nothing. Exits with 2 if there are changes to make.
    """
    from onefold.views.display import show_left_out, show_plan
    from onefold.views.refresh import plan_refresh

    _refuse(prune and not table, "--prune removes the view of one table: name TABLE.")
    settings, warehouse = open_warehouse(context, project, dataset, table)
    names = settings.names_in(dataset)
    left_out = [left for left in _left_out(warehouse, dataset, names) if table in (None, left.base)]
    if not as_json:
        show_left_out(Console(), dataset, left_out)

    def work(base: TableId) -> Any:
        made = plan_refresh(warehouse, base, settings, prune=prune)
        if not as_json:  # print each plan at once: a dataset may have thousands of tables
            show_plan(Console(), made)
            if not table:
                click.echo()
        return made

    results = each(warehouse, dataset, table, names, work, progress=False)
    if as_json:
        click.echo(json.dumps(_plans_as_dicts(warehouse.project, dataset, results, left_out)))
    changed = any(not isinstance(result, Failure) and result.action != "none" for result in results)
    return ERROR if any(isinstance(result, Failure) for result in results) else CHANGES if changed else OK


@click.command()
@click.argument("dataset")
@click.argument("table", required=False)
@click.option("--all", "all_", is_flag=True, help="All tables of the dataset.")
@click.option("--prune", is_flag=True, help="Remove the view if no version is left.")
@accept_settings
@project
@as_json
@click.pass_context
def refresh(
    context: click.Context, dataset: str, table: str | None, all_: bool, prune: bool, project: str | None, as_json: bool
) -> int:
    """Bring the view of TABLE, or of --all tables of DATASET, up to date."""
    from onefold.views.refresh import refresh as refresh_view

    _refuse(all_ == bool(table), "Expected one of TABLE and --all: name a table, or add --all.")
    _refuse(prune and all_, "--prune removes the view of one table: name TABLE.")
    settings, warehouse = open_warehouse(context, project, dataset, table)
    announce = announcing(warehouse.project, settings)

    def work(base: TableId) -> Any:
        return refresh_view(warehouse, base, settings, prune=prune, announce=announce)

    results = each(warehouse, dataset, table, settings.names_in(dataset), work, progress=all_ and not as_json)
    if as_json:
        _echo_json(results)
    else:
        for result in results:
            if not isinstance(result, Failure):
                _show_done(result)
    return ERROR if any(isinstance(result, Failure) for result in results) else OK


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
    """Publish a test message that VERSION of TABLE is new, to Pub/Sub or its emulator (PUBSUB_EMULATOR_HOST)."""
    from onefold.adapters.pubsub import PubSub
    from onefold.local.send_event import send_event
    from onefold.messages.table_created import table_message
    from onefold.ports.publisher import Message

    settings = read_settings(context)
    name = project or settings.project or ""
    problems = _version_problems(settings, dataset, table, version)
    problems += [problem for kind, text in given(("project", project)) for problem in problems_of_name(kind, text)]
    if not to and not name:
        problems.append("the project is missing: name it with --project, or set ONEFOLD_PROJECT")
    raise_problems(problems)
    data = table_message(dataset, table, version)
    if to:
        identifier = send_event(to, data)
    else:
        topic = topic or settings.topic_table_created or "table-created"
        identifier = PubSub(name).publish(topic, [Message(data)])[0]
    if as_json:
        click.echo(json.dumps({"id": identifier, "message": json.loads(data)}))
    else:
        click.echo(f"sent to {to or topic} as {identifier}: {data.decode()}")
    return OK


def _refuse(invalid: bool, text: str) -> None:
    """Refuse a combination of options.

    Raises:
        UsageError: `invalid` is True.
    """
    if invalid:
        raise click.UsageError(text)


def _version_problems(settings: Settings, dataset: str, table: str, version: str) -> list[str]:
    """Return why the functions would refuse a message about a version of a table."""
    named = (("dataset", dataset), ("table", table), ("version", version))
    problems = [problem for kind, text in named for problem in problems_of_name(kind, text)]
    return problems or settings.names_in(dataset).problems(table, version)


def _built(columns: Any, base: TableId, settings: Settings) -> UnifiedView:
    """Build the view from a file of columns.

    Raises:
        NotFound: the file has no version of the table, or all versions are retired.
    """
    rules = settings.rules_for(base)
    found = read_columns(_text(columns), base.table, rules.names)
    if not found:
        advice = rules.names.base_name_hint(base.table) or "check TABLE and the file"
        raise NotFound(f"{_name(columns)}: no rows of a table named {rules.names.versions_pattern(base.table)}: {advice}")
    versions = active_versions(found, rules)
    if not versions:
        raise NotFound(
            f"{_name(columns)}: all {len(found)} versions of {base.table} are retired: keep one of them in onefold.yaml"
        )
    return build_view(settings.view_of(base), base, versions, rules)


def _warn(view: UnifiedView, leaves: bool) -> None:
    from onefold.views.display import size_warnings

    for warning in [*limit_problems(view), *size_warnings(view)]:
        say("yellow", f"Warning: {warning}")
    if view.leaves and leaves:
        say("yellow", f"This view reads {counted(len(view.leaves), 'leaf view')}; print them with --ddl or --json.")


def _left_out(warehouse: Any, dataset: str, names: VersionedNames) -> tuple[SkippedTable, ...]:
    try:
        return names.skipped(warehouse.list_tables(dataset))
    except NotFound:  # the plan reports that the dataset does not exist
        return ()


def _plans_as_dicts(
    project: str, dataset: str, results: list[Any], left_out: Sequence[SkippedTable]
) -> list[dict[str, Any]]:
    """Return plans and failures for programs, each with the tables of its base name that were left out.

    A base name all of whose tables are left out has an entry of its own, with the action `none`.
    """
    from onefold.views.display import plan_as_dict

    by_base: dict[str, list[dict[str, str]]] = {}
    for left in left_out:
        by_base.setdefault(left.base, []).append(left.as_dict())
    entries = []
    for result in results:
        failed = isinstance(result, Failure)
        base, entry = (result.table, result.as_dict()) if failed else (result.base, plan_as_dict(result))
        entries.append({**entry, "left_out": by_base.pop(base.table, [])})
    for base_name, tables in by_base.items():
        unused = {"table": str(TableId(project, dataset, base_name)), "action": "none", "reasons": [], "changes": []}
        entries.append({**unused, "left_out": tables})
    return entries


def _echo_json(results: list[Any]) -> None:
    from onefold.views.display import plan_as_dict

    click.echo(json.dumps([one.as_dict() if isinstance(one, Failure) else plan_as_dict(one) for one in results]))


def _text(file: Any) -> str:
    """Read a file as UTF-8.

    Raises:
        ClickException: the file is not UTF-8.
    """
    try:
        return str(file.read().decode())
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{_name(file)} is not UTF-8 text: {error}. Save it as UTF-8") from error


def _name(file: Any) -> str:
    return str(getattr(file, "name", "-"))


def _show_done(plan: Any) -> None:
    from onefold.views.display import show_changes

    for warning in plan.warnings:
        say("yellow", f"Warning: {plan.base.table}: {warning}")
    if not plan.view and not plan.stored:
        click.echo(f"{plan.base}: nothing to remove")
        return
    done = {"none": "is up to date", "create": "created", "update": "updated", "remove": "removed"}[plan.action]
    view = plan.view.id if plan.view else plan.stored.id
    console = Console()
    console.print(f"{view} {done}", highlight=False, soft_wrap=True)
    show_changes(console, plan.changes)
