"""The queries that find the rows of a chunk that differ: the source's rows full outer joined with those of the view.

Each side is filtered in a subquery. A filter of the joined rows would drop exactly those that one side lacks.

The query returns every row that may differ, with the values of both sides. `onefold.check.chunks` decides.
"""

from __future__ import annotations

from onefold.changelog.metadata import METADATA
from onefold.check.request import CheckedTable, ComparedColumn
from onefold.core.names import TableId, quote
from onefold.pull.load.day_rows import key_mark
from onefold.pull.read.key_ranges import DIGEST_DIGITS, bound_literal
from onefold.pull.read.plan import KeyRange
from onefold.pull.read.watermark import Watermark
from onefold.schema.types import Scalar, Type

NUMBERS = (Scalar("INT64"), Scalar("NUMERIC"), Scalar("BIGNUMERIC"))
_AS_TEXT = {Scalar("INTERVAL"): "CAST({} AS STRING)", Scalar("JSON"): "TO_JSON_STRING({})"}
"""Types that have no equality, or none that is exact."""
_HOURS = 24
"""A temporary table of a process that is killed is gone after this time."""
_LITERALS = {"timestamp": "TIMESTAMP '{}+00'", "datetime": "DATETIME '{}'", "date": "DATE '{}'"}


def found_query(table: CheckedTable, part: KeyRange, read: TableId) -> str:
    """Return the query of the rows of a chunk that may differ.

    Its columns are `mark`, a digest of the key; `in_source` and `in_view`; `sequence`, of the source's row; and `s0`, `s1`,
    ..., `w0`, `w1`, ...: the values of both sides in the view's types.

    Args:
        table: the table.
        part: the chunk.
        read: the table with the source's rows of the chunk.
    """
    numbers = range(len(table.columns))
    values = [f"{side}.c{number} AS {alias}{number}" for side, alias in (("s", "s"), ("w", "w")) for number in numbers]
    items = ["IFNULL(s.mark, w.mark) AS mark", "s.mark IS NOT NULL AS in_source", "w.mark IS NOT NULL AS in_view"]
    differs = " OR ".join(["s.mark IS NULL", "w.mark IS NULL", *(f"s.c{n} IS DISTINCT FROM w.c{n}" for n in numbers)])
    return (
        f"SELECT {', '.join([*items, 's.sequence AS sequence', *values])}\n"
        f"FROM (\n{_source(table, read)}\n) AS s\nFULL OUTER JOIN (\n{_view(table, part)}\n) AS w ON s.mark = w.mark\n"
        f"WHERE NOT IF(s.mark IS NULL, w.recent, s.recent) AND ({differs})"
    )


def mark_of(table: CheckedTable, row: str, *, landed: bool) -> str:
    """Return SQL for the digest of a key, the same for both sides.

    Args:
        table: the table.
        row: the alias of the row.
        landed: whether the row is one of the source; else it is one of the view.
    """
    return key_mark([one.key_text(row, landed=landed) for one in table.key_columns])


def recent(table: CheckedTable, row: str, *, landed: bool, unknown: str = "TRUE") -> str:
    """Return SQL that is TRUE for rows that are left out, because the next pull may bring them.

    Args:
        table: the table.
        row: the alias of the row.
        landed: whether the row is one of the source; else it is one of the view.
        unknown: the value for a row without a watermark.
    """
    if table.watermark is None or table.border is None:
        return "FALSE"
    one = table.column(table.watermark.column)
    if one is None:
        return "FALSE"
    own = one.landed if landed else one.shown
    sign = ">=" if table.watermark.is_time else ">"
    literal = border_literal(table.watermark, table.border)
    literal = literal if landed else one.converted(literal)
    return f"IFNULL({row}.{quote(own.name)} {sign} {literal}, {unknown})"


def border_literal(watermark: Watermark, border: int) -> str:
    """Return a watermark as a literal of BigQuery, in the form in which the column lands.

    Examples:
        >>> border_literal(Watermark("at", "timestamp", 3), 1_500_000)
        "TIMESTAMP '1970-01-01 00:00:01.500+00'"
        >>> border_literal(Watermark("id", "key"), 7)
        '7'
    """
    text = watermark.literal(watermark.lowest(border)).strip("'")
    return _LITERALS.get(watermark.kind, "{}").format(text)


def view_range(part: KeyRange, key: ComparedColumn | None) -> str:
    """Return the condition for the view's rows of a chunk; the row has the alias v.

    The bounds of a number are compared with the column itself and outside of any function, so that BigQuery reads only the
    blocks of a table that is clustered by the column ("Query clustered tables",
    https://cloud.google.com/bigquery/docs/querying-clustered-tables, 2026-11).

    Args:
        part: the chunk.
        key: its column.
    """
    if part.column is None or key is None:
        return "TRUE"
    column = f"v.{quote(key.shown.name)}"
    if part.digest:
        text = f"CAST({column} AS STRING)" if part.digest == "number" else column
        value = f"SUBSTR(TO_HEX(SHA256({text})), 1, {DIGEST_DIGITS})"
    else:
        value = column if key.shown.type in NUMBERS else f"SAFE_CAST({column} AS BIGNUMERIC)"
    ends = ((">=", part.low), ("<", part.high))
    bounds = [f"{value} {sign} {bound_literal(part, bound)}" for sign, bound in ends if bound is not None]
    if not bounds:
        return "TRUE"
    if part.low is not None:
        return " AND ".join(bounds)
    # A row of the view whose key is NULL is missing at the source: it belongs to the first chunk.
    return f"({bounds[0]} OR {value} IS NULL)"


def _source(table: CheckedTable, read: TableId) -> str:
    values = [
        f"{_comparable(one.converted(f'r.{quote(one.landed.name)}'), one.shown.type)} AS c{number}"
        for number, one in enumerate(table.columns)
    ]
    items = [
        f"{mark_of(table, 'r', landed=True)} AS mark", f"{recent(table, 'r', landed=True)} AS recent",
        f"r.{quote(METADATA)}.change_sequence_number AS sequence", *values,
    ]  # fmt: skip
    return f"SELECT {', '.join(items)}\nFROM {read.quoted} AS r"


def _view(table: CheckedTable, part: KeyRange) -> str:
    values = [
        f"{_comparable(f'v.{quote(one.shown.name)}', one.shown.type)} AS c{number}"
        for number, one in enumerate(table.columns)
    ]
    items = [
        f"{mark_of(table, 'v', landed=False)} AS mark", f"{recent(table, 'v', landed=False)} AS recent", *values,
    ]  # fmt: skip
    key = table.column(part.column) if part.column else None
    return f"SELECT {', '.join(items)}\nFROM {table.view.quoted} AS v\nWHERE {table.tenant} AND {view_range(part, key)}"


def _comparable(x: str, type_: Type) -> str:
    form = _AS_TEXT.get(type_) if isinstance(type_, Scalar) else None
    return form.format(x) if form else x


def expiring(table: TableId, query: str) -> str:
    """Return the statement that keeps the result of a query for some hours.

    Args:
        table: a temporary table.
        query: the query.
    """
    expires = f"TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {_HOURS} HOUR)"
    return f"CREATE TABLE {table.quoted} OPTIONS (expiration_timestamp = {expires}) AS\n{query}"
