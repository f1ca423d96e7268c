"""The Spark job and its peers, each as a user would write it.

A peer's table has the source's columns, the two columns that order the changes of a key, and a flag of deletion: a deleted
row stays, as it does in the job's base, and a change that comes late does not win. None of them pays for positions, digests,
checks or the report, which only the job has.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import duckdb
from pyspark.sql import SparkSession

from benchmarks.change_data import COLUMNS, DELETED, KEY, ORDER, Files
from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import DELETIONS, METADATA
from onefold.spark.reconcile.job import reconcile

Totals = tuple[int, ...]

_ALL = ", ".join((*COLUMNS, *ORDER, DELETED))
_KINDS = ", ".join(f"'{kind}'" for kind in DELETIONS)
_SELECTED = (*COLUMNS, *(f"{METADATA}.{name}" for name in ORDER), f"{METADATA}.change_type IN ({_KINDS}) AS {DELETED}")
_CHANGES = ", ".join(_SELECTED)
"""The columns that a user selects from the change log."""
_RANK = f"ROW_NUMBER() OVER (PARTITION BY {KEY} ORDER BY {ORDER[0]} DESC, {ORDER[1]} DESC)"
_NEWER = f"(w.{ORDER[0]} > b.{ORDER[0]} OR (w.{ORDER[0]} = b.{ORDER[0]} AND w.{ORDER[1]} > b.{ORDER[1]}))"


class Contestant(Protocol):
    @property
    def name(self) -> str: ...

    def prepare(self, files: Files, output: Path) -> None:
        """Prepare what is needed before the clock starts."""

    def run(self, files: Files, output: Path) -> None: ...

    def totals(self, output: Path) -> Totals: ...


def totals_sql(relation: str, gone: str) -> str:
    """Return the query of rows, deleted rows, and sums over keys and live values, for DuckDB and Spark."""
    letters = [f"ascii(substr({name}, {place}, 1))" for name, place in (("name", 12), ("email", 5), ("note", 40))]
    mixed = f"{letters[0]} * 16384 + {letters[1]} * 128 + {letters[2]} + length(city)"
    sums = [f"CAST(sum(CASE WHEN NOT {gone} THEN {value} END) AS BIGINT)" for value in (
        "visits", "amount * 100", mixed, "CASE WHEN active THEN id ELSE 0 END", "year(created) * 366 + month(created)",
    )]  # fmt: skip
    return f"SELECT count(*), sum(CASE WHEN {gone} THEN 1 ELSE 0 END), sum({KEY}), {', '.join(sums)} FROM {relation}"


def _totals_of_files(output: Path, gone: str = DELETED) -> Totals:
    row = duckdb.sql(totals_sql(f"'{output}/*.parquet'", gone)).fetchone()
    return tuple(int(value) for value in row or ())


@dataclass(frozen=True)
class Onefold:
    """The Spark job."""

    spark: SparkSession
    name: str = "onefold"

    def prepare(self, files: Files, output: Path) -> None:
        """Do nothing."""

    def run(self, files: Files, output: Path) -> None:
        words = ["--changes", str(files.changes), "--base", str(files.base), "--keys", KEY, "--output", str(output)]
        reconcile(self.spark, ReconcileArguments.parse(words))

    def totals(self, output: Path) -> Totals:
        return _totals_of_files(output, "_deleted")


@dataclass(frozen=True)
class RowNumber:
    """A window function in the same Spark session: number table and changes together by key."""

    spark: SparkSession
    name: str = "ROW_NUMBER()"

    def prepare(self, files: Files, output: Path) -> None:
        """Do nothing."""

    def run(self, files: Files, output: Path) -> None:
        query = _newest_sql(f"SELECT {_ALL} FROM {{table}} UNION ALL SELECT {_CHANGES} FROM {{changes}}")
        table, changes = (self.spark.read.parquet(str(path)) for path in (files.table, files.changes))
        self.spark.sql(query, table=table, changes=changes).write.parquet(str(output))

    def totals(self, output: Path) -> Totals:
        return _totals_of_files(output)


def _newest_sql(relation: str) -> str:
    """Return the query of the newest row of each key."""
    return f"SELECT {_ALL} FROM (SELECT *, {_RANK} AS place FROM ({relation})) WHERE place = 1"


def _winners_sql(changes: str) -> str:
    """Return the query of the newest change of each key, for DuckDB and Spark."""
    return _newest_sql(f"SELECT {_CHANGES} FROM {changes}")


@dataclass(frozen=True)
class DuckDb:
    """DuckDB's fastest form: the table without the keys that have a newer change, and those changes."""

    name: str = "DuckDB"

    def prepare(self, files: Files, output: Path) -> None:  # noqa: ARG002
        output.mkdir()

    def run(self, files: Files, output: Path) -> None:
        with duckdb.connect() as connection:
            base, winners = f"FROM '{files.table}/*.parquet'", _winners_sql(f"'{files.changes}/*.parquet'")
            connection.execute(
                f"COPY (WITH winners AS ({winners}), base AS ({base}), applied AS ("
                f"SELECT w.* FROM winners w LEFT JOIN base b USING ({KEY}) WHERE b.{ORDER[0]} IS NULL OR {_NEWER}) "
                f"SELECT * FROM base b WHERE NOT EXISTS (FROM applied a WHERE a.{KEY} = b.{KEY}) "
                f"UNION ALL BY NAME SELECT * FROM applied) TO '{output}/rows.parquet' (FORMAT parquet)"
            )

    def totals(self, output: Path) -> Totals:
        return _totals_of_files(output)


@dataclass
class DeltaRs:
    """delta-rs: MERGE of the newest changes, found by DuckDB, into a Delta table with the rows of the table."""

    folder: Path
    name: str = "delta-rs"
    _tables: dict[str, Path] = field(default_factory=dict)

    def prepare(self, files: Files, output: Path) -> None:
        kept = self.folder / "delta_rs"
        if not kept.exists():
            _deltalake().write_deltalake(str(kept), duckdb.sql(f"FROM '{files.table}/*.parquet'").to_arrow_table())
        shutil.copytree(kept, output)

    def run(self, files: Files, output: Path) -> None:
        with duckdb.connect() as connection:
            winners = connection.execute(_winners_sql(f"'{files.changes}/*.parquet'")).to_arrow_table()
        table = _deltalake().DeltaTable(str(output))
        merging = table.merge(winners, f"b.{KEY} = w.{KEY}", source_alias="w", target_alias="b")
        merging.when_matched_update_all(_NEWER).when_not_matched_insert_all().execute()

    def totals(self, output: Path) -> Totals:
        files = ", ".join(f"'{path}'" for path in _deltalake().DeltaTable(str(output)).file_uris())
        row = duckdb.sql(totals_sql(f"read_parquet([{files}])", DELETED)).fetchone()
        return tuple(int(value) for value in row or ())


@dataclass(frozen=True)
class DeltaSpark:
    """Delta on Spark: MERGE of the newest changes into a Delta table with the rows of the table, in the same session.

    marks: with deletion vectors, which Delta leaves off unless a table asks for them: replaced rows are marked, and their
    files stay, so that readers pay, and a later compaction.
    """

    spark: SparkSession
    folder: Path
    marks: bool = False

    @property
    def name(self) -> str:
        return "Delta on Spark, deletion vectors" if self.marks else "Delta on Spark"

    def prepare(self, files: Files, output: Path) -> None:
        kept = self.folder / f"delta_{'marked' if self.marks else 'plain'}"
        if not kept.exists():
            writer = self.spark.read.parquet(str(files.table)).write.format("delta")
            writer.option("delta.enableDeletionVectors", str(self.marks).lower()).save(str(kept))
        shutil.copytree(kept, output)

    def run(self, files: Files, output: Path) -> None:
        changes = self.spark.read.parquet(str(files.changes))
        query = (
            f"MERGE INTO delta.`{output}` AS b USING ({_winners_sql('{changes}')}) AS w ON b.{KEY} = w.{KEY} "
            f"WHEN MATCHED AND {_NEWER} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        self.spark.sql(query, changes=changes)

    def totals(self, output: Path) -> Totals:
        (row,) = self.spark.sql(totals_sql(f"delta.`{output}`", DELETED)).collect()
        return tuple(int(value) for value in row)


def has_delta_rs() -> bool:
    return importlib.util.find_spec("deltalake") is not None


def _deltalake() -> Any:
    """Return True if delta-rs is installed, which is not a dependency of the project."""
    return importlib.import_module("deltalake")


def contestants(spark: SparkSession, folder: Path, wanted: Sequence[str], has_delta: bool) -> list[Contestant]:
    """Return the job, and the requested peers that are installed."""
    known: dict[str, list[Contestant]] = {"row_number": [RowNumber(spark)], "duckdb": [DuckDb()]}
    known["delta_rs"] = [DeltaRs(folder)] if has_delta_rs() else []
    known["delta_spark"] = [DeltaSpark(spark, folder), DeltaSpark(spark, folder, marks=True)] if has_delta else []
    return [Onefold(spark), *(peer for name in wanted for peer in known[name])]
