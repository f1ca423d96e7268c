"""Carries values from the judge into Spark: every scalar as text, which Spark turns into the form in which it holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructField, StructType
from support.zetasql_judge import Judge

from onefold.core.names import quote
from onefold.schema.casts import convert as convert_sql
from onefold.schema.types import STRING, Array, Field, Scalar, Struct, Type, render_type
from onefold.spark.values.types import spark_type

Rows = list[tuple[Any, ...]]


def carried_type(type_: Type) -> Type:
    match type_:
        case Array(element):
            return Array(carried_type(element))  # type: ignore[arg-type]
        case Struct(fields):
            return Struct(tuple(Field(field.name, carried_type(field.type)) for field in fields))
        case _:
            return STRING


def carried_sql(x: str, type_: Type, depth: int = 1) -> str:
    """Return the value with every scalar as text; bytes as hexadecimal digits."""
    match type_:
        case Array(element):
            e, o = f"carried_{depth}", f"place_{depth}"
            texts = (
                f"ARRAY(SELECT {carried_sql(e, element, depth + 1)} FROM UNNEST({x}) AS {e} WITH OFFSET {o} ORDER BY {o})"
            )
            return f"IF({x} IS NULL, NULL, {texts})"
        case Struct(fields):
            values = (f"{carried_sql(f'{x}.{quote(f.name)}', f.type, depth)} AS {quote(f.name)}" for f in fields)
            return f"IF({x} IS NULL, NULL, STRUCT({', '.join(values)}))"
        case Scalar("BYTES"):
            return f"TO_HEX({x})"
        case _:
            return convert_sql(x, type_, STRING)


def delivered(x: Value, type_: Type) -> Value:
    """The carried value as Spark holds it."""
    match type_:
        case Array(element):
            return F.transform(x, lambda e: delivered(e, element))
        case Struct(fields):
            return F.when(x.isNotNull(), F.struct(*(delivered(x.getField(f.name), f.type).alias(f.name) for f in fields)))
        case Scalar("BYTES"):
            return F.unhex(x)
        case _:
            return x.cast(spark_type(type_))


@dataclass(frozen=True)
class Case:
    """Values of one type, as expressions, that are converted to another."""

    source: Type
    target: Type
    literals: tuple[str, ...]

    def judged(self, judge: Judge) -> Rows:
        """Each value as it landed and as it is converted, both carried."""
        rows = ", ".join(
            f"({number}, CAST({literal} AS {render_type(self.source)}))" for number, literal in enumerate(self.literals)
        )
        values = f"UNNEST(ARRAY<STRUCT<n INT64, x {render_type(self.source)}>>[{rows}])"
        converted = f"(SELECT n, x, {convert_sql('v.x', self.source, self.target)} AS y FROM {values} AS v)"
        texts = f"{carried_sql('w.x', self.source)}, {carried_sql('w.y', self.target)}"
        return [row[1:] for row in judge.rows(f"SELECT w.n, {texts} FROM {converted} AS w ORDER BY n")]


def carried_frame(spark: SparkSession, types: Sequence[Type], columns: Sequence[Sequence[Any]]) -> DataFrame:
    """A frame with one column of each type, named by its place and as long as its values; NULL below them."""
    schema = StructType([StructField(str(place), spark_type(carried_type(type_))) for place, type_ in enumerate(types)])
    return spark.createDataFrame(list(zip_longest(*columns)), schema).coalesce(1)
