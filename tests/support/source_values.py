"""Values that a table of any history may hold: one of a column's declared type, most of them near its ends."""

from __future__ import annotations

import json
import random
import re
import string
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

LETTERS = string.ascii_letters + "éß日😀'\"\\ \n\t%"
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
SHAPES = {
    "geometry": "POINT(3 4)",
    "point": "POINT({a} -2.5)",
    "linestring": "LINESTRING({a} 0,1 1)",
    "polygon": "POLYGON(({a} 0,19 0,19 9,{a} 9,{a} 0))",
    "multipoint": "MULTIPOINT({a} 0,1 2)",
    "multilinestring": "MULTILINESTRING(({a} 0,1 1),(2 2,3 3))",
    "multipolygon": "MULTIPOLYGON((({a} 0,19 0,19 9,{a} 0)))",
    "geometrycollection": "GEOMETRYCOLLECTION(POINT({a} 1),LINESTRING(0 0,1 1))",
}
_LONGEST = 60
"""Characters or bytes of a value: a row is to fit in a message."""


def kind_of(type_: str) -> str:
    """The word of a type as `information_schema` has it: `varchar` of `varchar(30)`."""
    found = re.match(r"[a-z0-9]+", type_.lower())
    assert found, type_
    return found[0]


def placeholder(type_: str) -> str:
    """What takes a value of the type in a statement."""
    return "ST_GeomFromText(%s)" if kind_of(type_) in SHAPES else "%s"


def selected(column: str, type_: str) -> str:
    """An expression that reads a column whole: a FLOAT is shown with six digits, unless it is made a DOUBLE."""
    kind = kind_of(type_)
    if kind in SHAPES:
        return f"ST_AsText({column})"
    return f"{column} + 0e0" if kind == "float" else column


def value(type_: str, chance: random.Random) -> Any:
    """A value for the placeholder of a type.

    Raises:
        AssertionError: the type is one that nobody has thought of here.
    """
    kind, sizes = kind_of(type_), sizes_of(type_)
    if kind in _BITS:
        return _integer(_BITS[kind], "unsigned" in type_.lower(), chance)
    if kind in _TEXTS:
        # CHAR is shown without the blanks at its end.
        return "".join(chance.choices(LETTERS, k=_length(sizes, chance))).rstrip()
    if kind in _BYTES:
        return chance.randbytes(_length(sizes, chance))
    if kind in SHAPES:
        return SHAPES[kind].format(a=chance.randrange(9))
    if kind in ("date", "datetime", "timestamp", "time"):
        return _moment(kind, (sizes or [0])[0], chance)
    return _chosen(kind, members(type_), chance) if kind in ("enum", "set", "json") else _number(type_, chance)


def _chosen(kind: str, words: list[str], chance: random.Random) -> str:
    if kind == "json":
        return json.dumps({"a": [chance.randrange(9), None, "é日😀"]}, ensure_ascii=chance.random() < 0.5)
    return chance.choice(words) if kind == "enum" else ",".join(word for word in words if chance.random() < 0.5)


def _number(type_: str, chance: random.Random) -> Any:
    sizes, unsigned = sizes_of(type_), "unsigned" in type_.lower()
    match kind_of(type_):
        case "bool" | "boolean":
            return chance.randrange(2)
        case "bit":
            return chance.choice((0, 1, 2 ** (sizes or [1])[0] - 1))
        case "year":
            return chance.choice((0, 1901, 2024, 2155))
        case "decimal" | "numeric":
            return _decimal(sizes, unsigned, chance)
        case "float" | "double":
            return chance.randrange(0 if unsigned else -4000, 4000) / 4
    raise AssertionError(f"no value of {type_} is written here")


def key_value(type_: str, serial: int) -> Any:
    """A value that no other row of the table has.

    Raises:
        AssertionError: rows are not told apart by such a column here.
    """
    kind = kind_of(type_)
    if kind in _BITS or kind in ("decimal", "numeric", "double"):
        return serial
    if kind in _TEXTS:
        return f"{serial}é日"[: (sizes_of(type_) or [_LONGEST])[0]]
    if kind in ("varbinary", "binary"):
        return serial.to_bytes((sizes_of(type_) or [8])[0])
    if kind == "date":
        return date(2000, 1, 1) + timedelta(days=serial)
    if kind in ("datetime", "timestamp"):
        return datetime(2000, 1, 1) + timedelta(seconds=serial)
    raise AssertionError(f"no key of {type_} is written here")


def sizes_of(type_: str) -> list[int]:
    return [int(size) for size in re.findall(r"\d+", type_.partition("(")[2].partition(")")[0])]


def members(type_: str) -> list[str]:
    """What an ENUM or a SET is made of."""
    quoted = re.findall(r"'((?:[^'\\]|''|\\.)*)'", type_.partition("(")[2])
    return [one.replace("''", "'").replace("\\\\", "\\") for one in quoted]


def _integer(bits: int, unsigned: bool, chance: random.Random) -> int:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return chance.choice((0, 1, low, high))


def _decimal(sizes: list[int], unsigned: bool, chance: random.Random) -> Decimal:
    """Of at most so many digits, some of them behind the point."""
    digits, scale = (*sizes, 0)[:2] if sizes else (10, 0)
    most = 10**digits - 1
    number = chance.choice((0 if unsigned else -most, most, chance.randrange(most + 1)))
    return Decimal(f"{number}E-{scale}")


def _length(sizes: list[int], chance: random.Random) -> int:
    return chance.randrange(1 + min(_LONGEST, *(sizes or [_LONGEST]), _LONGEST))


def _moment(kind: str, digits: int, chance: random.Random) -> Any:
    """A time with as many digits behind the second as its column keeps."""
    grain = 10 ** (6 - digits)
    part = timedelta(microseconds=chance.choice((0, 10**6 - 1, chance.randrange(10**6))) // grain * grain)
    match kind:
        case "date":
            return date(1000, 1, 1) + timedelta(days=chance.randrange(3_000_000))
        case "datetime":
            return datetime(1000, 1, 1) + timedelta(seconds=chance.randrange(200_000_000_000)) + part
        case "timestamp":
            return datetime(1970, 1, 2) + timedelta(seconds=chance.randrange(2_000_000_000)) + part
    hours, seconds = chance.choice((0, 25, 838)), chance.randrange(3600)
    fraction = f".{part.microseconds:06}"[: digits + 1] if digits else ""
    return f"{chance.choice(('', '-'))}{hours}:{seconds // 60:02}:{seconds % 60:02}{fraction}"
