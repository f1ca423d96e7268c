"""The base of a reconciliation in files: what an earlier batch wrote, or a plain copy of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import METADATA, key_problems
from onefold.changelog.position import Position
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
from onefold.schema.recast import keeps_values
from onefold.spark.columns import named
from onefold.spark.io.base_folder import _OWN, BaseFolder, Manifest, _folded
from onefold.spark.io.frames import column_of
from onefold.spark.reconcile.modify_time import position_of
from onefold.spark.values.casts import converted
from onefold.spark.values.position import stored_as_text


def base_problems(base: BaseFolder, arguments: ReconcileArguments, unified: Sequence[Column]) -> Iterator[str]:
    """All that keeps the changes from being merged into this base."""
    if not base.columns:
        yield f"{base.landed.name}: there is no row in any of its files; leave out --base to begin with an empty one"
        return
    yield from key_problems(base.landed.name, base.columns, arguments.keys)
    if column_of(base.landed, METADATA):
        yield f"{base.landed.name} has {METADATA}: it is a change log and no base"
    if len({name for name in _OWN if column_of(base.landed, name)}) == 1:
        yield f"{base.landed.name} has only one of {' and '.join(_OWN)}: a base has both, a copy of the source neither"
    if base.manifest:
        yield from _manifest_problems(base.manifest, base.landed.name, arguments)
    yield from _conversion_problems(base, unified)


def _manifest_problems(manifest: Manifest, name: str, arguments: ReconcileArguments) -> Iterator[str]:
    if _folded(manifest.keys) != _folded(arguments.keys):
        yield f"{name} was made by the keys {', '.join(manifest.keys)}, not {', '.join(arguments.keys)}"
    for what in ("format", "position"):
        made, asked = manifest.arguments.get(what), getattr(arguments, what)
        if made != asked:
            yield f"{name} was made with --{what} {made}, not {asked}: their positions cannot be compared"


def _conversion_problems(base: BaseFolder, unified: Sequence[Column]) -> Iterator[str]:
    targets = {fold_case(column.name): column.type for column in unified}
    landed = base.landed_types()
    for column in base.columns:
        target = targets[fold_case(column.name)]
        if not all(keeps_values(type_, column.type, target) for type_ in landed[fold_case(column.name)]):
            came = ", ".join(str(type_) for type_ in landed[fold_case(column.name)])
            yield (
                f"{base.landed.name}, column {column.name}: its values came as {came}, are stored as {column.type} and "
                f"would become {target}, which is not what they were: use --mode rebuild, with all changes there have been"
            )


def base_rows(base: BaseFolder, unified: Sequence[Column], orders: str | None = None) -> DataFrame:
    """Its rows in the unified columns. A row without a position has the lowest one.

    Args:
        orders: the column that orders periodic pulls, by which rows of a plain copy have their positions too.
    """
    position, deleted = F.lit(None).cast("string"), F.lit(None).cast("boolean")
    if column_of(base.landed, POSITION):
        known = orders or base.has_present_positions
        position, deleted = named(POSITION) if known else _comparable(named(POSITION), base.landed.name), named(DELETED)
    elif orders and column_of(base.landed, orders):
        position = position_of(base.columns, orders, unified)
    return base.landed.frame.select(
        *converted(base.columns, unified),
        F.coalesce(position, F.lit(str(Position()))).alias(POSITION),
        F.coalesce(deleted, F.lit(False)).alias(DELETED),
    )


def _comparable(position: Value, name: str) -> Value:
    """Fail on a position that an earlier release ordered as text: it would lose to every change, an older one too."""
    error = F.concat(
        F.lit(f"{name}: expected positions that order hexadecimal sequences and sort keys as numbers, got "),
        position,
        F.lit(", which an earlier release ordered as text: use --mode rebuild, with all changes there have been"),
    )
    return F.when(stored_as_text(position), F.raise_error(error)).otherwise(position)


@dataclass(frozen=True)
class KeyCounts:
    """repeated: some keys that more than one row has, as text."""

    rows: int
    live: int
    repeated: tuple[str, ...]


def count_keys(rows: DataFrame, keys: Sequence[str], most: int = 3) -> KeyCounts:
    by_key = rows.groupBy(*(named(key) for key in keys)).agg(
        F.count("*").alias("_rows"), F.count_if(~named(DELETED)).alias("_live")
    )
    shown = F.concat_ws(", ", *(F.coalesce(named(key).cast("string"), F.lit("NULL")) for key in keys))
    repeated = F.slice(F.collect_set(F.when(named("_rows") > 1, shown)), 1, most)
    (row,) = by_key.agg(F.sum("_rows"), F.sum("_live"), repeated).collect()
    return KeyCounts(row[0] or 0, row[1] or 0, tuple(sorted(row[2])))
