"""Checks of a base in files, and its rows: a base that an earlier batch wrote, or a plain copy of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.key_columns import missing_keys
from onefold.changelog.metadata import METADATA
from onefold.changelog.position import Position
from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column, Schema
from onefold.schema.recast import keeps_values
from onefold.spark.columns import named
from onefold.spark.io.base_folder import BASE_COLUMNS, BaseFolder, folded_names
from onefold.spark.io.manifest import OutputManifest
from onefold.spark.reconcile.modify_time import position_of
from onefold.spark.values.casts import converted
from onefold.spark.values.position import stored_as_text


def base_problems(base: BaseFolder, arguments: ReconcileArguments, unified: Sequence[Column]) -> Iterator[str]:
    """Yield every error that prevents the changes from being merged into this base.

    Args:
        base: the base.
        arguments: the arguments of the job.
        unified: the columns of the new base, those of the present base among them.
    """
    name, columns = base.frame.name, base.frame.columns
    if not base.columns:
        yield f"{name}: there is no row in any of its files; leave out --base to begin with an empty one"
        return
    yield from missing_keys(name, base.columns, arguments.keys)
    if columns.has(METADATA):
        yield f"{name} has {METADATA}: it is a change log and no base: name it with --changes"
    if len(columns.only(BASE_COLUMNS)) == 1:
        yield f"{name} has only one of {' and '.join(BASE_COLUMNS)}: a base has both, a copy of the source neither"
    if base.manifest:
        yield from _manifest_problems(base.manifest, name, arguments)
    yield from _conversion_problems(base, Schema(unified))


def _manifest_problems(manifest: OutputManifest, name: str, arguments: ReconcileArguments) -> Iterator[str]:
    if folded_names(manifest.keys) != folded_names(arguments.keys):
        yield f"{name} was made by the keys {shown_list(manifest.keys)}, not {shown_list(arguments.keys)}"
    for option in ("format", "position"):
        old, new = manifest.arguments.get(option), getattr(arguments, option)
        if old != new:
            yield f"{name} was made with --{option} {old}, not {new}: their positions cannot be compared"


def _conversion_problems(base: BaseFolder, unified: Schema) -> Iterator[str]:
    landed_types = base.landed_types()
    for column in base.columns:
        target, types = unified.get(column.name), landed_types[fold_case(column.name)]
        if target and not all(keeps_values(type_, column.type, target.type) for type_ in types):
            yield (
                f"{base.frame.name}, column {column.name}: its values landed as {shown_list(map(str, types))}, are stored "
                f"as {column.type} and would become {target.type}, which differs from the landed values: use --mode "
                "rebuild, with all changes there have been"
            )


def base_rows(base: BaseFolder, unified: Sequence[Column], position_column: str | None = None) -> DataFrame:
    """Return the rows of a base in the unified columns. A row without a position gets the lowest one.

    Args:
        base: the base.
        unified: the columns of the new base.
        position_column: the column that orders periodic pulls, which also orders the rows of a plain copy.
    """
    position, deleted = F.lit(None).cast("string"), F.lit(None).cast("boolean")
    if base.frame.columns.has(POSITION):
        is_comparable = position_column or base.has_present_positions
        position = named(POSITION) if is_comparable else _check_position(named(POSITION), base.frame.name)
        deleted = named(DELETED)
    elif position_column and base.frame.columns.has(position_column):
        position = position_of(base.columns, position_column, unified)
    return base.frame.rows.select(
        *converted(base.columns, unified),
        F.coalesce(position, F.lit(str(Position()))).alias(POSITION),
        F.coalesce(deleted, F.lit(False)).alias(DELETED),
    )


def _check_position(position: Value, name: str) -> Value:
    """Fail on a position that an earlier release ordered as text: every change would win against it, even an older one."""
    error = F.concat(
        F.lit(f"{name}: expected positions that order hexadecimal sequences and sort keys as numbers, got "),
        position,
        F.lit(", which an earlier release ordered as text: use --mode rebuild, with all changes there have been"),
    )
    return F.when(stored_as_text(position), F.raise_error(error)).otherwise(position)


@dataclass(frozen=True)
class KeyCounts:
    """The numbers of rows and of rows that are not deleted, and some keys, as text, that more than one row has."""

    rows: int
    live: int
    repeated: tuple[str, ...]


def count_keys(rows: DataFrame, keys: Sequence[str], most: int = 3) -> KeyCounts:
    """Count rows and repeated keys.

    Args:
        rows: rows of a base.
        keys: the columns of the key.
        most: the number of repeated keys to return.
    """
    by_key = rows.groupBy(*(named(key) for key in keys)).agg(
        F.count("*").alias("_rows"), F.count_if(~named(DELETED)).alias("_live")
    )
    shown = F.concat_ws(", ", *(F.coalesce(named(key).cast("string"), F.lit("NULL")) for key in keys))
    repeated = F.slice(F.collect_set(F.when(named("_rows") > 1, shown)), 1, most)
    (row,) = by_key.agg(F.sum("_rows"), F.sum("_live"), repeated).collect()
    return KeyCounts(row[0] or 0, row[1] or 0, tuple(sorted(row[2])))
