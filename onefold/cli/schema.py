"""The commands `schema lint`, `ddl`, `migrations` and `diff`: a registry in a folder, and the tables of its models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import CHANGES, OK, as_json, given, read_settings, say
from onefold.cli.output import echo_json, output_console
from onefold.cli.program import CommandGroup
from onefold.cli.registry_options import address_of, open_registry, parse_order, reads_registry, table_name, warn_of_unusable
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.events.registry.bigquery_table import BigQueryTable
    from onefold.events.registry.columns import ModelTable
    from onefold.events.registry.json_schema import JsonSchema
    from onefold.events.registry.migrations import Migration
    from onefold.events.registry.registry import Registry
    from onefold.events.registry.schema_key import ModelKey


@click.group(cls=CommandGroup)
def schema() -> None:
    """Check the JSON Schemas of a registry, and make the tables of their data."""


_folder = click.Path(exists=True, file_okay=False, path_type=Path)
order_option = click.option(
    "--order", metavar="VERSIONS", default="", help="The versions in the order of their addition, where no index has it."
)
dataset_option = click.option("--dataset", metavar="D", help="The dataset of BigQuery, or the schema of Redshift.")
_TARGETS = click.Choice(["redshift", "bigquery"])


@schema.command()
@click.argument("folder", type=_folder)
@click.option("--sequential", is_flag=True, help="Refuse 1-0-1 after 1-1-0, as a registry with `order: sequential` does.")
@as_json
@click.pass_context
def lint(context: click.Context, folder: Path, sequential: bool, as_json: bool) -> int:
    """Check all schemas of FOLDER, a registry or a folder of files, before they are added to a registry.

    Schemas that the index of FOLDER does not have are checked as if they were added next: the numbers of their versions, and
    what their changes really are.
    """
    from onefold.events.registry.folder import scan_files, scan_folder
    from onefold.events.registry.lint import lint as lint_folder
    from onefold.events.registry.order import Rules

    rules = Rules("sequential" if sequential else "by-addition", warehouses=read_settings(context).registry.warehouses)
    scan = scan_folder if (folder / "schemas").is_dir() else scan_files
    report = lint_folder(scan(folder), rules)
    if as_json:
        echo_json([{"folder": str(folder), "checked": report.checked, "problems": list(report.problems)}])
    else:
        for problem in report.problems:
            say("red", f"Error: {problem}")
        click.echo(f"{counted(report.checked, 'schema')} checked, {counted(len(report.problems), 'problem')}")
    return CHANGES if report.problems else OK


@schema.command()
@click.argument("model")
@reads_registry
@click.option("--target", type=_TARGETS, required=True, help="The warehouse.")
@order_option
@dataset_option
@as_json
def ddl(model: str, registry: str | None, target: Any, order: str, dataset: str | None, as_json: bool) -> None:
    """Print the statements that create the table of MODEL with all its versions.

    MODEL is vendor/name/format/model: com.acme/ad_click/jsonschema/1. Data that does not fit into the table has recovery
    tables of its own, whose statements follow.
    """
    from onefold.events.registry.ddl import build_table, create_statements, table_as_dict

    key, found = _read(model, registry, order)
    check_names(given(("dataset", dataset)))
    table = build_table(found.versions(key), target, _name(registry, key))
    _warn(table)
    if as_json:
        # Tools expect exactly this object, and not the common one around it.
        click.echo(json.dumps(table_as_dict(table), ensure_ascii=False))
    else:
        _echo_statements(create_statements(table, dataset))


@schema.command()
@click.argument("model")
@reads_registry
@click.option("--from", "from_", metavar="V", required=True, help="The version that the table is at, such as 1-0-0.")
@click.option("--to", "to", metavar="V", required=True, help="The version that the table is to be at, such as 1-0-2.")
@click.option("--target", type=_TARGETS, default="redshift", show_default=True, help="The warehouse.")
@order_option
@dataset_option
@as_json
def migrations(
    model: str, registry: str | None, from_: str, to: str, target: Any, order: str, dataset: str | None, as_json: bool
) -> None:
    """Print the statements that bring the table of MODEL from one version to another.

    The order of the versions is that of their addition.
    """
    key, found = _read(model, registry, order)
    check_names(given(("dataset", dataset)))
    made = _migration(found, key, (from_, to), target, _name(registry, key))
    statements = made.statements(dataset)
    if as_json:
        changes = [change.as_dict() for change in made.changes]
        echo_json([{"table": made.after.name, "changes": changes, "statements": statements}])
    else:
        _echo_statements(statements)


@schema.command()
@click.argument("model")
@reads_registry
@click.option("--from", "from_", metavar="V", required=True, help="The earlier version, such as 1-0-0.")
@click.option("--to", "to", metavar="V", required=True, help="The later version, such as 1-0-2.")
@click.option("--target", type=_TARGETS, default="redshift", show_default=True, help="The warehouse.")
@order_option
@as_json
def diff(model: str, registry: str | None, from_: str, to: str, target: Any, order: str, as_json: bool) -> int:
    """Explain the change of MODEL from one version to another: its class with the reasons, and the changes of the table."""
    from onefold.events.registry.classify import classify

    key, found = _read(model, registry, order)
    made = _migration(found, key, (from_, to), target, _name(registry, key))
    before, after = (_up_to(found, key, version) for version in (from_, to))
    warehouses = read_settings(click.get_current_context()).registry.warehouses
    change = classify(before[-1], after[-1], before, warehouses)
    if as_json:
        result = {
            "schema": key.path,
            "from": from_,
            "to": to,
            "class": change.kind.name,
            "reasons": [reason.as_dict() for reason in change.reasons],
            "changes": [one.as_dict() for one in made.changes],
        }
        echo_json([result])
    else:
        _show(f"{key}: {from_} -> {to} is {change.kind.name}", [str(reason) for reason in change.reasons], made)
    return CHANGES if change.reasons or made.changes else OK


def _read(model: str, registry: str | None, order: str) -> tuple[ModelKey, Registry]:
    """Read one model of a registry."""
    from onefold.events.registry.folder import read_folder
    from onefold.events.registry.resolver import is_resolver
    from onefold.events.registry.schema_key import ModelKey
    from onefold.events.registry.sources import read_model

    key, versions = ModelKey.parse(model), parse_order(order)
    context = click.get_current_context()
    address = address_of(read_settings(context), registry)
    if "://" not in address and not is_resolver(address):
        found = read_folder(Path(address), key.parts, versions)
        warn_of_unusable(found)
        return key, found
    return key, read_model(open_registry(context, address, versions), key, address)


def _name(registry: str | None, key: ModelKey) -> str | None:
    """Return the name of a model's table; None where the registry cannot be listed."""
    context = click.get_current_context()
    return table_name(open_registry(context, address_of(read_settings(context), registry)), key)


def _up_to(registry: Registry, key: ModelKey, version: str) -> tuple[JsonSchema, ...]:
    from onefold.events.registry.schema_key import SchemaVer

    return registry.up_to(key, SchemaVer.parse(version))


def _migration(registry: Registry, key: ModelKey, versions: tuple[str, str], target: Any, name: str | None) -> Migration:
    """Return what brings the table of a model from one version to another.

    Args:
        registry: the registry with the model.
        key: the model.
        versions: the version that the table is at, and the one that it is to be at.
        target: the warehouse.
        name: the name of the table.

    Raises:
        InvalidInput: the first version was added after the second one.
    """
    from onefold.events.registry.ddl import build_table
    from onefold.events.registry.migrations import migration

    before, after = (_up_to(registry, key, version) for version in versions)
    if len(before) > len(after):
        first, second = versions
        raise InvalidInput(f"{key}: {first} was added after {second}: exchange --from and --to")
    return migration(build_table(before, target, name), build_table(after, target, name))


def _warn(table: ModelTable | BigQueryTable) -> None:
    for recovery in table.recovered:
        reasons = "; ".join(recovery.reasons)
        say("yellow", f"Warning: the data of {recovery.version} does not fit, and has the table {recovery.name}: {reasons}")


def _echo_statements(statements: Sequence[str]) -> None:
    for statement in statements:
        click.echo(statement if statement.startswith("--") else f"{statement};")


def _show(title: str, reasons: list[str], made: Migration) -> None:
    from onefold.refresh.display import show_changes

    click.echo(title)
    for reason in reasons:
        click.echo(f"  {reason}")
    show_changes(output_console(), made.changes)
