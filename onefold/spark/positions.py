"""The position of a change, as `onefold.position` writes it, as an expression that no Python runs for."""

from __future__ import annotations

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.position import COMPLEMENTS, DIGITS, HEXADECIMAL, INT64, LOW, NUMBER, PIECES, TEXT_PREFIX, WIDTH

_SECTION, _TIME = 16, 19


def position(sequence: Value, timestamp: Value, sort_keys: Value, deleted: Value, tie_break: Value) -> Value:
    """Text from a string, a bigint, an array of strings, a boolean and a string; all but the last two may be NULL."""
    keys = F.coalesce(F.array_join(F.transform(sort_keys, lambda key: F.concat(_key(key), F.lit(" "))), ""), F.lit(""))
    kind = F.when(deleted, "0").otherwise("1")
    blank = F.lit(" ")
    return F.concat(_sequence(sequence), blank, _timestamp(timestamp), blank, keys, blank, kind, blank, tie_break)


def ordered_by_text(position: Value) -> Value:
    """Tell whether the sequence of a position matched no documented form, so that it was ordered as text."""
    return position.startswith(TEXT_PREFIX)


def _sequence(x: Value) -> Value:
    padded = F.array_join(F.transform(F.split(x, "/"), lambda section: F.lpad(F.upper(section), _SECTION, "0")), "/")
    return (
        F.when(x.isNull(), "0").when(_matches(x, HEXADECIMAL), F.concat(F.lit("2"), padded)).otherwise(
            F.concat(F.lit(TEXT_PREFIX), _natural(x))
        )
    )  # fmt: skip


def _timestamp(x: Value) -> Value:
    # x + 2^63, which is no bigint: ~x is -x - 1.
    negative = F.concat(F.lit("0"), F.lpad((F.lit(INT64 - 1) - F.bitwise_not(x)).cast("string"), _TIME, "0"))
    return F.when(x.isNull(), "").when(x < 0, negative).otherwise(
        F.concat(F.lit("1"), F.lpad(x.cast("string"), _TIME, "0"))
    )  # fmt: skip


def _key(x: Value) -> Value:
    fraction = F.rtrim(F.regexp_extract(x, r"\.([0-9]+)", 1), F.lit("0"))
    number = F.concat(_padded(F.regexp_extract(x, "[0-9]+", 0)), F.lit("."), fraction)
    negative = F.concat(F.lit("1"), F.translate(number, DIGITS, COMPLEMENTS), F.lit("~"))
    return (
        F.when(x.isNull(), "0")
        .when(~_matches(x, NUMBER), F.concat(F.lit("3"), _natural(x)))
        .when(x.startswith("-"), negative)
        .otherwise(F.concat(F.lit("2"), number))
    )


def _matches(x: Value, pattern: str) -> Value:
    # In Java `$` also stands before a last line's end.
    return x.rlike(pattern.removesuffix("$") + r"\z")


def _padded(x: Value) -> Value:
    return F.when(F.length(x) >= WIDTH, x).otherwise(F.lpad(x, WIDTH, "0"))


def _natural(x: Value) -> Value:
    pieces = F.regexp_extract_all(F.regexp_replace(x, LOW, "!"), F.lit(f"({PIECES})"), F.lit(1))
    return F.array_join(
        F.transform(pieces, lambda piece: F.when(piece.rlike("^[0-9]"), _padded(piece)).otherwise(piece)), ""
    )
