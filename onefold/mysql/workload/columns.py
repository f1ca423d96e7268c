"""The columns of a workload's table: the type at the source, a random value, and the same value as BigQuery holds it.

Values have the form in which a line of JSON holds them, as docs/reference/source-types.md says. Other code computes what
capture makes of a value, so that the truth is an oracle.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_SHARE_OF_NULLS = 0.1
_WORDS = ("", "null", "'\"`\\", "line\nbreak", "Zażółć gęślą jaźń", "日本語", "👩‍👩‍👧🐢", "1:2", '{"a": 1}')


@dataclass(frozen=True)
class WorkloadColumn:
    """A column of the source.

    Attributes:
        type: its type in MySQL.
        value: a random value, as PyMySQL takes it.
        landed: the value as BigQuery holds it, of what `value` returned.
        expression: the expression of SQL that stores a value.
    """

    type: str
    value: Callable[[random.Random], Any]
    landed: Callable[[Any], Any] = lambda value: value
    expression: str = "%s"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _between(low: int, high: int) -> Callable[[random.Random], int]:
    """Return a source of whole numbers, every fourth of which is one of the two ends."""
    return lambda rng: rng.choice((low, high)) if rng.random() < 0.25 else rng.randint(low, high)


def _decimal(digits: int, fraction: int) -> Callable[[random.Random], str]:
    def value(rng: random.Random) -> str:
        number = _between(-(10**digits) + 1, 10**digits - 1)(rng)
        whole, rest = divmod(abs(number), 10**fraction)
        return f"{'-' if number < 0 else ''}{whole}" + (f".{rest:0{fraction}}" if fraction else "")

    return value


def _text(rng: random.Random) -> str:
    return rng.choice(_WORDS) if rng.random() < 0.25 else f"text {rng.randrange(100_000)} é"


def _bytes(most: int) -> Callable[[random.Random], bytes]:
    return lambda rng: rng.randbytes(rng.randint(0, most))


def _day(rng: random.Random) -> str:
    return rng.choice(("1000-01-01", "9999-12-31", "2024-02-29", f"{rng.randrange(1970, 2038)}-11-{rng.randrange(10, 30)}"))


def _clock(rng: random.Random) -> str:
    return f"{rng.randrange(10, 24)}:{rng.randrange(10, 60)}:{rng.randrange(10, 60)}"


def _instant(rng: random.Random) -> str:
    return f"{rng.randrange(1971, 2037)}-11-{rng.randrange(10, 30)} {_clock(rng)}.{rng.randrange(10**6):06}"


def _span(rng: random.Random) -> str:
    return rng.choice(("838:59:59", "-838:59:59", _clock(rng), f"-{_clock(rng)}"))


def _set(rng: random.Random) -> str:
    return ",".join(word for word in ("red", "green", "blue") if rng.random() < 0.5)


def _number(limit: int, bits: int = 53) -> Callable[[random.Random], float]:
    """Return a source of numbers that a floating-point type of so many bits holds exactly."""
    return lambda rng: rng.randrange(-(2 ** min(bits, limit)), 2 ** min(bits, limit)) / 8


_ALWAYS: Mapping[str, WorkloadColumn] = {
    "name": WorkloadColumn("VARCHAR(60)", _text),
    "amount": WorkloadColumn("INT", _between(-(2**31), 2**31 - 1)),
}
_TYPED: Mapping[str, WorkloadColumn] = {
    "v_tinyint": WorkloadColumn("TINYINT", _between(-128, 127)),
    "v_smallint": WorkloadColumn("SMALLINT UNSIGNED", _between(0, 65535)),
    "v_mediumint": WorkloadColumn("MEDIUMINT", _between(-(2**23), 2**23 - 1)),
    "v_bigint": WorkloadColumn("BIGINT", _between(-(2**63), 2**63 - 1)),
    "v_unsigned": WorkloadColumn("BIGINT UNSIGNED", _between(0, 2**64 - 1), str),
    "v_bool": WorkloadColumn("BOOL", _between(0, 1)),
    "v_bit": WorkloadColumn("BIT(9)", _between(0, 511)),
    "v_year": WorkloadColumn("YEAR", _between(1901, 2155)),
    "v_decimal": WorkloadColumn("DECIMAL(10,2)", _decimal(10, 2)),
    "v_wide": WorkloadColumn("DECIMAL(50,20)", _decimal(50, 20)),
    "v_widest": WorkloadColumn("DECIMAL(65,0)", _decimal(65, 0)),
    "v_float": WorkloadColumn("FLOAT", _number(20)),
    "v_double": WorkloadColumn("DOUBLE", _number(53)),
    "v_date": WorkloadColumn("DATE", _day),
    "v_datetime": WorkloadColumn("DATETIME(3)", lambda rng: f"{_day(rng)} {_clock(rng)}.{rng.randrange(1000):03}"),
    "v_timestamp": WorkloadColumn("TIMESTAMP(6) NULL", _instant, lambda text: f"{text}+00:00"),
    "v_time": WorkloadColumn("TIME", _span, lambda text: f"0-0 0 {text}"),
    "v_char": WorkloadColumn("CHAR(9)", lambda rng: f"c{rng.randrange(1000)}ż"),
    "v_text": WorkloadColumn("TEXT", _text),
    "v_enum": WorkloadColumn("ENUM('new','paid','é')", lambda rng: rng.choice(("new", "paid", "é"))),
    "v_set": WorkloadColumn("SET('red','green','blue')", _set),
    "v_binary": WorkloadColumn("BINARY(4)", lambda rng: rng.randbytes(4), _base64),
    "v_varbinary": WorkloadColumn("VARBINARY(20)", _bytes(20), _base64),
    "v_blob": WorkloadColumn("BLOB", _bytes(300), _base64),
    # Texts as MySQL itself writes them, so that MariaDB, which keeps the text, has the same one.
    "v_json": WorkloadColumn("JSON", lambda rng: f'{{"a": [{rng.randrange(100)}, "ż", null], "b": {{}}}}'),
    "v_point": WorkloadColumn(
        "POINT", lambda rng: f"POINT({rng.randrange(-90, 90)} {rng.randrange(-90, 90)})", expression="ST_GeomFromText(%s)"
    ),
}
_ADDED = "added_"


def first_columns(every_type: bool) -> dict[str, WorkloadColumn]:
    """Return the columns of a new table, without its key `id`.

    Examples:
        >>> list(first_columns(every_type=False))
        ['name', 'amount']
    """
    return {**_ALWAYS, **(_TYPED if every_type else {})}


def column_named(name: str) -> WorkloadColumn | None:
    """Return the column of a name; None where no workload makes one.

    Examples:
        >>> column_named("added_2").type, column_named("email")
        ('VARCHAR(60)', None)
    """
    return added_column() if name.startswith(_ADDED) else {**_ALWAYS, **_TYPED}.get(name)


def added_column() -> WorkloadColumn:
    """Return the column that a later version of the table adds."""
    return _ALWAYS["name"]


def next_column(names: Mapping[str, WorkloadColumn]) -> str:
    """Return the name of the column that the next version of a table adds.

    Examples:
        >>> next_column(first_columns(every_type=False))
        'added_1'
    """
    return f"{_ADDED}{1 + sum(name.startswith(_ADDED) for name in names)}"


def random_values(rng: random.Random, columns: Mapping[str, WorkloadColumn]) -> dict[str, Any]:
    """Return a random value for each column, as PyMySQL takes it; some are NULL."""
    return {name: None if rng.random() < _SHARE_OF_NULLS else column.value(rng) for name, column in columns.items()}


def landed_values(values: Mapping[str, Any], columns: Mapping[str, WorkloadColumn]) -> dict[str, Any]:
    """Return values of the source as BigQuery holds them.

    Args:
        values: by column, as PyMySQL takes them.
        columns: the columns of the values.
    """
    return {name: None if value is None else columns[name].landed(value) for name, value in values.items()}
