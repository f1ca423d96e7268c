"""What a job does with many changes of a key: the winner, what a deletion leaves, and nothing left over in the session."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from changelogs import change
from pyarrow import Table, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from spark_oracle import read_base, run_job

from onefold.base import DELETED, POSITION
from onefold.spark.changes import Part, rows_of
from onefold.spark.digests import digest
from onefold.spark.session import prepared
from onefold.types import parse_type
from onefold.versions import Column

LATERAL_ALIASES = "spark.sql.lateralColumnAlias.enableImplicitResolution"


@pytest.fixture
def lateral_aliases(spark: SparkSession) -> Iterator[None]:
    """Spark as it is without the settings of the session: a name in a lambda's body may be an output's."""
    spark.conf.set(LATERAL_ALIASES, "true")
    yield
    prepared(spark)


def land(folder: Path, rows: list[dict[str, object]]) -> Path:
    folder.mkdir()
    parquet.write_table(Table.from_pylist(rows), folder / "rows.parquet")
    return folder


@pytest.mark.usefixtures("lateral_aliases")
@pytest.mark.parametrize("number", [0.1, 1e300, -0.0, float("nan"), 5e-324])
def test_a_deletion_may_have_any_float(spark: SparkSession, tmp_path: Path, number: float) -> None:
    values = {"n": number, "list": [number], "struct": {"f": number, "d": Decimal("1.5")}}
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
    ("kind", "value"), [("FLOAT64", "0.1D"), ("FLOAT64", "1e300D"), ("STRUCT<f FLOAT64>", "struct(0.1D AS f)")]
)
def test_the_digest_is_of_the_landed_row_whatever_becomes_of_it(spark: SparkSession, kind: str, value: str) -> None:
    """Both of a deletion, whose values go, and of a value that is converted: the names of the outputs are the same."""
    columns = (Column("id", parse_type("INT64")), Column("f", parse_type(kind)))
    landed = spark.range(1).select("id", F.expr(value).alias("f"), F.lit("place").alias(POSITION))
    (expected,) = landed.select(digest(columns)).first()
    unified = (columns[0], Column("f", parse_type("STRING")))
    for deleted in (True, False):
        (row,) = _rows(landed, deleted, columns, unified).collect()
        assert row[POSITION] == f"place {expected}"
        assert (row["f"] is None) is deleted


def _rows(landed: DataFrame, deleted: bool, columns: tuple[Column, ...], unified: tuple[Column, ...]) -> DataFrame:
    return rows_of(Part(landed.withColumn(DELETED, F.lit(deleted)), columns), unified, ["id"])
