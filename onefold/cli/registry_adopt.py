"""The command `onefold schema adopt`: a table that another loader made, compared with what the registry would make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from onefold.cli.common import CHANGES, OK, as_json, open_warehouse, project
from onefold.cli.output import echo_json
from onefold.cli.registry_options import open_registry, order_option, parse_order, reads_registry
from onefold.cli.warehouse import near_table
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import TableId
from onefold.core.text import reason_of
from onefold.schema.diff import Severity

if TYPE_CHECKING:
    from onefold.events.registry.bigquery_table import BigQueryTable
    from onefold.events.registry.columns import ModelTable
    from onefold.events.registry.json_schema import JsonSchema
    from onefold.events.registry.legacy_table import ColumnDifference
    from onefold.schema.columns import Column

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("model", metavar="VENDOR/NAME/FORMAT/MODEL")
@click.option(
    "--table", metavar="DATASET.TABLE", required=True, help="The existing table, as DATASET.TABLE or SCHEMA.TABLE."
)
@click.option("--columns", metavar="FILE", type=_FILE, help="Rows of SVV_COLUMNS (JSON or CSV): for a table in Redshift.")
@click.option("--mapping", metavar="FILE", type=_FILE, help="A YAML file with columns that have another name in the table.")
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
    registry: str | None,
    order: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Compare an existing table with the table that the registry would make, and list the differences.

    The table is read from BigQuery, or from FILE with its rows of SVV_COLUMNS in Redshift; nothing is changed. The exit code
    is 2 where something has to be done before rows can be loaded into it.
    """
    versions = _versions(context, model, registry, order)
    names = _read_mapping(mapping) if mapping else {}
    if columns:
        differences = _in_redshift(versions, columns, table, names)
    else:
        differences = _in_bigquery(versions, _read_table(context, project, table), names)
    if as_json:
        echo_json([one.as_dict() for one in differences])
    else:
        for line in differences or (f"{table} is what the registry would make",):
            click.echo(str(line))
    return CHANGES if any(one.severity > Severity.INFO for one in differences) else OK


def _versions(context: click.Context, model: str, registry: str | None, order: str | None) -> tuple[JsonSchema, ...]:
    """Return the versions of a model in the order of their addition."""
    from onefold.events.registry.schema_key import ModelKey
    from onefold.events.registry.sources import read_model

    key, versions = ModelKey.parse(model), parse_order(order)
    return read_model(open_registry(context, registry, versions), key, registry or "the registry").versions(key)


def _in_redshift(
    versions: tuple[JsonSchema, ...], columns: Path, table: str, names: dict[str, str]
) -> list[ColumnDifference]:
    from onefold.events.registry.columns import table_of
    from onefold.events.registry.legacy_table import compare_redshift, read_svv_columns

    expected: ModelTable = table_of(versions)
    return compare_redshift(expected, read_svv_columns(columns.read_text("utf-8-sig"), table), names)


def _in_bigquery(
    versions: tuple[JsonSchema, ...], found: tuple[Column, ...], names: dict[str, str]
) -> list[ColumnDifference]:
    from onefold.events.registry.bigquery_columns import bigquery_table
    from onefold.events.registry.legacy_table import compare_bigquery

    expected: BigQueryTable = bigquery_table(versions)
    return compare_bigquery(expected, found, names)


def _read_table(context: click.Context, project: str | None, table: str) -> tuple[Column, ...]:
    """Return the columns of a table in BigQuery.

    Raises:
        UsageError: the table is not given with its dataset.
        InvalidInput: it is a view.
        NotFound: the table does not exist.
        OnefoldError: BigQuery does not answer, or refuses.
    """
    dataset, _, name = table.partition(".")
    if not name:
        raise click.UsageError("Expected --table DATASET.TABLE, or --columns FILE for a table in Redshift.")
    _, warehouse = open_warehouse(context, project, dataset, None)
    found: tuple[Column, ...] | None = warehouse.read_columns(TableId(warehouse.project, dataset, name))
    if found is None and name in warehouse.list_views(dataset):
        raise InvalidInput(f"{warehouse.project}.{table} is a view, which cannot be adopted: name a table")
    if found is None:
        near = near_table(warehouse, dataset, name)
        advice = "correct the name, or give --columns FILE for a table in Redshift"
        raise NotFound(f"{warehouse.project}.{table} does not exist{near}: {advice}")
    return found


def _read_mapping(path: Path) -> dict[str, str]:
    """Return the names of a mapping file: `columns:` with the name in the table for each column of the registry.

    Raises:
        InvalidInput: the file is not such a mapping.
    """
    try:
        content: Any = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidInput(f"{path} cannot be read: {reason_of(error)}: write `columns:` in YAML, in UTF-8") from error
    columns = content.get("columns") if isinstance(content, dict) and content.keys() == {"columns"} else None
    if not isinstance(columns, dict) or not all(isinstance(text, str) for pair in columns.items() for text in pair):
        raise InvalidInput(f"{path}: expected `columns:` with lines like `user.first_name: first_name`")
    return columns


COMMANDS = (adopt,)
