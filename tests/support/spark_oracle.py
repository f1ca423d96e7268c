"""What the tests of the Spark job share: an oracle of a dict and a loop, files of changes, and the base that came out."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyarrow import parquet
from pyspark.sql import SparkSession
from support.oracle import METADATA, NO_TYPES, Order, is_deletion, latest, order_of, source_row
from support.typed_values import comparable, plain_row

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.generator_files import type_in_parquet, value_in_parquet
from onefold.schema.types import Type, parse_type
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.report import JobReport

Row = dict[str, Any]

LOWEST: Order = ()
"""The order of a row of a plain copy: below any change."""


def base_of(
    changes: Iterable[Mapping[str, Any]],
    keys: Sequence[str],
    base: Iterable[Row] = (),
    types: Mapping[str, str] = NO_TYPES,
) -> list[Row]:
    """Return the base without its positions: of each key the latest row, where of a deletion only its key is left.

    Args:
        changes: all changes that were ever read.
        keys: the columns that identify a row.
        base: the rows of a plain copy, older than all changes.
        types: the BigQuery types of columns that JSON does not show.
    """
    found: dict[tuple[Any, ...], Row] = {tuple(row.get(name) for name in keys): {**row, "_deleted": False} for row in base}
    for change in latest(changes, keys, types):
        found[tuple(change.get(name) for name in keys)] = _as_stored(change, keys)
    return in_order(found.values())


def _as_stored(change: Mapping[str, Any], keys: Sequence[str]) -> Row:
    deleted = is_deletion(change)
    kept = {name: value for name, value in source_row(change).items() if name in keys or not deleted}
    return {**kept, "_deleted": deleted}


def without_positions(rows: Iterable[Row]) -> list[Row]:
    """Rows of a base as `base_of` gives them."""
    return in_order({name: value for name, value in row.items() if name != "_position"} for row in rows)


def positions_sort_as(
    found: Iterable[Row],
    changes: Iterable[Mapping[str, Any]],
    keys: Sequence[str],
    types: Mapping[str, str] = NO_TYPES,
) -> bool:
    """Return whether the positions that a base stores compare as the specification orders the changes that they name."""
    orders = {tuple(change.get(name) for name in keys): order_of(change, types) for change in latest(changes, keys, types)}
    pairs = [(row["_position"], orders.get(tuple(row.get(name) for name in keys), LOWEST)) for row in found]
    by_text, by_order = (sorted(pairs, key=operator.itemgetter(place)) for place in (0, 1))
    return [order for _, order in by_text] == [order for _, order in by_order]


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """To be compared: without NULLs, since a column may be there or not, and in an order of their own."""
    found = ({name: value for name, value in row.items() if value is not None} for row in rows)
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def live(rows: Iterable[Row]) -> list[Row]:
    """What people see."""
    own = ("_position", "_deleted")
    return in_order({name: row[name] for name in row if name not in own} for row in rows if not row["_deleted"])


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_base(spark: SparkSession, folder: Path) -> list[Row]:
    return in_order(row.asDict(recursive=True) for row in spark.read.parquet(str(folder)).collect())


class Typed:
    """Rows of a workload as Parquet holds them, and as they are compared: every value exactly, the sign of a zero too."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self._source: dict[str, Type] = {name: parse_type(type_) for name, type_ in types.items()}
        self._held = {name: type_in_parquet(type_) for name, type_ in self._source.items()}
        self.types = {name: str(type_) for name, type_ in self._held.items()}

    def held(self, row: Mapping[str, Any]) -> Row:
        """A row, or a change, in the form of its file."""
        return {name: value_in_parquet(row[name], self._source[name]) if name != METADATA else row[name] for name in row}

    def read(self, folder: Path) -> list[Row]:
        """The rows of a base in that form."""
        files = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith(("_", ".")))
        return [plain_row(row, self._held) for path in files for row in parquet.read_table(path).to_pylist()]


def texts(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows to be compared: their texts, in an order of their own."""
    return sorted(map(comparable, rows))


def run_job(
    spark: SparkSession,
    changes: Path | Sequence[Path],
    output: Path,
    *more: str,
    keys: str = "id",
    base: Path | None = None,
) -> JobReport:
    """The use case as the job's command line calls it."""
    folders = [changes] if isinstance(changes, Path) else changes
    based = ["--base", str(base)] if base else []
    words = ["--changes", *map(str, folders), *based, "--output", str(output), "--keys", keys, *more]
    return reconcile(spark, ReconcileArguments.parse(words))


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, to tell whether anything was touched."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
