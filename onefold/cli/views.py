"""The commands `render`, `plan` and `refresh` for unified views, and `publish` for a test message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from onefold.cli.common import (
    ERROR,
    OK,
    Failure,
    accept_settings,
    announcing,
    as_json,
    given,
    open_warehouse,
    project,
    read_settings,
    say,
)
from onefold.cli.common_options import DATASET
from onefold.cli.confirm import confirm, yes_option
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json, is_quiet, is_verbose, output_console
from onefold.cli.plan_findings import exit_code, fail_on_option, github_option, show_in_github
from onefold.cli.recording import recording
from onefold.cli.table_arguments import (
    all_option,
    dry_run_option,
    named_tables,
    project_of,
    selected,
    table_argument,
)
from onefold.cli.view_reports import (
    Checked,
    check,
    echo_plans,
    show_done,
    show_text_taken_over,
    summary,
    work_on,
)
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import TableId, check_names
from onefold.core.text import counted, shown_list
from onefold.refresh.built_view import BuiltView
from onefold.refresh.kind import ViewKind
from onefold.refresh.limits import limit_problems
from onefold.schema.information_schema import read_columns
from onefold.schema.versions import active_versions
from onefold.settings.environment import Settings
from onefold.views.unified_view import build_view

take_over_option = click.option(
    "--take-over", is_flag=True, help="Replace views that Onefold did not write, after their text is printed."
)


@click.command()
@click.argument("table", metavar="[DATASET.]TABLE")
@click.option(
    "--columns",
    "columns",
    metavar="FILE",
    required=True,
    type=click.File("rb"),
    help="Rows of INFORMATION_SCHEMA.COLUMNS as a JSON array or JSON lines; - is standard input.",
)
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
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
    from onefold.refresh.display import view_as_dict

    if "." in table:
        (named,) = named_tables([table], None, context.command_path)
        dataset, table, project = named.dataset, named.name, project_of(named, project)
    _refuse(ddl and as_json, "--ddl and --json exclude each other: leave one out.")
    _refuse(ddl and not dataset, "--ddl needs --dataset for the name of the view.")
    _refuse(bool(project) and not dataset, "--project needs --dataset.")
    check_names([("table", table), *given(("dataset", dataset), ("project", project))])
    view = _built(columns, TableId(project, dataset, table), read_settings(context))
    _warn(view, leaves=not ddl and not as_json)
    if as_json:
        echo_json([view_as_dict(view)])
    else:
        click.echo(view.ddl if ddl else view.query)
    return OK


@click.command()
@table_argument
@click.option("--prune", is_flag=True, help="Plan to remove views that have no version left.")
@click.option("--sql", is_flag=True, help="Show the difference of each view's text.")
@take_over_option
@fail_on_option
@github_option
@project
@as_json
@click.pass_context
def plan(
    context: click.Context,
    named: NamedTables,
    prune: bool,
    sql: bool,
    take_over: bool,
    fail_on: str | None,
    github: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Show what a refresh of tables, or of all tables of --dataset, would change, and why, and which tables are left out.

    Writes nothing. Exits with 2 if there are changes to make. Views that are up to date take one line each; --verbose shows
    all about them.
    """
    from onefold.refresh.display import show_left_out, show_plan, show_warnings
    from onefold.refresh.write import plan_refresh
    from onefold.views.unified_kind import UnifiedKind

    _refuse(github and as_json, "--github and --json exclude each other: leave one out.")
    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    settings = replace(settings, keep_view_settings=False)  # what is not written may have other settings
    checked = check(warehouse, named, settings)
    console = output_console()
    if not as_json and not is_quiet():
        show_left_out(console, named.dataset, checked.left_out)
        show_warnings(console, checked.warnings)

    def work(kind: ViewKind) -> Any:
        return plan_refresh(kind, prune=prune, take_over=take_over and isinstance(kind, UnifiedKind))

    def show(made: Any) -> None:
        if not as_json:  # each plan at once: a dataset may have thousands of tables
            show_plan(console, made, sql=sql, quiet=is_quiet(), verbose=is_verbose())

    results = work_on(warehouse, checked, settings, work, show)
    if as_json:
        echo_plans(checked, results, diffs=sql)
    else:
        click.echo(summary(results))
    if github:
        show_in_github(f"onefold plan {named.dataset}", results, summary(results), checked.left_out)
    return exit_code(results, fail_on)


@click.command()
@table_argument
@all_option
@click.option("--prune", is_flag=True, help="Remove views that have no version left.")
@take_over_option
@dry_run_option
@yes_option
@accept_settings
@project
@as_json
@click.pass_context
def refresh(
    context: click.Context,
    named: NamedTables,
    all_: bool,
    prune: bool,
    take_over: bool,
    dry_run: bool,
    yes: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Bring the unified, current and clean views of a table, of those that match a pattern, or of --all, up to date."""
    from onefold.refresh.write import refresh as refresh_view
    from onefold.views.unified_kind import UnifiedKind

    named = selected(named, all_)
    if dry_run:
        options = {"prune": prune, "take_over": take_over, "project": project, "as_json": as_json}
        return ERROR if context.invoke(plan, words=(named.text,), dataset=None, **options) == ERROR else OK
    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    checked = check(warehouse, named, settings)
    if (prune or take_over) and not yes and (act := _destroyed(warehouse, checked, settings, prune, take_over)):
        confirm(yes, act)
    announce = announcing(warehouse.project, settings)
    record = recording(warehouse, settings)
    former = show_text_taken_over if take_over else None

    def work(kind: ViewKind) -> Any:
        taking = former if isinstance(kind, UnifiedKind) else None
        return refresh_view(kind, prune=prune, announce=announce, record=record(kind), take_over=taking)

    results = work_on(warehouse, checked, settings, work, progress=not named.table and not as_json)
    if as_json:
        echo_plans(checked, results)
    else:
        for warning in checked.warnings:
            say("yellow", f"Warning: {warning}")
        for result in results:
            if not isinstance(result, Failure):
                show_done(result)
    return ERROR if any(isinstance(result, Failure) for result in results) else OK


def _destroyed(warehouse: Any, checked: Checked, settings: Settings, prune: bool, take_over: bool) -> str:
    """Return what a refresh would remove, and what of others it would replace; an empty text for nothing."""
    from onefold.refresh.write import plan_refresh
    from onefold.views.unified_kind import UnifiedKind

    def work(kind: ViewKind) -> Any:
        return plan_refresh(kind, prune=prune, take_over=take_over and isinstance(kind, UnifiedKind))

    plans = work_on(warehouse, checked, replace(settings, keep_view_settings=False), work, silent=True)
    found = [one for one in plans if not isinstance(one, Failure)]
    removed = [str(one.stored.id) for one in found if one.action == "remove"]
    replaced = [str(one.stored.id) for one in found if one.action == "update" and one.takes_over]
    acts = [("remove", removed), ("replace", replaced)]
    return " and ".join(f"{act} {shown_list(views)}" for act, views in acts if views)


def _refuse(invalid: bool, text: str) -> None:
    """Refuse a combination of options.

    Raises:
        UsageError: `invalid` is True.
    """
    if invalid:
        raise click.UsageError(text)


def _built(columns: Any, base: TableId, settings: Settings) -> BuiltView:
    """Build the view from a file of columns.

    Raises:
        InvalidInput: the settings find versions by labels, or the table is united of those of many datasets.
        NotFound: the file has no version of the table, or all versions are retired.
    """
    rules = settings.rules_for(base)
    if rules.names.are_noted:
        how = "in many datasets" if rules.of_united else "by labels"
        raise InvalidInput(f"versions are found {how}, which a file of columns lacks: run `onefold plan DATASET.TABLE`")
    found = read_columns(_text(columns), base.table, rules.names, _name(columns))
    if not found:
        advice = rules.names.base_name_hint(base.table) or "check TABLE and the file"
        raise NotFound(f"{_name(columns)}: no rows of a table {rules.names.described_versions(base.table)}: {advice}")
    versions = active_versions(found, rules)
    if not versions:
        raise NotFound(
            f"{_name(columns)}: all {len(found)} versions of {base.table} are retired: keep one of them in onefold.yaml"
        )
    return build_view(settings.view_of(base), base, versions, rules)


def _warn(view: BuiltView, leaves: bool) -> None:
    from onefold.refresh.display import size_warnings

    for warning in [*limit_problems(view), *size_warnings(view)]:
        say("yellow", f"Warning: {warning}")
    if view.leaves and leaves:
        say("yellow", f"This view reads {counted(len(view.leaves), 'leaf view')}; print them with --ddl or --json.")


def _text(file: Any) -> str:
    """Read a file as UTF-8.

    Raises:
        ClickException: the file is not UTF-8.
    """
    try:
        return str(file.read().decode())
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{_name(file)} is not UTF-8 text at byte {error.start:,}: save it as UTF-8") from error


def _name(file: Any) -> str:
    return str(getattr(file, "name", "-"))
