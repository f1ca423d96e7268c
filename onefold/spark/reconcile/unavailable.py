"""Values that a log of Debezium lacks: PostgreSQL leaves a long value out of an update that did not change it.

Debezium writes a placeholder instead (option `unavailable.value.placeholder`, "Debezium connector for PostgreSQL", section
"Toasted values", https://debezium.io/documentation/reference/stable/connectors/postgresql.html), in the form of the column's
type: text, bytes, or an array. A placeholder is never stored. The value is taken from the latest earlier row of the key,
among the changes of this batch and the base.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, Scalar, Type
from onefold.spark.columns import named
from onefold.spark.reconcile.latest import Winners
from onefold.spark.values.types import spark_type

UNAVAILABLE = "_onefold_unavailable"
"""The column with the folded names of the columns whose values the log lacks."""

_KEY, _FOUND = "_onefold_key_", "_onefold_found_"
_AT, _UNKNOWN = "_onefold_at", "_onefold_unknown"
_HEX = "hex:"
_BYTES, _NUMBERS = Scalar("BYTES"), ("INT64", "NUMERIC", "FLOAT64")


def placeholder_bytes(option: str) -> bytes:
    """Return the bytes that the option `unavailable.value.placeholder` means.

    Examples:
        >>> placeholder_bytes("hex:4f4b")
        b'OK'
    """
    return bytes.fromhex(option.removeprefix(_HEX)) if option.startswith(_HEX) else option.encode()


def unavailable_columns(columns: Sequence[Column], values: Sequence[Value], option: str, keys: Sequence[str]) -> Value:
    """Return the folded names of the columns whose values are placeholders, as an array.

    Args:
        columns: the columns of a row.
        values: their values, in the same order.
        option: Debezium's option `unavailable.value.placeholder`.
        keys: the columns of the key, whose values are never placeholders.
    """
    folded_keys = {fold_case(key) for key in keys}
    names = (
        F.when(found, F.lit(fold_case(column.name)))
        for column, value in zip(columns, values, strict=True)
        if fold_case(column.name) not in folded_keys and (found := _is_placeholder(value, column.type, option)) is not None
    )
    return F.array_compact(F.array(F.lit(None).cast("string"), *names))


def _is_placeholder(x: Value, type_: Type, option: str) -> Value | None:
    """Compare a value with every form in which Debezium writes the placeholder; None if the type has no such form."""
    plain = placeholder_bytes(option)
    match type_:
        case Array(element) if element == STRING:
            return (F.size(x) == 1) & F.get(x, F.lit(0)).isin(*_texts(plain))
        case Array(element) if element == _BYTES:
            return (F.size(x) == 1) & (F.get(x, F.lit(0)) == F.lit(plain))
        case Array(Scalar(name)) if name in _NUMBERS:
            # Debezium fills arrays of numbers with the placeholder's bytes, which are signed in Java.
            numbers = [number - 256 if number > 127 else number for number in plain]
            return x == F.array(*map(F.lit, numbers)).cast(spark_type(type_))
        case Scalar("STRING"):
            return x.isin(*_texts(plain))
        case Scalar("BYTES"):
            return x == F.lit(plain)
    return None


def _texts(plain: bytes) -> list[str]:
    """Return all texts of the placeholder: plain, bytes by each `binary.handling.mode`, hstore as JSON, and a UUID."""
    text = plain.decode(errors="replace")
    as_bytes = [base64.b64encode(plain).decode(), base64.urlsafe_b64encode(plain).decode(), plain.hex(), plain.hex().upper()]
    hstore = [json.dumps({text: text}, ensure_ascii=False, separators=pair) for pair in ((",", ":"), (", ", ": "))]
    return [text, *as_bytes, *hstore, _name_uuid(plain)]


def _name_uuid(plain: bytes) -> str:
    """Return the UUID that Java's `UUID.nameUUIDFromBytes` makes: version 3, without a namespace."""
    return str(uuid.UUID(bytes=hashlib.md5(plain, usedforsecurity=False).digest(), version=3))


@contextmanager
def completed(winners: Winners, changes: DataFrame, base: DataFrame | None) -> Iterator[Winners]:
    """Give the winners with the values that the log lacks, until the end of the block.

    Args:
        winners: winners with the column UNAVAILABLE, which the result does not have.
        changes: the changes among which the winners were found.
        base: the base in the columns of the winners; None if there is no base.
    """
    plain = replace(winners, rows=winners.rows.drop(UNAVAILABLE))
    incomplete = winners.rows.where(F.size(named(UNAVAILABLE)) > 0)
    counts = incomplete.select(F.explode(named(UNAVAILABLE)).alias("name")).groupBy("name").count().collect()
    if not counts:
        yield plain
        return
    names = [column for column in winners.rows.columns if fold_case(column) in {row["name"] for row in counts}]
    found = _earlier_values(incomplete, changes, base, winners.keys, names).persist()
    try:
        unknown = found.agg(F.coalesce(F.sum(_UNKNOWN), F.lit(0))).collect()[0][0]
        filled = _filled(winners.rows, found, winners.keys, names)
        yield replace(plain, rows=filled, unavailable=sum(row["count"] for row in counts), unknown=int(unknown))
    finally:
        found.unpersist()


def _earlier_values(
    incomplete: DataFrame, changes: DataFrame, base: DataFrame | None, keys: Sequence[str], names: Sequence[str]
) -> DataFrame:
    """Return a row for each incomplete winner: its key, and for each column a struct of the latest known value.

    A deletion sets every value to NULL, so it is a known value. The base's row counts if its position is above those of the
    changes that have the value.

    Args:
        incomplete: the winners that lack values.
        changes: the changes among which the winners were found.
        base: the base in the columns of the winners; None if there is no base.
        keys: the columns of the key.
        names: the columns of which some winner lacks the value.
    """
    winners = incomplete.select(*_as_keys(keys), named(UNAVAILABLE).alias(_AT))
    same = functools.reduce(Value.__and__, (named(_KEY + key).eqNullSafe(named(key)) for key in keys))
    sources = [changes]
    if base is not None:
        sources.append(base.withColumn(UNAVAILABLE, F.array().cast("array<string>")))
    columns = [*keys, *(name for name in names if name not in keys), POSITION, DELETED, UNAVAILABLE]
    history = functools.reduce(DataFrame.unionByName, (one.select(*map(named, columns)) for one in sources))
    joined = history.join(winners, same)
    known = (
        F.max_by(
            F.struct(named(name).alias("value")),
            F.when(~F.array_contains(named(UNAVAILABLE), fold_case(name)), named(POSITION)),
        ).alias(_FOUND + name)
        for name in names
    )
    found = joined.groupBy(*(named(_KEY + key) for key in keys)).agg(F.first(_AT).alias(_AT), *known)
    unknown = (
        (F.array_contains(named(_AT), fold_case(name)) & named(_FOUND + name).isNull()).cast("bigint") for name in names
    )
    return found.withColumn(_UNKNOWN, functools.reduce(Value.__add__, unknown))


def _filled(rows: DataFrame, found: DataFrame, keys: Sequence[str], names: Sequence[str]) -> DataFrame:
    same = functools.reduce(Value.__and__, (named(key).eqNullSafe(named(_KEY + key)) for key in keys))
    joined = rows.join(found, same, "left")
    values = [
        F.when(
            F.array_contains(named(UNAVAILABLE), fold_case(column)), named(_FOUND + column).getField("value")
        ).otherwise(named(column)).alias(column)
        if column in names
        else named(column)
        for column in rows.columns
        if column != UNAVAILABLE
    ]  # fmt: skip
    return joined.select(*values)


def _as_keys(keys: Sequence[str]) -> list[Value]:
    return [named(key).alias(_KEY + key) for key in keys]
