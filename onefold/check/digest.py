"""Digests of the rows of a chunk, which the source and the warehouse calculate without sending any row.

Both sides write each value as the same text, take the SHA-256 of a row's texts, and add up its first 128 bits for all rows.
Equal sums mean equal rows. Other sums say nothing about which rows differ: their values are compared then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onefold.check.join import mark_of, recent, view_range
from onefold.check.request import CheckedTable, ComparedColumn
from onefold.core.names import quote
from onefold.mysql.connection import quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.snapshot.renderings import is_cut, landed, rendering_of
from onefold.mysql.table import SourceColumn
from onefold.pull.read.key_ranges import range_condition
from onefold.pull.read.line_query import IS_DAY
from onefold.pull.read.plan import KeyRange
from onefold.schema.target_types import landed_type
from onefold.schema.types import Scalar

_PARTS = (1, 9, 17, 25)
"""Where the four numbers begin whose sums are compared. Each has 8 hexadecimal digits: INT64 holds the sum of 2^31 rows."""
_DIGITS = 8
_BETWEEN = ", ',', "
_MOST_ROWS = 2**64 - 1
_MICROSECONDS = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})"
_TRIMMED = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {0}))"
# Both servers convert a DOUBLE by the fewest digits that read back, 17 at most: within these bounds the DECIMAL holds them.
_HELD = "ABS({0}) >= 1e-13 AND ABS({0}) < 1e34"
_DOUBLE = f"CASE WHEN {{0}} = 0 THEN '0' WHEN {_HELD} THEN {_TRIMMED.format('CAST({0} AS DECIMAL(65,30))')} END"
_PLAIN = "ABS({0}) >= 1e-4 AND ABS({0}) < 1e15"
"""Where FORMAT writes no exponent: C17, 7.21.6.1, of the conversion `g` with 15 digits and more."""
_FEWEST = "IF(CAST({1} AS FLOAT64) = {0}, {1}, {2})"


@dataclass(frozen=True)
class _Form:
    """How a value of a type is written as text.

    Attributes:
        source: SQL of MySQL for a column that has a value; NULL where there is no text that both sides write alike.
        view: SQL of BigQuery for an expression of the value; the same.
    """

    source: Callable[[SourceColumn], str]
    view: Callable[[str], str]


def _text(column: SourceColumn) -> str:
    text = f"CONVERT(CAST({landed(column)} AS CHAR) USING utf8mb4)"
    return f"CONCAT(CHAR_LENGTH({text}), ':', {text})"


def _number(column: SourceColumn) -> str:
    return f"CAST({landed(column)} AS CHAR)"


def _decimal(column: SourceColumn) -> str:
    return _TRIMMED.format(_number(column)) if column.type.scale else _number(column)


def _double(column: SourceColumn) -> str:
    return _DOUBLE.format(f"CAST({quoted(column.name)} AS DOUBLE)")


def _time(column: SourceColumn) -> str:
    return f"CAST({_MICROSECONDS.format(quoted(column.name))} AS CHAR)"


def _float_text(x: str) -> str:
    text = f"FORMAT('%.17g', {x})"
    for digits in (16, 15):
        text = _FEWEST.format(x, f"FORMAT('%.{digits}g', {x})", text)
    without_exponent = f"CAST(CAST({text} AS BIGNUMERIC) AS STRING)"
    pairs = ((f"{x} = 0", "'0'"), (_PLAIN.format(x), text), (_HELD.format(x), without_exponent))
    return f"CASE {' '.join(f'WHEN {condition} THEN {found}' for condition, found in pairs)} END"


_FORMS: dict[Scalar, _Form] = {
    # A length before it, as it may hold what comes between values.
    Scalar("STRING"): _Form(_text, "CONCAT(CAST(CHAR_LENGTH({0}) AS STRING), ':', {0})".format),
    Scalar("BYTES"): _Form(lambda column: f"LOWER(HEX({landed(column)}))", "TO_HEX({})".format),
    Scalar("INT64"): _Form(_number, "CAST({} AS STRING)".format),
    Scalar("NUMERIC"): _Form(_decimal, "CAST({} AS STRING)".format),
    Scalar("BIGNUMERIC"): _Form(_decimal, "CAST({} AS STRING)".format),
    Scalar("FLOAT64"): _Form(_double, _float_text),
    Scalar("DATE"): _Form(
        _time, "CAST(DATETIME_DIFF(CAST({} AS DATETIME), DATETIME '1970-01-01', MICROSECOND) AS STRING)".format
    ),
    Scalar("DATETIME"): _Form(_time, "CAST(DATETIME_DIFF({}, DATETIME '1970-01-01', MICROSECOND) AS STRING)".format),
    Scalar("TIMESTAMP"): _Form(_time, "CAST(UNIX_MICROS({}) AS STRING)".format),
}
"""The types with a text that both sides write alike. JSON and INTERVAL have none."""


@dataclass(frozen=True)
class DigestQueries:
    """The queries of both sides, each with one row.

    Its columns are `rows_all`, of the chunk; `rows_compared`, without those that are left out; `rows_known`, of these the
    ones that have a digest; `sum_1` to `sum_4`, the sums of their digests, NULL for no row.

    Attributes:
        source: for the server of MySQL.
        view: for BigQuery; its row has `rows_keys`, the number of different keys, too.
    """

    source: str
    view: str


def digest_queries(table: CheckedTable, part: KeyRange) -> DigestQueries | None:
    """Return the queries for a chunk; None where a column has no text that both sides write alike.

    Args:
        table: the table.
        part: the chunk.
    """
    if table.plain or table.converts or not all(map(_is_unchanged, table.columns)):
        return None
    named = dict(zip(table.target.source_names, table.structure.columns, strict=True))
    pairs = [(named[one.landed.name], one) for one in table.columns]
    if any(is_cut(column) for column, _ in pairs):
        return None
    return DigestQueries(_source(table, part, pairs), _view(table, part))


def _is_unchanged(one: ComparedColumn) -> bool:
    return landed_type(one.landed, one.rules) == one.shown.type and one.shown.type in _FORMS


def _form(one: ComparedColumn) -> _Form:
    return _FORMS[one.shown.type]  # type: ignore[index]


def _source(table: CheckedTable, part: KeyRange, pairs: list[tuple[SourceColumn, ComparedColumn]]) -> str:
    texts = []
    for column, one in pairs:
        text = _form(one).source(column)
        texts.append(f"IF({_lands_as_null(column)}, 'N', {text})")
    return _sums(
        "CAST(CONV({}, 16, 10) AS UNSIGNED)",
        f"SHA2(CONCAT({_BETWEEN.join(texts)}), 256) AS digest, {_recent_at_source(table)} AS recent",
        # The limit keeps the server from taking the digest anew for each sum.
        f"{table_sql(table.name)} WHERE {range_condition(part)} LIMIT {_MOST_ROWS}",
    )  # fmt: skip


def _lands_as_null(column: SourceColumn) -> str:
    name = quoted(column.name)
    is_null = f"{name} IS NULL"
    return f"{is_null} OR NOT ({IS_DAY.format(name)})" if rendering_of(column).form == "date" else is_null


def _recent_at_source(table: CheckedTable) -> str:
    """Return what `onefold.check.join.recent` says, for the server."""
    mark = table.watermark
    if mark is None or table.border is None or table.column(mark.column) is None:
        return "FALSE"
    sign = ">=" if mark.is_time else ">"
    return f"({quoted(mark.column)} {sign} {mark.literal(mark.lowest(table.border))} OR {mark.missing_sql})"


def _view(table: CheckedTable, part: KeyRange) -> str:
    texts = []
    for one in table.columns:
        x = f"v.{quote(one.shown.name)}"
        text = _form(one).view(x)
        texts.append(f"IF({x} IS NULL, 'N', {text})")
    key = table.column(part.column) if part.column else None
    return _sums(
        "CAST(CONCAT('0x', {}) AS INT64)",
        f"TO_HEX(SHA256(CONCAT({_BETWEEN.join(texts)}))) AS digest, {recent(table, 'v', landed=False)} AS recent, "
        f"{mark_of(table, 'v', landed=False)} AS mark",
        f"{table.view.quoted} AS v WHERE {table.tenant} AND {view_range(part, key)}",
        ", COUNT(DISTINCT d.mark) AS rows_keys",
    )  # fmt: skip


def _sums(number: str, items: str, rows: str, more: str = "") -> str:
    """Return the query of a side.

    Args:
        number: SQL for the number of some hexadecimal digits.
        items: SQL of a row's `digest`, and of `recent`: whether it is left out.
        rows: what follows FROM.
        more: further results.
    """
    parts = [number.format(f"SUBSTR(d.digest, {at}, {_DIGITS})") for at in _PARTS]
    sums = [f"SUM(IF(d.recent, 0, {part})) AS sum_{at}" for at, part in enumerate(parts, 1)]
    return (
        "SELECT COUNT(*) AS rows_all, COUNT(IF(d.recent, NULL, 1)) AS rows_compared, "
        f"COUNT(IF(d.recent, NULL, d.digest)) AS rows_known, {', '.join(sums)}{more}\n"
        f"FROM (SELECT {items}\nFROM {rows}) AS d"
    )
