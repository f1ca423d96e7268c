"""BigQuery's tables as frames and back, through BigQuery's client; the connector is in test_spark_connector."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.columns import columns
from support.zetasql_judge import Judge

from onefold.core.errors import NotFound, TryAgain
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES
from onefold.schema.types import parse_type
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'onefold[spark]'")
from pyspark.sql import functions as F  # noqa: N812

from onefold.spark.io.bigquery_tables import EXPIRES, StagingTables, plan_read
from onefold.spark.io.staging import rest_field, staged_type, unstage_sql
from onefold.spark.values.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUSTOMER = TableId(DEFAULT_PROJECT, "shop", "customer")


@pytest.fixture
def tables(spark: SparkSession, dataset: EmulatedDataset) -> Iterator[StagingTables]:
    with StagingTables(spark, dataset.client) as made:
        yield made


def table_of(dataset: EmulatedDataset, name: str = "customer") -> TableId:
    return TableId(DEFAULT_PROJECT, dataset.name, name)


def names_in(dataset: EmulatedDataset) -> set[str]:
    return {item.table_id for item in dataset.client.list_tables(dataset.name)}


# A type, a value of it as BigQuery's SQL writes it, and the text that Spark makes of what it holds
VALUES = [
    ("STRING", "'ż\\n'", "ż\n"),
    ("BYTES", "FROM_HEX('ff00')", None),
    ("BOOL", "TRUE", "true"),
    ("INT64", "-9223372036854775808", "-9223372036854775808"),
    ("NUMERIC", "NUMERIC '1.125'", "1.125000000"),
    ("BIGNUMERIC", "BIGNUMERIC '1.12345'", "1.12345"),
    ("FLOAT64", "CAST('nan' AS FLOAT64)", "NaN"),
    ("FLOAT64", "CAST('-inf' AS FLOAT64)", "-Infinity"),
    ("DATE", "DATE '0001-01-01'", "0001-01-01"),
    ("DATETIME", "DATETIME '0001-01-01 00:00:00.000001'", "0001-01-01 00:00:00.000001"),
    ("TIMESTAMP", "TIMESTAMP '0001-01-01 00:00:00.000001+00'", "0001-01-01 00:00:00.000001"),
    ("TIMESTAMP", "TIMESTAMP '9999-12-31 23:59:59.999999+00'", "9999-12-31 23:59:59.999999"),
    ("TIME", "TIME '23:59:59.999999'", "23:59:59.999999"),
    ("JSON", "JSON '{\"a\": [1, null]}'", '{"a":[1,null]}'),
    ("ARRAY<TIMESTAMP>", "[TIMESTAMP '2024-01-01 00:00:00+00']", "[2024-01-01 00:00:00]"),
    ("ARRAY<STRUCT<key STRING, value TIME>>", "[STRUCT('k' AS key, TIME '01:02:03' AS value)]", "[{k, 01:02:03}]"),
    (
        "STRUCT<x INT64, t TIMESTAMP, u STRUCT<d DATETIME>>",
        "STRUCT(1 AS x, TIMESTAMP '1000-01-01 00:00:00+00' AS t, STRUCT(DATETIME '2024-01-01 00:00:00' AS d) AS u)",
        "{1, 1000-01-01 00:00:00, {2024-01-01 00:00:00}}",
    ),
]


@pytest.mark.parametrize(("type_", "literal", "text"), VALUES)
def test_values_and_null_arrive_and_are_staged_unchanged(
    tables: StagingTables, dataset: EmulatedDataset, type_: str, literal: str, text: str | None
) -> None:
    absent = "[]" if type_.startswith("ARRAY") else "NULL"
    dataset.land("customer", {"id": "INT64", "x": type_}, f"1, {literal}", f"2, {absent}")
    wanted = columns(id="INT64", x=type_)

    rows = tables.read(table_of(dataset), wanted)
    assert [field.dataType for field in rows.frame.schema.fields] == [spark_type(column.type) for column in wanted]
    value, none = (row[0] for row in rows.frame.orderBy("id").select(F.col("x").cast("string")).collect())
    assert none == (absent if absent == "[]" else None)
    if text is None:
        assert [bytes(row.x) for row in rows.frame.where("id = 1").collect()] == [b"\xff\x00"]
    else:
        assert value == text

    staged = tables.stage(rows.frame, table_of(dataset), wanted)
    assert same(dataset.run(f"{staged.query} ORDER BY id"), dataset.rows("customer"))


def same(left: Sequence[tuple[object, ...]], right: Sequence[tuple[object, ...]]) -> bool:
    """Equal, NaN with itself too."""

    def plain(value: object) -> object:
        return "NaN" if isinstance(value, float) and math.isnan(value) else value

    return [[plain(value) for value in row] for row in left] == [[plain(value) for value in row] for row in right]


def test_every_digit_of_a_numeric_is_kept(tables: StagingTables, dataset: EmulatedDataset) -> None:
    greatest = "99999999999999999999999999999.999999999"
    wanted = columns(id="INT64", price="NUMERIC")
    id_ = table_of(dataset)
    dataset.client.create_table(bigquery.Table(str(id_), [rest_field(column.name, column.type) for column in wanted]))
    assert dataset.client.insert_rows_json(str(id_), [{"id": 1, "price": greatest}]) == []
    rows = tables.read(id_, wanted)
    staged = tables.stage(rows.frame, id_, wanted)
    assert [str(row[1]) for row in dataset.run(staged.query)] == [greatest]


def test_only_the_requested_rows_and_columns_are_read(tables: StagingTables, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64", "name": "STRING", "_landed_at": "TIMESTAMP"}, *LANDED)
    window = "_landed_at >= TIMESTAMP '2024-01-02 00:00:00+00'"
    rows = tables.read(table_of(dataset), columns(name="STRING"), where=window)
    assert rows.frame.columns == ["name"]
    assert [tuple(row) for row in rows.frame.collect()] == [("new",)]


LANDED = ("1, 'old', TIMESTAMP '2024-01-01 00:00:00+00'", "2, 'new', TIMESTAMP '2024-01-03 00:00:00+00'")


def test_a_table_without_rows_gives_a_frame_of_the_right_types(tables: StagingTables, dataset: EmulatedDataset) -> None:
    types = {"id": "INT64", "at": "DATETIME", "price": "NUMERIC", "pairs": "ARRAY<STRUCT<a BYTES, b TIME>>"}
    dataset.land("customer", types)
    rows = tables.read(table_of(dataset), columns(**types))
    assert rows.frame.collect() == []
    assert [field.dataType for field in rows.frame.schema.fields] == [spark_type(column.type) for column in rows.columns]


def test_a_frame_without_rows_is_staged_too(tables: StagingTables, dataset: EmulatedDataset) -> None:
    types = {"id": "INT64", "at": "TIMESTAMP", "tags": "ARRAY<STRING>"}
    dataset.land("customer", types)
    rows = tables.read(table_of(dataset), columns(**types))
    staged = tables.stage(rows.frame, table_of(dataset), rows.columns)
    assert dataset.run(staged.query) == []


def test_what_spark_cannot_convert_is_converted_by_bigquery(tables: StagingTables, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64", "Price": "STRING"}, "1, '12'", "2, 'dear'")
    targets = {"id": parse_type("STRING"), "price": parse_type("INT64")}
    rows = tables.read(table_of(dataset), columns(id="INT64", Price="STRING"), targets)
    # An INT64 becomes text in Spark, so it arrives as it landed.
    assert rows.columns == columns(id="INT64", Price="INT64")
    assert [tuple(row) for row in rows.frame.orderBy("id").collect()] == [(1, 12), (2, None)]


def test_a_datetime_in_a_named_zone_is_converted_by_bigquery() -> None:
    (column,) = columns(at="DATETIME")
    targets = {"at": parse_type("TIMESTAMP")}
    assert plan_read(CUSTOMER, [column], targets).returned == (column,)
    in_warsaw = plan_read(CUSTOMER, [column], targets, zone="Europe/Warsaw")
    assert in_warsaw.returned == columns(at="TIMESTAMP")
    assert "'Europe/Warsaw'" in in_warsaw.sql


def test_a_staging_table_expires(tables: StagingTables, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    # The emulator does not tell when a table expires.
    asked: list[bigquery.Table] = []
    create = dataset.client.create_table

    def recorded(table: bigquery.Table) -> bigquery.Table:
        asked.append(table)
        return create(table)

    monkeypatch.setattr(dataset.client, "create_table", recorded)
    dataset.land("customer", {"id": "INT64"}, "1")
    rows = tables.read(table_of(dataset), columns(id="INT64"))
    earliest = datetime.datetime.now(datetime.UTC) + EXPIRES - datetime.timedelta(seconds=1)
    tables.stage(rows.frame, table_of(dataset), rows.columns)
    (table,) = asked
    assert table.expires is not None
    assert earliest <= table.expires <= datetime.datetime.now(datetime.UTC) + EXPIRES


def test_staging_tables_are_dropped_with_the_block(spark: SparkSession, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64"}, "1")

    def job_that_fails() -> None:
        with StagingTables(spark, dataset.client) as tables:
            rows = tables.read(table_of(dataset), columns(id="INT64"))
            first, second = (tables.stage(rows.frame, table_of(dataset), rows.columns).id for _ in range(2))
            assert names_in(dataset) == {"customer", first.table, second.table}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        job_that_fails()
    assert names_in(dataset) == {"customer"}


def test_a_staging_table_that_is_already_gone_is_no_error(tables: StagingTables, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64"})
    rows = tables.read(table_of(dataset), columns(id="INT64"))
    dataset.client.delete_table(str(tables.stage(rows.frame, table_of(dataset), rows.columns).id))
    tables.drop_staging()
    assert names_in(dataset) == {"customer"}


def test_two_attempts_never_write_into_one_table(spark: SparkSession, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64"}, "1")
    id_, wanted = table_of(dataset), columns(id="INT64")
    with (
        StagingTables(spark, dataset.client, attempt="a") as one,
        StagingTables(spark, dataset.client, attempt="b") as other,
    ):
        rows = one.read(id_, wanted)
        assert one.stage(rows.frame, id_, wanted).id != other.stage(rows.frame, id_, wanted).id


def test_an_attempt_that_runs_twice_overwrites_nothing(spark: SparkSession, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64"}, "1")
    id_, wanted = table_of(dataset), columns(id="INT64")
    with (
        StagingTables(spark, dataset.client, attempt="a") as one,
        StagingTables(spark, dataset.client, attempt="a") as again,
    ):
        rows = one.read(id_, wanted)
        staged = one.stage(rows.frame, id_, wanted)
        with pytest.raises(TryAgain, match="exists already"):
            again.stage(rows.frame, id_, wanted)
        again.drop_staging()
        assert dataset.run(staged.query) == [(1,)]


def test_a_staging_table_is_no_version_of_its_table(tables: StagingTables, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64"})
    rows = tables.read(table_of(dataset), columns(id="INT64"))
    assert DEFAULT_NAMES.split(tables.stage(rows.frame, table_of(dataset), rows.columns).id.table) is None


def test_a_missing_table_is_an_error(tables: StagingTables, dataset: EmulatedDataset) -> None:
    with pytest.raises(NotFound, match="nobody"):
        tables.read(table_of(dataset, "nobody"), columns(id="INT64"))


EVERY_TYPE = {
    **{name.lower(): name for name in ("STRING", "BYTES", "BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64", "DATE")},
    **{name.lower(): name for name in ("DATETIME", "TIMESTAMP", "TIME", "INTERVAL", "GEOGRAPHY", "JSON")},
    "days": "RANGE<DATE>",
    "times": "RANGE<TIMESTAMP>",
    "nested": "ARRAY<STRUCT<`e1` JSON, s STRUCT<t TIME, r ARRAY<BIGNUMERIC>>>>",
}


@pytest.mark.parametrize("text_timestamps", [False, True])
def test_bigquery_accepts_a_read_of_every_type_and_gives_what_was_planned(judge: Judge, text_timestamps: bool) -> None:
    plan = plan_read(CUSTOMER, columns(**EVERY_TYPE), where="int64 > 1", text_timestamps=text_timestamps)
    given = judge.columns(plan.sql, {str(CUSTOMER): list(EVERY_TYPE.items())})
    assert [(name, parse_type(type_)) for name, type_ in given] == [(column.name, column.type) for column in plan.delivered]
    assert not plan.is_plain


def test_bigquery_accepts_a_conversion_whose_result_it_delivers_as_text(judge: Judge) -> None:
    plan = plan_read(CUSTOMER, columns(x="STRING"), {"x": parse_type("ARRAY<TIME>")}, where="x > '0'")
    assert judge.columns(plan.sql, {str(CUSTOMER): [("x", "STRING")]}) == [("x", "ARRAY<STRING>")]
    content = "SELECT CAST(x AS STRING) AS x FROM UNNEST(['12:00:00', 'noon']) AS x"
    rows = judge.rows(plan.sql, {str(CUSTOMER): [("x", "STRING")]}, {str(CUSTOMER): content})
    assert sorted(rows) == [([],), (["12:00:00"],)]


@pytest.mark.parametrize("type_", EVERY_TYPE.values())
def test_bigquery_gives_a_staged_value_its_own_type_back(judge: Judge, type_: str) -> None:
    own, staged = parse_type(type_), str(staged_type(parse_type(type_)))
    table = {"staging": [("x", staged)]}
    ((_, given),) = judge.columns(f"SELECT {unstage_sql('x', own)} AS x FROM staging", table)
    assert parse_type(given) == own


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("TIMESTAMP", "0001-01-01 00:00:00.000001", "TIMESTAMP '0001-01-01 00:00:00.000001+00'"),
        ("TIMESTAMP", "2024-07-01 12:00:00", "TIMESTAMP '2024-07-01 12:00:00+00'"),
        ("DATETIME", "0001-01-01 00:00:00.5", "DATETIME '0001-01-01 00:00:00.5'"),
        ("TIME", "23:59:59.999999", "TIME '23:59:59.999999'"),
        ("JSON", '{"a":1}', "JSON '{\"a\":1}'"),
    ],
)
def test_a_staged_text_is_the_value_in_any_session(judge: Judge, type_: str, text: str, value: str) -> None:
    back: Any = unstage_sql(f"'{text}'", parse_type(type_))
    assert judge.rows(f"SELECT TO_JSON_STRING({back})") == judge.rows(f"SELECT TO_JSON_STRING({value})")
