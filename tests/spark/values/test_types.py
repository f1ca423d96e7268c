"""Types of files' columns: their BigQuery types, and values in Spark form."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.core.errors import InvalidColumns, InvalidType
from onefold.schema.types import parse_type
from onefold.spark.columns import named
from onefold.spark.values.types import columns_of, normalized, spark_type, type_of

# Spark's type, BigQuery's type, a value, the value in Spark form.
TYPES = [
    ("tinyint", "INT64", "1Y", "1L"),
    ("smallint", "INT64", "-1S", "-1L"),
    ("int", "INT64", "2147483647", "2147483647L"),
    ("bigint", "INT64", "9223372036854775807L", "9223372036854775807L"),
    ("float", "FLOAT64", "0.1F", "0.10000000149011612D"),
    ("double", "FLOAT64", "0.1D", "0.1D"),
    ("decimal(10,2)", "NUMERIC", "1.50BD", "CAST(1.5 AS DECIMAL(38, 9))"),
    ("decimal(38,9)", "NUMERIC", "1.5BD", "CAST(1.5 AS DECIMAL(38, 9))"),
    ("decimal(10,10)", "BIGNUMERIC", "0.1000000000BD", "'0.1'"),
    ("decimal(38,30)", "BIGNUMERIC", "0.000000000000000000000000000001BD", "'0.000000000000000000000000000001'"),
    ("decimal(38,8)", "BIGNUMERIC", "-100BD", "'-100'"),
    ("decimal(38,0)", "BIGNUMERIC", "99999999999999999999999999999999999999BD", "'99999999999999999999999999999999999999'"),
    ("string", "STRING", "'a'", "'a'"),
    ("binary", "BYTES", "X'00FF'", "X'00FF'"),
    ("boolean", "BOOL", "true", "true"),
    ("date", "DATE", "DATE '0001-01-01'", "DATE '0001-01-01'"),
    ("timestamp", "TIMESTAMP", "TIMESTAMP '2020-01-01 00:00:00.000001Z'", "TIMESTAMP '2020-01-01 00:00:00.000001Z'"),
    ("timestamp_ntz", "DATETIME", "TIMESTAMP_NTZ '2020-01-01 00:00:00'", "TIMESTAMP_NTZ '2020-01-01 00:00:00'"),
    ("void", "STRING", "NULL", "CAST(NULL AS STRING)"),
    ("array<int>", "ARRAY<INT64>", "array(2, NULL, 1)", "array(2L, NULL, 1L)"),
    (
        "map<string,decimal(10,10)>", "ARRAY<STRUCT<key STRING, value BIGNUMERIC>>",
        "map('b', 0.1000000000BD, 'a', NULL)", "array(struct('b', '0.1'), struct('a', NULL))",
    ),
    (
        "struct<a:struct<`b.c`:smallint>,d:map<int,float>>",
        "STRUCT<a STRUCT<`b.c` INT64>, d ARRAY<STRUCT<key INT64, value FLOAT64>>>",
        "named_struct('a', NULL, 'd', map(1, 0.5F))", "struct(NULL, array(struct(1L, 0.5D)))",
    ),
]  # fmt: skip


def _data_type(spark: SparkSession, text: str) -> t.DataType:
    return spark.sql(f"SELECT CAST(NULL AS {text}) AS x").schema["x"].dataType


@pytest.mark.parametrize(("spark_name", "name", "value", "expected"), TYPES)
def test_a_value_of_a_file_is_converted_to_its_spark_form(
    spark: SparkSession, spark_name: str, name: str, value: str, expected: str
) -> None:
    type_ = type_of(_data_type(spark, spark_name))
    assert type_ == parse_type(name)
    query = f"SELECT 0 AS n, CAST({value} AS {spark_name}) AS x UNION ALL SELECT 1, NULL ORDER BY n"
    frame = spark.sql(query)
    found = frame.select(normalized(frame["x"], frame.schema["x"].dataType).alias("y"))
    assert found.schema["y"].dataType.simpleString() == spark_type(type_).simpleString()
    expected_value = F.when(F.col("n") == 0, F.expr(expected).cast(spark_type(type_)))
    assert frame.select(normalized(frame["x"], frame.schema["x"].dataType).eqNullSafe(expected_value)).collect() == [
        (True,),
        (True,),
    ]


@pytest.mark.parametrize(
    ("spark_name", "words"),
    [
        ("array<array<int>>", "it is an array of arrays"),
        ("map<int,interval day to second>", "value is interval day to second, which is no type of BigQuery"),
        ("struct<a:array<map<int,int>>>", "a is an array of arrays"),
        ("struct<a:struct<>>", "a is a struct without fields"),
        ("variant", "it is variant, which is no type of BigQuery"),
    ],
)
def test_a_type_that_bigquery_lacks_is_refused_by_its_path(spark: SparkSession, spark_name: str, words: str) -> None:
    with pytest.raises(InvalidType, match=words):
        type_of(_data_type(spark, spark_name))


def test_all_columns_without_a_type_are_named_at_once() -> None:
    interval = t.YearMonthIntervalType()
    inner = t.StructType([t.StructField("b", interval), t.StructField("B", t.LongType())])
    fields = [t.StructField("a.x", interval), t.StructField("a", inner), t.StructField("A", t.LongType())]
    with pytest.raises(InvalidColumns) as raised:
        columns_of(t.StructType(fields))
    assert [problem.split(",")[0] for problem in raised.value.problems] == [
        "a.x is interval year to month",
        "a: two fields are named B",
        "a.b is interval year to month",
        "the columns: two fields are named A",
    ]


def test_the_columns_of_a_file_have_their_types() -> None:
    schema = t.StructType([t.StructField("id", t.IntegerType()), t.StructField("text", t.VarcharType(20))])
    assert [(column.name, str(column.type)) for column in columns_of(schema)] == [("id", "INT64"), ("text", "STRING")]


@pytest.mark.parametrize("name", ["a", "a.b", "a`b", "a b", "żółw", "select"])
def test_a_column_is_found_by_whatever_name_it_has(spark: SparkSession, name: str) -> None:
    assert spark.createDataFrame([(1,)], [name]).select(named(name)).collect() == [(1,)]
