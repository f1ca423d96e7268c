"""The latest row of each key: the winner, the merge into a base, the rows of deletions, and a session without leftovers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import Table, concat_tables, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from support.changelogs import change
from support.spark_oracle import base_of, positions_sort_as, read_base, run_job, without_positions
from support.sweeps import sweep

from onefold.changelog.digest import LENGTH
from onefold.core.errors import InvalidInput, NotFound
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column, Schema
from onefold.schema.types import parse_type
from onefold.spark.reconcile.change_log import Part, unified_rows
from onefold.spark.reconcile.latest import BaseMerge, count_matches, find_winners, in_memory
from onefold.spark.session import prepared
from onefold.spark.values.digest import digest

LATERAL_ALIASES = "spark.sql.lateralColumnAlias.enableImplicitResolution"


@pytest.fixture
def lateral_aliases(spark: SparkSession) -> Iterator[None]:
    """Set Spark's own default: a name in the body of a lambda may mean an output."""
    spark.conf.set(LATERAL_ALIASES, "true")
    yield
    prepared(spark)


def land(folder: Path, rows: list[dict[str, object]]) -> Path:
    folder.mkdir()
    parquet.write_table(Table.from_pylist(rows), folder / "rows.parquet")
    return folder


@pytest.mark.usefixtures("lateral_aliases")
@pytest.mark.parametrize("number", sweep([float("nan"), 0.1, 1e300, -0.0, 5e-324]))
def test_a_deletion_may_have_any_float(spark: SparkSession, tmp_path: Path, number: float) -> None:
    values: dict[str, Any] = {"n": number, "list": [number], "struct": {"f": number, "d": Decimal("1.5")}}
    rows = [
        change("INSERT", "1", id=1, **values),
        change("DELETE", "2", id=1, **values),
        change("DELETE", "1", id=2, **values),
    ]
    report = run_job(spark, land(tmp_path / "changes", rows), tmp_path / "out")
    assert (report.changes, report.tombstones, report.live) == (3, 2, 0)
    assert sorted(row["id"] for row in read_base(spark, tmp_path / "out")) == [1, 2]


@pytest.mark.usefixtures("lateral_aliases")
@pytest.mark.parametrize(
    ("kind", "value"), sweep([("FLOAT64", "0.1D"), ("FLOAT64", "1e300D"), ("STRUCT<f FLOAT64>", "struct(0.1D AS f)")])
)
def test_the_digest_is_of_the_landed_row_whatever_the_row_becomes(spark: SparkSession, kind: str, value: str) -> None:
    """The values of a deletion become NULL, and a value is converted: both outputs have the names of the inputs."""
    columns = Schema((Column("id", parse_type("INT64")), Column("f", parse_type(kind))))
    landed = spark.range(1).select("id", F.expr(value).alias("f"), F.lit("place").alias(POSITION))
    ((expected,),) = landed.select(digest(columns)).collect()
    unified = Schema((columns[0], Column("f", parse_type("STRING"))))
    for deleted in (True, False):
        (row,) = _rows(landed, deleted, columns, unified).collect()
        assert row[POSITION] == f"place {expected}"
        assert (row["f"] is None) is deleted


def _rows(landed: DataFrame, deleted: bool, columns: Schema, unified: Schema) -> DataFrame:
    return unified_rows(Part(landed.withColumn(DELETED, F.lit(deleted)), columns), unified, ["id"])


def nothing_is_cached(spark: SparkSession) -> bool:
    return bool(spark._jsparkSession.sharedState().cacheManager().isEmpty()) and not spark._jsc.getPersistentRDDs()


def test_a_later_job_of_the_session_reads_the_present_files(spark: SparkSession, tmp_path: Path) -> None:
    """The same folders get other rows: a frame that was still cached would give the rows of the job before."""
    changes, base = tmp_path / "changes", tmp_path / "base"
    for number in (1, 2):
        shutil.rmtree(changes, ignore_errors=True)
        rows = [change("INSERT", "1", id=key, value=number) for key in range(number)]
        run_job(spark, land(tmp_path / f"landed_{number}", rows).rename(changes), tmp_path / f"first_{number}")
        assert nothing_is_cached(spark)
        shutil.rmtree(base, ignore_errors=True)
        (tmp_path / f"first_{number}").rename(base)
        run_job(spark, changes, tmp_path / f"second_{number}", base=base)
        assert nothing_is_cached(spark)
        found = [(row["id"], row["value"]) for row in read_base(spark, tmp_path / f"second_{number}")]
        assert found == [(key, number) for key in range(number)]


@pytest.mark.parametrize("wrong", sweep(["empty window", "repeated keys"]))
def test_a_job_that_fails_leaves_nothing_in_the_cache(spark: SparkSession, tmp_path: Path, wrong: str) -> None:
    changes = land(tmp_path / "changes", [change("INSERT", "5", id=1)])
    run_job(spark, changes, tmp_path / "base")
    if wrong == "repeated keys":
        (file,) = (tmp_path / "base").glob("part-*")
        parquet.write_table(concat_tables([parquet.read_table(file)] * 2), file)
        file.with_name(f".{file.name}.crc").unlink()
    window = ["--to", "1"] if wrong == "empty window" else []
    with pytest.raises((InvalidInput, NotFound), match=r"nothing was written|not unique among those that"):
        run_job(spark, changes, tmp_path / "out", *window, base=tmp_path / "base")
    assert nothing_is_cached(spark)
    assert not (tmp_path / "out").exists()


def test_the_report_counts_disputed_changes_and_those_without_a_sequence(spark: SparkSession, tmp_path: Path) -> None:
    """Three changes of one position with two contents are one dispute; a position that the base has too is another one."""
    sequences = ["1", None, "no form at all", "mysql-bin.000001/4/0", "zz", None]
    rows = [change("INSERT", text, id=number % 2, value="x") for number, text in enumerate(sequences)]
    rows += [change("INSERT", "9", id=7, value=value) for value in ("a", "b", "a")]
    report = run_job(spark, land(tmp_path / "changes", rows), tmp_path / "base")
    assert (report.changes, report.keys, report.disputed) == (9, 3, 1)
    assert (report.without_sequence, report.ordered_by_text) == (2, 2)
    assert "1 change of a disputed position, 2 without a sequence, 2 ordered by text" in report.summary()
    more = [change("INSERT", "9", id=7, value=value) for value in ("c", "c", "d")]
    again = run_job(spark, land(tmp_path / "more", more), tmp_path / "out", base=tmp_path / "base")
    assert (again.disputed, again.ordered_by_text) == (2, 0)


def test_winners_replace_live_rows_tombstones_and_missing_rows_of_the_base(spark: SparkSession, tmp_path: Path) -> None:
    """A live row, a tombstone and no row of the base, each with changes of both kinds; some changes are too late."""
    kinds = ("INSERT", "DELETE")
    old = [change(kind, "5", id=f"{kind} {new} {at}") for kind in kinds for new in kinds for at in (4, 5, 6)]
    new = [change(row["id"].split()[1], row["id"].split()[2], id=row["id"]) for row in old]
    new += [change(kind, "1", id=f"none {kind}") for kind in kinds]
    run_job(spark, land(tmp_path / "old", old), tmp_path / "base")
    report = run_job(spark, land(tmp_path / "new", new), tmp_path / "out", base=tmp_path / "base")
    found = read_base(spark, tmp_path / "out")
    assert without_positions(found) == base_of([*old, *new], ["id"])
    assert positions_sort_as(found, [*old, *new], ["id"])
    counts = (report.inserted, report.updated, report.deleted, report.tombstones, report.repeated, report.lost)
    assert counts == (1 + 2, 1, 1 + 0, 1 + 1, 2, 5)
    assert (report.keys, report.base_rows, report.rows) == (14, 12, 14)


Change = tuple[int | None, str, bool]


def at(sequence: str, digest_: str = "0") -> str:
    return f"{sequence} 1 {digest_ * LENGTH}"


def frame_of(spark: SparkSession, changes: list[Change]) -> DataFrame:
    return spark.createDataFrame(changes, f"id int, {POSITION} string, {DELETED} boolean")


def test_the_winner_of_each_key_has_the_greatest_position_and_null_is_a_key(spark: SparkSession) -> None:
    changes: list[Change] = [
        (1, at("2B"), True),
        (1, at("2A"), False),
        (None, at("0"), False),
        (None, at("2A", "f"), False),
        (None, at("2A", "0"), True),
        (2, at("1zz"), False),
    ]
    with in_memory() as store:
        winners = find_winners(frame_of(spark, changes), ["id"], store)
        found = {row["id"]: (row[POSITION], row[DELETED]) for row in winners.rows.collect()}
    assert found == {1: (at("2B"), True), None: (at("2A", "f"), False), 2: (at("1zz"), False)}
    assert (winners.changes, winners.count, winners.deletions, winners.null_keys) == (6, 3, 1, 1)
    assert (winners.disputed, winners.without_sequence, winners.ordered_by_text) == (1, 1, 1)


@pytest.mark.parametrize("broadcasts", sweep([True, False]), ids=["broadcast", "shuffle"])
def test_a_merge_takes_the_newer_winners_and_keeps_all_other_rows(spark: SparkSession, broadcasts: bool) -> None:
    base = frame_of(spark, [(1, at("2A"), False), (2, at("2C"), False), (None, at("2A"), True), (3, at("2A"), False)])
    changes = frame_of(spark, [(1, at("2B"), True), (2, at("2B"), False), (None, at("2B"), False), (4, at("2A"), False)])
    with in_memory() as store:
        merge = BaseMerge(base, find_winners(changes, ["id"], store), broadcasts)
        matches = merge.matches()
        counts = count_matches(matches)
        rows = merge.result(matches, merge.newer_winners(matches, all_are=False)).collect()
    assert {row["id"]: (row[POSITION].split()[0], row[DELETED]) for row in rows} == {
        1: ("2B", True),
        2: ("2C", False),
        3: ("2A", False),
        4: ("2A", False),
        None: ("2B", False),
    }
    assert len(rows) == 5
    assert (counts["rows"], counts["winners"], counts["live"]) == (3, 3, 2)
    assert (counts["inserted"], counts["updated"], counts["deleted"], counts["lost"]) == (1, 0, 1, 1)
    assert (counts["tombstones"], counts["repeated"], counts["disputed"]) == (0, 0, 0)
