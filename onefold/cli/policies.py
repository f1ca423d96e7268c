"""The commands of `onefold policies`: drafts, the check for CI, and the key of clean views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import (
    CHANGES,
    ERROR,
    OK,
    Failure,
    as_json,
    each,
    given,
    open_warehouse,
    print_lines,
    project,
    raise_problems,
    read_settings,
    say,
)
from onefold.cli.confirm import confirm, yes_option
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json, is_verbose
from onefold.cli.program import CommandGroup
from onefold.cli.table_arguments import dry_run_option, table_argument
from onefold.core.errors import NameNotFound, NotFound, Rejected
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId, check_names

if TYPE_CHECKING:
    from onefold.ports.hash_keys import HashKeys
    from onefold.views.policy_check import DraftedColumn, TablePolicyCheck


@click.group(cls=CommandGroup)
def policies() -> None:
    """Decide which columns the clean views show, hash, mask or drop."""


@click.command()
@table_argument
@click.option("--no-samples", is_flag=True, help="Read no rows: draft from names and types alone.")
@project
@as_json
@click.pass_context
def init(context: click.Context, named: NamedTables, no_samples: bool, project: str | None, as_json: bool) -> int:
    """Print a draft of policies for the columns of tables, or of all tables of --dataset, that no policy names yet.

    The draft follows from names, types, and 1,000 rows of each current view, of which nothing is printed. Read it before you
    put it into onefold.yaml.
    """
    from onefold.settings.checked_form import SCHEMA
    from onefold.settings.schema_check import modeline
    from onefold.views.plain import knowing_plain
    from onefold.views.policy_check import SAMPLES, draft_policies
    from onefold.views.policy_report import draft_lines

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    settings = knowing_plain(warehouse, named.dataset, named.table, settings)

    def work(base: TableId) -> tuple[TableId, Sequence[DraftedColumn]]:
        return base, draft_policies(warehouse, base, settings, samples=0 if no_samples else SAMPLES)

    plain = settings.plain_in(named.dataset)
    results = each(warehouse, named, settings.names_in(named.dataset), work, progress=False, plain=plain)
    if as_json:
        echo_json([one.as_dict() if isinstance(one, Failure) else _draft_as_dict(*one) for one in results])
    else:
        drafts = [one for one in results if not isinstance(one, Failure)]
        first = [modeline(SCHEMA)] if any(columns for _, columns in drafts) else []
        click.echo("\n".join([*first, *draft_lines(drafts)]), nl=bool(drafts))
    return ERROR if any(isinstance(one, Failure) for one in results) else OK


@click.command()
@table_argument
@project
@as_json
@click.pass_context
def check(context: click.Context, named: NamedTables, project: str | None, as_json: bool) -> int:
    """List the columns of tables, or of all tables of --dataset, that no policy names: they are masked until one does.

    Exits with 2 if there are such columns. Warns of policies that name no table or no column of DATASET. --verbose shows
    what the clean view shows of each column, and which policy says so.
    """
    from onefold.views.plain import knowing_plain
    from onefold.views.policy_check import check_policies
    from onefold.views.policy_report import check_lines, decision_lines
    from onefold.views.unused_policies import policy_warnings

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    settings = knowing_plain(warehouse, named.dataset, named.table, settings)
    results = each(
        warehouse,
        named,
        settings.names_in(named.dataset),
        lambda base: check_policies(warehouse, base, settings),
        progress=False,
        plain=settings.plain_in(named.dataset),
    )
    checked = [one for one in results if not isinstance(one, Failure)]
    known = [one.table.table for one in results] if named.is_dataset else None
    warnings = list(policy_warnings(settings, named.dataset, checked, known))
    if as_json:
        entries = [one.as_dict() if isinstance(one, Failure) else _check_as_dict(one) for one in results]
        echo_json(entries, warnings=warnings)
    else:
        for warning in warnings:
            say("yellow", f"Warning: {warning}")
        for one in checked if is_verbose() else ():
            print_lines(*decision_lines(one, one.policies))
        print_lines(*(check_lines(checked) if checked else ()))
    waiting = any(one.waiting for one in checked)
    return ERROR if len(checked) < len(results) else CHANGES if waiting else OK


@click.command()
@click.argument("dataset")
@click.option("--rotate", is_flag=True, help="Replace the key: every value gets another hash.")
@dry_run_option
@yes_option
@click.option(
    "--key-file",
    "file",
    metavar="FILE",
    type=click.File("r"),
    help="Take the key from a file of hexadecimal digits; - is standard input.  [default: a new random key]",
)
@project
@as_json
@click.pass_context
def key(
    context: click.Context,
    dataset: str,
    rotate: bool,
    dry_run: bool,
    yes: bool,
    file: Any,
    project: str | None,
    as_json: bool,
) -> int:
    """Write the key with which the clean views of DATASET hash into DATASET__keys.hash_key.

    The key is never printed. Without --rotate, a key that exists stays.
    """
    from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys

    settings, warehouse = open_warehouse(context, project, dataset, None)
    table = settings.key_table_of(TableId(warehouse.project, dataset, ""))
    keys = BigQueryHashKeys(warehouse.client)
    if rotate and not dry_run:
        confirm(yes, f"replace the key of {table}, by which every hashed value changes")
    new = HashKey.parse(file.read(), "the key of --key-file") if file else HashKey.new()
    with _of_dataset(dataset):
        done = _planned_key(keys, table, rotate=rotate) if dry_run else _written_key(keys, table, new, rotate=rotate)
    if as_json:
        echo_json([{"table": str(table), "rotated": rotate}])
    else:
        print_lines(done)
    return OK


@contextmanager
def _of_dataset(dataset: str) -> Iterator[None]:
    """Look for a near name where there is no dataset of keys: that of the tables may be mistyped.

    Raises:
        NameNotFound: there is none.
    """
    try:
        yield
    except NotFound as error:
        raise NameNotFound(str(error), dataset) from error


def _planned_key(keys: HashKeys, table: TableId, *, rotate: bool) -> str:
    """Return what the command would do.

    Raises:
        Rejected: it would refuse to, because there is a key.
    """
    created = keys.created(table)
    if created and not rotate:
        raise Rejected(f"{table} has a key since {created:%Y-%m-%d %H:%M}, which stays: --rotate would replace it")
    return (
        f"{table} would get another key, instead of that of {created:%Y-%m-%d %H:%M}"
        if created
        else f"{table} would get a key"
    )


def _written_key(keys: HashKeys, table: TableId, new: HashKey, *, rotate: bool) -> str:
    keys.write(table, new, replace=rotate)
    return f"{table} has a new key" if rotate else f"{table} has a key"


@click.command()
@click.argument("dataset")
@dry_run_option
@project
@as_json
@click.pass_context
def authorize(context: click.Context, dataset: str, dry_run: bool, project: str | None, as_json: bool) -> int:
    """Let the clean views of DATASET read its current views and the key of hashes, as Terraform does for `clean_views`.

    Every other entry of the access lists stays. Warns of people who can read the key.
    """
    from onefold.access.authorize import authorize_views, clean_datasets
    from onefold.cli.access_clients import AccessClients

    settings = read_settings(context)
    check_names([("dataset", dataset), *given(("project", project))])
    name = project or settings.project or ""
    raise_problems([] if name else ["expected a project: give --project, or set ONEFOLD_PROJECT"])
    datasets = clean_datasets(settings, name, dataset)
    found = authorize_views(AccessClients(name).lists, name, datasets, dry_run=dry_run)
    warnings = [warning for one in found for warning in one.warnings]
    if as_json:
        echo_json([{"dataset": one.dataset, "views": one.views, "new": one.is_new} for one in found], warnings=warnings)
        return OK
    for warning in warnings:
        say("yellow", f"Warning: {warning}")
    now = ("would authorize" if dry_run else "now authorizes", "authorizes already")
    print_lines(*(f"{one.dataset} {now[not one.is_new]} the views of {one.views}" for one in found))
    return OK


for _command in (init, check, key, authorize):
    policies.add_command(_command)


def _draft_as_dict(base: TableId, columns: Sequence[DraftedColumn]) -> dict[str, Any]:
    drafted = [
        {"column": one.path, "type": str(one.type), "action": str(one.draft.action), "reason": one.draft.reason}
        for one in columns
    ]
    return {"table": str(base), "columns": drafted}


def _check_as_dict(one: TablePolicyCheck) -> dict[str, Any]:
    return {"table": str(one.table), "undecided": list(one.waiting)}
