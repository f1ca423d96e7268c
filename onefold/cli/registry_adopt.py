"""The command `onefold schema adopt`: a table that another loader made, whose columns get the rows of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from onefold.cli.common import CHANGES, OK, as_json, open_warehouse, project, read_settings
from onefold.cli.output import echo_json
from onefold.cli.registry_options import (
    listed_models,
    objects_of,
    open_registry,
    order_option,
    parse_order,
    reads_registry,
    writable_address,
)
from onefold.cli.warehouse import near_table
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import TableId
from onefold.core.text import reason_of
from onefold.schema.diff import Severity
from onefold.settings.strict_yaml import StrictLoader

if TYPE_CHECKING:
    from onefold.events.registry.adopted import Misfits, Missing
    from onefold.events.registry.column_mapping import TableColumn
    from onefold.events.registry.json_schema import JsonSchema
    from onefold.events.registry.legacy_table import Adoption, LegacyTable
    from onefold.events.registry.schema_key import ModelKey
    from onefold.settings.registry import Warehouse

_EVENTS = "events"
"""What stands for the model of the table of the events."""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("model", metavar="VENDOR/NAME/FORMAT/MODEL|events")
@click.option(
    "--table", metavar="DATASET.TABLE", required=True, help="The existing table, as DATASET.TABLE or SCHEMA.TABLE."
)
@click.option("--columns", metavar="FILE", type=_FILE, help="Rows of SVV_COLUMNS (JSON or CSV): for a table in Redshift.")
@click.option("--mapping", metavar="FILE", type=_FILE, help="A YAML file with columns that have another name in the table.")
@click.option(
    "--misfits",
    type=click.Choice(["bad_row", "recovery_table"]),
    default="bad_row",
    show_default=True,
    help="Where the data goes of which a column does not hold a value: the whole event is a bad row, or the data goes to "
    "the recovery table of its version.",
)
@click.option(
    "--missing",
    type=click.Choice(["add", "leave_out"]),
    default="add",
    show_default=True,
    help="What becomes of fields of events that the table has no column for: the loader adds columns at its end, or their "
    "values are left out.",
)
@click.option(
    "--record", is_flag=True, help="Record the table in the registry, so that rows are shredded and loaded for it."
)
@reads_registry
@order_option
@project
@as_json
@click.pass_context
def adopt(
    context: click.Context,
    model: str,
    table: str,
    columns: Path | None,
    mapping: Path | None,
    misfits: Misfits,
    missing: Missing,
    record: bool,
    registry: str | None,
    order: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Map the columns of an existing table by their names to those of a model, or of the events, and list the differences.

    The table is read from BigQuery, or from FILE with its rows of SVV_COLUMNS in Redshift; the table itself is not changed.
    The exit code is 2 where the loader has to add columns, where some values do not fit, or where the table is refused. With
    --record it is 0 where the table is recorded, and 2 where it is refused.
    """
    from onefold.events.registry.legacy_table import LegacyTable

    recorded_at = writable_address(read_settings(context), registry) if record else ""
    versions, models = (None, []) if model == _EVENTS else _versions(context, model, registry, order)
    found = _read_columns(columns, table) if columns else _read_table(context, project, table)
    legacy = LegacyTable(table, found, _read_mapping(mapping) if mapping else {}, misfits, missing)
    adoption = _adoption(versions, "redshift" if columns else "bigquery", legacy, models)
    differences = adoption.differences
    if as_json:
        echo_json([one.as_dict() for one in differences])
    else:
        for line in differences or (f"{table} is what the registry would make",):
            click.echo(str(line))
    if adoption.refused:
        return CHANGES
    if record:
        _record(recorded_at, adoption)
        return OK
    return CHANGES if any(one.severity > Severity.INFO for one in differences) else OK


def _versions(
    context: click.Context, model: str, registry: str | None, order: str | None
) -> tuple[tuple[JsonSchema, ...], list[ModelKey]]:
    """Return the versions of a model in the order of their addition, and all models of the registry."""
    from onefold.events.registry.schema_key import ModelKey
    from onefold.events.registry.sources import read_model

    key, versions = ModelKey.parse(model), parse_order(order)
    source = open_registry(context, registry, versions)
    return read_model(source, key, registry or "the registry").versions(key), listed_models(source)


def _adoption(
    versions: tuple[JsonSchema, ...] | None, warehouse: Warehouse, legacy: LegacyTable, models: list[ModelKey]
) -> Adoption:
    """Return how a table can be adopted for the rows of a model; without versions, for those of the events.

    Raises:
        UsageError: the columns of a model are to be left out.
        InvalidInput: the table cannot be adopted in this way.
    """
    from onefold.events.registry.legacy_table import adopt
    from onefold.events.shred.adopted_events import adopt_events

    if versions is None:
        return adopt_events(warehouse, legacy)
    if legacy.missing != "add":
        raise click.UsageError("--missing leave_out is for the events: the data of a model is never left out.")
    return adopt(versions, warehouse, legacy, models)


def _record(address: str, adoption: Adoption) -> None:
    """Record an adopted table in the registry at an address.

    Raises:
        InvalidInput: the registry cannot be written.
        OnefoldError: the store does not answer, or refuses.
    """
    from onefold.events.registry.adopted import record_adopted

    record_adopted(address, objects_of(address, dry_run=False), adoption.table)


def _read_columns(file: Path, table: str) -> tuple[TableColumn, ...]:
    """Return the columns of a table in Redshift from rows of SVV_COLUMNS."""
    from onefold.events.registry.svv_columns import read_svv_columns

    return read_svv_columns(file.read_text("utf-8-sig"), table)


def _read_table(context: click.Context, project: str | None, table: str) -> tuple[TableColumn, ...]:
    """Return the columns of a table in BigQuery.

    Raises:
        UsageError: the table is not given with its dataset.
        InvalidInput: it is a view.
        NotFound: the table does not exist.
        OnefoldError: BigQuery does not answer, or refuses.
    """
    from onefold.events.registry.column_mapping import TableColumn

    dataset, _, name = table.partition(".")
    if not name:
        raise click.UsageError("Expected --table DATASET.TABLE, or --columns FILE for a table in Redshift.")
    _, warehouse = open_warehouse(context, project, dataset, None)
    found = warehouse.read_columns(TableId(warehouse.project, dataset, name))
    if found is None and name in warehouse.list_views(dataset):
        raise InvalidInput(f"{warehouse.project}.{table} is a view, which cannot be adopted: name a table")
    if found is None:
        near = near_table(warehouse, dataset, name)
        advice = "correct the name, or give --columns FILE for a table in Redshift"
        raise NotFound(f"{warehouse.project}.{table} does not exist{near}: {advice}")
    return tuple(TableColumn(column.name, str(column.type)) for column in found)


def _read_mapping(path: Path) -> dict[str, str]:
    """Return the names of a mapping file: `columns:` with the name in the table for each column of the registry.

    Raises:
        InvalidInput: the file is not such a mapping.
    """
    try:
        loader = StrictLoader(path.read_text("utf-8"))
        content: Any = loader.get_single_data()
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidInput(f"{path} cannot be read: {reason_of(error)}: write `columns:` in YAML, in UTF-8") from error
    if loader.twice:
        raise InvalidInput(replace(one, file=str(path)) for one in loader.twice)
    columns = content.get("columns") if isinstance(content, dict) and content.keys() == {"columns"} else None
    if not isinstance(columns, dict) or not all(isinstance(text, str) for pair in columns.items() for text in pair):
        raise InvalidInput(f"{path}: expected `columns:` with lines like `user.first_name: first_name`")
    return columns


COMMANDS = (adopt,)
