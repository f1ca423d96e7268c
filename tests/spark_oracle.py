"""What the tests of the Spark job share: an oracle of a dict and a loop, files of changes, and the base that came out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from changelogs import position_of
from pyspark.sql import SparkSession

from onefold.changelog import DELETIONS, LANDED_AT, METADATA
from onefold.jobs import parse_reconcile
from onefold.position import Position
from onefold.spark.reconciling import reconcile
from onefold.spark.report import Report

Row = dict[str, Any]

LOWEST = str(Position())


def base_of(changes: Iterable[Mapping[str, Any]], keys: Sequence[str], base: Iterable[Row] = ()) -> list[Row]:
    """The base: of each key the row with the greatest position, where of a deletion only its key is left."""
    latest: dict[tuple[Any, ...], Row] = {}
    for row in (*base, *(_as_stored(change, keys) for change in changes)):
        key = tuple(row.get(name) for name in keys)
        if key not in latest or row["_position"] > latest[key]["_position"]:
            latest[key] = row
    return in_order(latest.values())


def _as_stored(change: Mapping[str, Any], keys: Sequence[str]) -> Row:
    source = {name: value for name, value in change.items() if name not in (METADATA, LANDED_AT)}
    deleted = change[METADATA]["change_type"] in DELETIONS
    kept = {name: value for name, value in source.items() if name in keys or not deleted}
    return {**kept, "_position": position_of(change), "_deleted": deleted}


def lowest(rows: Iterable[Row]) -> list[Row]:
    """Rows of a plain copy as a base holds them."""
    return [{**row, "_position": LOWEST, "_deleted": False} for row in rows]


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


def run_job(
    spark: SparkSession,
    changes: Path | Sequence[Path],
    output: Path,
    *more: str,
    keys: str = "id",
    base: Path | None = None,
) -> Report:
    """The use case as the job's command line calls it."""
    folders = [changes] if isinstance(changes, Path) else changes
    based = ["--base", str(base)] if base else []
    words = ["--changes", *map(str, folders), *based, "--output", str(output), "--keys", keys, *more]
    return reconcile(spark, parse_reconcile(words))


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, to tell whether anything was touched."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
