"""Rows of every type for a comparison, and files of them in each format."""

from __future__ import annotations

import base64
import csv
import datetime
import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyarrow import Table, parquet

Rows = list[dict[str, Any]]
UTC = datetime.UTC
NOON = datetime.datetime(2024, 1, 1, 12, 0, 0, 500_000)
DAY = datetime.date(2024, 1, 1)
BOOLS = [True, False, None]
INTEGERS = [0, 1, -5, 10**15, 2**53 + 1, None]
DECIMALS = [Decimal("0"), Decimal("1.000000000"), Decimal("-5.5"), Decimal("0.1"), Decimal(10**15), None]
WIDE = [Decimal("1").scaleb(-20), Decimal("1.00"), Decimal(10**15), Decimal("0.7999999999999999"), None]
FLOATS = [0.0, -0.0, 1.0, -5.5, 0.1, 1e15, 1e20, 1e-20, 0.7 + 0.1, float("nan"), float("inf"), None]
TEXTS = ["", "1", "01", "-5.5", "true", "2024-01-01", "2024-01-01 12:00:00.500+00", "é", "1e+15", "a\nb", None]
DATES = [DAY, datetime.date(1, 1, 1), None]
DATETIMES = [NOON, datetime.datetime(2024, 1, 1), None]
TIMESTAMPS = [NOON.replace(tzinfo=UTC), datetime.datetime(2024, 1, 1, tzinfo=UTC), None]
BYTES = [b"", b"abc", b"\xff\x00", None]
LISTS = [[], [1, 2], [2, 1], None]
DECIMAL_LISTS = [[], [Decimal("1.0"), Decimal("2")], [Decimal("2.5")], None]
FLOAT_LISTS = [[], [1.0, 2.0], [2.5, 0.1], [2.5], None]
FLOAT_STRUCTS = [[{"at": NOON, "f": 1.0}], [{"at": None, "f": 1e14}, {"at": NOON, "f": 0.1}], [], None]
INTEGER_STRUCTS = [[{"at": NOON, "f": 1}], [{"at": None, "f": 10**14}, {"at": NOON, "f": None}], [], None]
STRUCTS = [{"a": 1, "b": "x"}, {"a": None, "b": None}, None]
OTHER_STRUCTS = [{"B": "x", "A": Decimal("1.0"), "c": None}, {"B": None, "A": None, "c": [1]}, None]
NESTED = [[{"at": NOON.replace(tzinfo=UTC), "n": 1}], [{"at": None, "n": None}], [], None]
Columns = dict[str, tuple[list[Any], ...]]
"""For each column, its values on the left and on the right."""
_VALUES: dict[str, list[Any]] = {
    "bool": BOOLS, "integer": INTEGERS, "decimal": DECIMALS, "wide": WIDE, "float": FLOATS, "text": TEXTS, "date": DATES,
    "datetime": DATETIMES, "timestamp": TIMESTAMPS, "bytes": BYTES, "list": LISTS, "struct": STRUCTS, "nested": NESTED,
}  # fmt: skip
SAME_TYPES: Columns = {name: (values, values) for name, values in _VALUES.items()}
OTHER_TYPES: Columns = {
    "bool_integer": (BOOLS, INTEGERS),
    "bool_float": (BOOLS, FLOATS),
    "integer_decimal": (INTEGERS, DECIMALS),
    "integer_float": (INTEGERS, FLOATS),
    "decimal_wide": (DECIMALS, WIDE),
    "decimal_float": (DECIMALS, FLOATS),
    "wide_float": (WIDE, FLOATS),
    "integer_text": (INTEGERS, TEXTS),
    "decimal_text": (DECIMALS, TEXTS),
    "float_text": (FLOATS, TEXTS),
    "bool_text": (BOOLS, TEXTS),
    "bytes_text": (BYTES, TEXTS),
    "date_datetime": (DATES, DATETIMES),
    "date_timestamp": (DATES, TIMESTAMPS),
    "datetime_timestamp": (DATETIMES, TIMESTAMPS),
    "timestamp_text": (TIMESTAMPS, TEXTS),
    "lists": (LISTS, DECIMAL_LISTS),
    "list_integer": (LISTS, INTEGERS),
    "float_lists": (FLOAT_LISTS, DECIMAL_LISTS),
    "float_structs": (FLOAT_STRUCTS, INTEGER_STRUCTS),
    "structs": (STRUCTS, OTHER_STRUCTS),
}
COMMON = 150
"""The number of keys that both sides have: more than there are pairs of values in any column."""


def rows_of(columns: Columns, side: int, key: Callable[[int], Any] = int) -> Rows:
    """Return rows that pair every value of one side with every value of the other, with lone rows and repeated keys."""
    alone = {0: [500, 501, 502, 502], 1: [600, 601, 601]}[side]
    numbers = [*range(COMMON), *alone, *([700, 700, 701], [700, 701, 701])[side], None]
    return [
        {
            "id": None if number is None else key(number),
            **{name: value_at(values, side, index) for name, values in columns.items()},
            f"lone{side}": 1,
        }
        for index, number in enumerate(numbers)
    ]


def value_at(values: tuple[list[Any], ...], side: int, index: int) -> Any:
    left, right = values
    return left[index % len(left)] if side == 0 else right[index // len(left) % len(right)]


def write(path: Path, rows: Rows) -> Path:
    """Write rows in random order to two files of a folder, in the format that the suffix of `path` names."""
    random.Random(7).shuffle(rows)
    path.mkdir()
    for number, part in enumerate((rows[::2], rows[1::2])):
        _WRITERS[path.suffix](path / f"part-{number}{path.suffix}", part, rows)
    return path


def _write_parquet(path: Path, rows: Rows, every: Rows) -> None:
    parquet.write_table(Table.from_pylist(rows, Table.from_pylist(every).schema), path)


def _write_json_lines(path: Path, rows: Rows, _: Rows) -> None:
    text = "".join(json.dumps(row, default=export_text) + "\n" for row in rows)
    path.write_text(re.sub(rf'"{EXACT}([^"]*)"', r"\1", text))


def _write_csv(path: Path, rows: Rows, _: Rows) -> None:
    with path.open("w", newline="") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows(
            {name: "\\N" if value is None else export_text(value).removeprefix(EXACT) for name, value in row.items()}
            for row in rows
        )


EXACT = "exact:"
"""A prefix of decimals; removing it from the JSON text leaves a number with all its digits."""


def export_text(value: Any) -> str:
    """Return a value as the source exports it, which differs from the text that BigQuery writes."""
    match value:
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case bytes():
            return base64.b64encode(value).decode()
        case list() | dict():
            return json.dumps(value, default=export_text)
        case bool():
            return str(value).upper()
        case Decimal():
            return f"{EXACT}{value}"
    return str(value)


_WRITERS: dict[str, Callable[[Path, Rows, Rows], None]] = {
    ".parquet": _write_parquet,
    ".jsonl": _write_json_lines,
    ".csv": _write_csv,
}


def without_nan(columns: Columns) -> Columns:
    """Return the columns without values that JSON has no number for."""
    return {
        name: ([v for v in left if v not in NO_JSON and v == v], [v for v in right if v not in NO_JSON and v == v])
        for name, (left, right) in columns.items()
    }


def without_null_lists(columns: Columns) -> Columns:
    """Return the columns without NULL lists: plain Python knows no types of a CSV and reads `[]` as text."""
    return {
        name: tuple([v for v in values if v is not None] if name in ("list", "nested") else values for values in sides)
        for name, sides in columns.items()
    }


NO_JSON = (float("inf"), 1e20, 1e15)


def write_pair(folder: Path, left: Rows, right: Rows) -> tuple[Path, Path]:
    return write(folder / "left.jsonl", left), write(folder / "right.jsonl", right)
