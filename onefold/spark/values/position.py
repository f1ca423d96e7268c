"""The position of a change, as `onefold.changelog.position` writes it, as an expression that runs without Python."""

from __future__ import annotations

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.changelog.position import (
    BEFORE_DIGITS,
    COMPLEMENTS,
    DIGITS,
    HEXADECIMAL,
    INT64,
    KEY_HEXADECIMAL,
    KEY_LSN,
    LOG_FILE,
    LONG,
    LONG_WIDTH,
    LOW,
    MANY,
    MARKS,
    NUMBER,
    PADDED,
    PIECES,
    SECTION,
    SHORT_HEXADECIMAL,
    SHORT_SECTIONS,
    SMALL_NUMBER,
    STORED_AS_TEXT,
    TEXT_PREFIX,
    WIDTH,
)

_TIME = 19


def position(sequence: Value, timestamp: Value, sort_keys: Value, deleted: Value, tie_break: Value) -> Value:
    """Return the text of a position, an expression that sorts as the position does.

    Args:
        sequence: a string, or NULL for a row of a backfill or a snapshot.
        timestamp: milliseconds since 1970 as a bigint, or NULL.
        sort_keys: an array of strings, or NULL.
        deleted: a boolean, never NULL.
        tie_break: a string, never NULL.
    """
    kind = F.when(deleted, "0").otherwise("1")
    parts = (_sequence(sequence), _timestamp(timestamp), _keys(sort_keys), kind, tie_break)
    return F.concat_ws(" ", *parts)


def ordered_by_text(position: Value) -> Value:
    """Return whether the sequence of a position has no documented form, so that it was ordered as text."""
    return position.startswith(TEXT_PREFIX) & ~position.rlike(LOG_FILE)


def stored_as_text(position: Value) -> Value:
    """Return whether an earlier release wrote a stored position that orders as text what is compared as a number now."""
    # The two cheap conditions exclude most positions, so that few are matched with the long pattern.
    return (position.startswith(TEXT_PREFIX) | position.contains(" 3")) & position.rlike(STORED_AS_TEXT)


def _sequence(x: Value) -> Value:
    return (
        F.when(x.isNull(), "0")
        .when(_matches(x, PADDED), F.concat(F.lit("2"), x))
        .when(_matches(x, SHORT_HEXADECIMAL), F.concat(F.lit("2"), _padded_sections(x)))
        .when(_matches(x, HEXADECIMAL), F.concat(F.lit("2"), _sections(x)))
        .otherwise(F.concat(F.lit(TEXT_PREFIX), _natural(x)))
    )


def _padded_sections(x: Value) -> Value:
    """Pad one to four sections without a lambda: Spark compiles these calls, but interprets a lambda for each element."""
    sections = F.split(F.upper(x), "/")
    padded = (F.lpad(F.get(sections, F.lit(index)), SECTION, "0") for index in range(SHORT_SECTIONS))
    return F.concat_ws("/", *padded)  # leaves out the NULL of a section that is missing


def _keys(x: Value) -> Value:
    """Write the sort keys. One small number, the usual case, needs no lambda, which Spark would interpret."""
    first = F.get(x, F.lit(0))
    plain = (F.size(x) == 1) & F.coalesce(_matches(first, SMALL_NUMBER), F.lit(False))
    several = F.array_join(F.transform(x, lambda key: F.concat(_key(key), F.lit(" "))), "")
    return F.when(plain, F.concat(F.lit("2"), F.lpad(first, WIDTH, "0"), F.lit(". "))).otherwise(
        F.coalesce(several, F.lit(""))
    )


def _sections(x: Value) -> Value:
    digits = F.regexp_replace(F.upper(F.trim(x)), BEFORE_DIGITS, "")
    return F.array_join(F.transform(F.split(F.regexp_replace(digits, MARKS, "/"), "/"), _section), "/")


def _section(digits: Value) -> Value:
    length = F.length(digits)
    long = F.concat(F.lit(LONG), F.lpad(length.cast("string"), LONG_WIDTH, "0"), digits)
    return F.when(length <= SECTION, F.lpad(digits, SECTION, "0")).otherwise(long)


def _timestamp(x: Value) -> Value:
    # A negative x is written as x + 2^63. That constant is no bigint, but ~x is -x - 1, so x + 2^63 is (2^63 - 1) - ~x.
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
        .when(_matches(x, NUMBER), F.when(x.startswith("-"), negative).otherwise(F.concat(F.lit("2"), number)))
        .when(_matches(x, KEY_LSN), F.concat(F.lit("2"), F.lpad(F.upper(x), WIDTH, "0"), F.lit(".")))
        .when(_matches(x, KEY_HEXADECIMAL), F.concat(F.lit("4"), _sections(x)))
        .otherwise(F.concat(F.lit("3"), _natural(x)))
    )


def _matches(x: Value, pattern: str) -> Value:
    # In Java `$` also matches before a line break at the end of the text.
    return x.rlike(pattern.removesuffix("$") + r"\z")


def _padded(x: Value) -> Value:
    digits = F.ltrim(x, F.lit("0"))
    length = F.length(digits)
    many = F.concat(F.lit(MANY), F.lpad(length.cast("string"), LONG_WIDTH, "0"), digits)
    return F.when(length <= WIDTH, F.lpad(digits, WIDTH, "0")).otherwise(many)


def _natural(x: Value) -> Value:
    pieces = F.regexp_extract_all(F.regexp_replace(x, LOW, "!"), F.lit(f"({PIECES})"), F.lit(1))
    return F.array_join(
        F.transform(pieces, lambda piece: F.when(piece.rlike("^[0-9]"), _padded(piece)).otherwise(piece)), ""
    )
