"""A failed comparison of rows as a table: the key of the row, the column, what was expected, what was got.

`assert got == expected` shows it where both sides are rows: lists of dicts, of tuples, of lists, or of Row objects of
BigQuery or Spark, or dicts from a key to a row. Only rows that differ are shown, at most MAX_ROWS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.cloud.bigquery.table import Row as BigQueryRow

MAX_ROWS = 20
MAX_CHARS = 60
HEADER = ("row", "column", "expected", "got")
KEYS = ("id", "key", "_id", "name")
"""Columns that are tried first as the key of a row; then the first column with other values in each expected row."""
Row = Mapping[str, Any]
Keyed = dict[tuple[str, int], Row]
"""Rows by the text of their key, and a number that tells rows with equal keys apart."""


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Return the lines of the failure, or None where the sides are no rows, which pytest then compares by itself."""
    if op != "==":
        return None
    got, expected = rows_of(left), rows_of(right)
    if not got or not expected:
        return None
    return [f"{len(got)} rows == {len(expected)} rows: {summary(got, expected)}", *difference(got, expected)]


def rows_of(side: object) -> list[tuple[Any, Row]] | None:
    """Return the rows of a side, each with its key in the comparison (None: it is found later); None if they are no rows."""
    if isinstance(side, Mapping):
        pairs = list(side.items())
    elif isinstance(side, list | tuple) and not hasattr(side, "_fields"):
        pairs = [(None, row) for row in side]
    else:
        return None
    found = [(key, columns_of(row)) for key, row in pairs]
    return [(key, row) for key, row in found if row is not None] if all(row is not None for _, row in found) else None


def columns_of(row: object) -> Row | None:
    """Return a row as a mapping from the names of its columns, or their numbers, to values; None for other values."""
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    if isinstance(row, list | tuple):
        names = getattr(row, "_fields", None) or getattr(row, "__fields__", None) or range(len(row))
        return dict(zip(map(str, names), row, strict=False))
    return dict(row.items()) if isinstance(row, BigQueryRow) else None


def difference(got: list[tuple[Any, Row]], expected: list[tuple[Any, Row]]) -> list[str]:
    """Return the table of the rows that differ, aligned."""
    column = key_column([row for _, row in got], [row for _, row in expected])
    left, right = keyed(got, column), keyed(expected, column)
    if left == right:
        return ["the rows are the same, in another order:", f"expected {order(right)}", f"got      {order(left)}"]
    keys = [key for key in dict.fromkeys((*right, *left)) if not same(left.get(key), right.get(key))]
    cells = [cell for key in keys[:MAX_ROWS] for cell in cells_of(key, left.get(key), right.get(key))]
    more = [f"and {len(keys) - MAX_ROWS} more rows that differ"] if len(keys) > MAX_ROWS else []
    return [*aligned([HEADER, *cells]), *more]


def summary(got: list[tuple[Any, Row]], expected: list[tuple[Any, Row]]) -> str:
    column = key_column([row for _, row in got], [row for _, row in expected])
    left, right = keyed(got, column), keyed(expected, column)
    both = left.keys() & right.keys()
    differ = sum(not same(left[key], right[key]) for key in both)
    return f"{differ} differ, {len(right) - len(both)} missing, {len(left) - len(both)} not expected"


def key_column(got: Sequence[Row], expected: Sequence[Row]) -> str | None:
    """Return the column that tells the expected rows apart; None if there is no such column."""
    common = [name for name in expected[0] if all(name in row for row in (*got, *expected))]
    preferred = [name for name in KEYS if name in common]
    return next(
        (name for name in (*preferred, *common) if len({repr(row[name]) for row in expected}) == len(expected)), None
    )


def keyed(rows: list[tuple[Any, Row]], column: str | None) -> Keyed:
    """Return the rows by their keys. Without a key, a row is found by its place."""
    seen: Counter[str] = Counter()
    found: Keyed = {}
    for place, (key, row) in enumerate(rows):
        text = repr(key) if key is not None else f"{column}={row[column]!r}" if column else f"[{place}]"
        found[text, seen[text]] = row
        seen[text] += 1
    return found


def cells_of(key: tuple[str, int], got: Row | None, expected: Row | None) -> Iterator[tuple[str, ...]]:
    """Yield a line for each column of a row that differs, or one for a row that only one side has."""
    name = key[0] + (f" ({key[1] + 1})" if key[1] else "")
    if got is None or expected is None:
        yield (name, "", *(cut("no row" if row is None else repr(dict(row)), 0) for row in (expected, got)))
        return
    for column in dict.fromkeys((*expected, *got)):
        if column not in got or column not in expected or not equal(got[column], expected[column]):
            texts = [repr(row[column]) if column in row else "no column" for row in (expected, got)]
            start = next((place for place, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0)
            yield (name, column, *(cut(text, start) for text in texts))


def cut(text: str, start: int) -> str:
    """Return at most MAX_CHARS of a text, with the place where the two texts differ first."""
    first = max(start - MAX_CHARS // 2, 0) if len(text) > MAX_CHARS else 0
    shown = text[first : first + MAX_CHARS]
    return ("…" if first else "") + shown + ("…" if first + MAX_CHARS < len(text) else "")


def same(got: Row | None, expected: Row | None) -> bool:
    if got is None or expected is None or got.keys() != expected.keys():
        return False
    return all(equal(got[name], expected[name]) for name in expected)


def equal(got: object, expected: object) -> bool:
    """Return True where `==` of the containers sees no difference: the same NaN is equal to itself there."""
    return got is expected or bool(got == expected)


def order(rows: Keyed) -> str:
    return ", ".join(text for text, _ in list(rows)[:MAX_ROWS]) + (", …" if len(rows) > MAX_ROWS else "")


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[index]) for line in lines) for index in range(len(HEADER))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]
