"""An oracle for the latest rows of a change log, written from the specification and from nothing of the project's code.

The order of changes is a tuple of Python numbers and texts, and the digest of a row decides an exact tie. Both are computed
here from their description in docs/explanation/position-and-digest.md. Only type strings are parsed by the project. Values
have the form of a workload: what BigQuery takes in a line of JSON.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from support.zetasql_judge import Judge

from onefold.schema.types import Array, Field, Range, Scalar, Struct, Type, parse_type

Row = Mapping[str, Any]
Order = tuple[Any, ...]

METADATA, LANDED_AT = "datastream_metadata", "_landed_at"
DELETIONS = ("DELETE", "UPDATE-DELETE")
NO_TYPES: Mapping[str, str] = {}

_SECTIONS = re.compile(r"[0-9A-Fa-f]+(/[0-9A-Fa-f]+)*")
_PLACE = re.compile(r"[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *")
"""Places of SQL Server and Oracle, as docs/explanation/position-and-digest.md lists them."""
_TEN_BYTES = re.compile(r"[0-9A-Fa-f]{20}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_WIDE = 2**53


def latest(changes: Iterable[Row], keys: Sequence[str], types: Mapping[str, str] = NO_TYPES) -> list[Row]:
    """Return the change with the greatest order of each key, deletions included: a dict and a loop."""
    found: dict[tuple[Any, ...], tuple[Order, Row]] = {}
    for change in changes:
        key, order = tuple(change.get(name) for name in keys), order_of(change, types)
        if key not in found or order > found[key][0]:
            found[key] = (order, change)
    return [change for _, change in found.values()]


def oracle(changes: Iterable[Row], keys: Sequence[str], types: Mapping[str, str] = NO_TYPES) -> list[dict[str, Any]]:
    """Return the latest rows as people see them: no deleted ones, and the source's columns alone."""
    return [source_row(change) for change in latest(changes, keys, types) if not is_deletion(change)]


def source_row(change: Row) -> dict[str, Any]:
    return {name: value for name, value in change.items() if name not in (METADATA, LANDED_AT)}


def is_deletion(change: Row) -> bool:
    return change[METADATA]["change_type"].upper() in DELETIONS


def order_of(change: Row, types: Mapping[str, str] = NO_TYPES) -> Order:
    """Return what compares as changes do: sequence, timestamp, sort keys, kind, identifier, digest of the row."""
    metadata = change[METADATA]
    timestamp = metadata["source_timestamp"]
    return (
        sequence_order(metadata["change_sequence_number"]),
        (timestamp is not None, timestamp or 0),
        tuple(_key_order(key) for key in metadata["sort_keys"] or ()),
        not is_deletion(change),
        metadata["uuid"] or "",
        digest_of(source_row(change), types),
    )


def sequence_order(sequence: str | None) -> Order:
    """NULL, then text with its runs of digits as numbers, then hexadecimal sections as numbers."""
    if sequence is None:
        return (0,)
    if _SECTIONS.fullmatch(sequence) or _PLACE.fullmatch(sequence):
        return (2, *_numbers(sequence))
    return (1, *_natural(sequence))


def _numbers(place: str) -> Order:
    """The sections of a place in a log."""
    return tuple(int(section, 16) for section in re.split(r"[/:.]", place.strip()))


def _key_order(key: str | None) -> Order:
    """NULL, then numbers, then text, then places in a log. One section alone is a number, or text, but for ten bytes."""
    if key is None:
        return (0,)
    if _PLACE.fullmatch(key) or _TEN_BYTES.fullmatch(key) or ("/" in key and _SECTIONS.fullmatch(key)):
        return (3, *_numbers(key))
    return (1, Decimal(key)) if _NUMBER.fullmatch(key) else (2, *_natural(key))


def _natural(text: str) -> Order:
    """Text and numbers by turns: text stands first, so the types of two such tuples agree at each place."""
    return tuple(int(piece) if place % 2 else piece for place, piece in enumerate(re.split(r"([0-9]+)", text)))


# The digest of a row.


def digest_of(row: Row, types: Mapping[str, str] = NO_TYPES) -> str:
    """Return the digest of a row as it landed."""
    texts = {name.lower(): text_of(value, _type_of(name, value, types)) for name, value in row.items()}
    pieces = (f"{len(name)}:{name}={len(text)}:{text}" for name, text in sorted(texts.items()) if text is not None)
    return hashlib.sha256("".join(pieces).encode()).hexdigest()[:32]


def text_of(value: Any, type_: Type) -> str | None:
    """Return what BigQuery's conversion to STRING gives; for an array the texts of its elements with their lengths."""
    if value is None:
        return None
    match type_:
        case Array(element):
            texts = (text_of(one, element) for one in value)
            return "".join("-" if text is None else f"{len(text)}:{text}" for text in texts) or None
        case Struct():
            return _json_text(value, type_)
        case Range():
            return f"[{value['start'] or 'UNBOUNDED'}, {value['end'] or 'UNBOUNDED'})"
        case Scalar("BOOL"):
            return "true" if value else "false"
        case Scalar("FLOAT64"):
            return _float_text(float(value))
        case Scalar("BYTES"):
            try:
                return base64.b64decode(value).decode()
            except UnicodeDecodeError:
                return str(value)
    return str(value)


def _float_text(number: float) -> str:
    """Fifteen digits where they read back as the same number, else seventeen; no sign for a zero."""
    if number == 0:
        return "0"
    text = f"{number:.15g}"
    return text if math.isnan(number) or float(text) == number else f"{number:.17g}"


def _json_text(value: Any, type_: Type) -> str:
    """What TO_JSON_STRING(TO_JSON(x, stringify_wide_numbers => TRUE)) gives: members by name, no blanks."""
    if value is None:
        return "null"
    match type_:
        case Array(element):
            return f"[{','.join(_json_text(one, element) for one in value)}]"
        case Struct(fields):
            members = sorted((field.name, _json_text(value[field.name], field.type)) for field in fields)
            return "{" + ",".join(f"{_quoted(name)}:{text}" for name, text in members) + "}"
        case Range(element):
            return _json_text(value, Struct((Field("end", element), Field("start", element))))
    return _json_scalar(value, str(type_))


def _json_scalar(value: Any, name: str) -> str:
    match name:
        case "BOOL":
            return str(value).lower()
        case "JSON":
            return str(value)
        case "FLOAT64":
            return _json_float(value)
        case "INT64":
            return str(value) if abs(int(value)) <= _WIDE else _quoted(str(value))
        case "NUMERIC" | "BIGNUMERIC":
            return _json_decimal(str(value))
        case "DATETIME" | "TIMESTAMP":
            return _quoted(value.replace(" ", "T").replace("+00", "Z"))
        case "INTERVAL":
            return _quoted(_iso_interval(value))
    return _quoted(value)


@functools.cache
def _json_float(value: Any) -> str:
    """Ask Google's evaluator: its digits are those of Grisu2, which for one number in a thousand are not the fewest."""
    number = float(value)
    if not math.isfinite(number):
        return _quoted({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)])
    ((text,),) = _judge().rows(f"SELECT TO_JSON_STRING(TO_JSON(CAST('{number!r}' AS FLOAT64)))")
    return str(text)


@functools.cache
def _judge() -> Judge:
    return Judge()


def _json_decimal(text: str) -> str:
    """A number where a FLOAT64 holds it, else text."""
    if "." not in text:
        return text if abs(int(text)) <= _WIDE else _quoted(text)
    number = repr(float(text))
    return number if Decimal(number) == Decimal(text) else _quoted(text)


def _iso_interval(text: str) -> str:
    """ISO 8601 without the parts that are zero."""
    found = re.fullmatch(r"(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):([\d.]+)", text)
    assert found, text
    sign, years, months, days, minus, hours, minutes, seconds = found.groups()
    date = _iso_parts((sign + years, "Y"), (sign + months, "M"), (days, "D"))
    time = _iso_parts((minus + hours, "H"), (minus + minutes, "M"), (minus + seconds, "S"))
    return f"P{date}{'T' if time else ''}{time}" if date or time else "P0Y"


def _iso_parts(*parts: tuple[str, str]) -> str:
    return "".join(f"{Decimal(text).normalize():f}{letter}" for text, letter in parts if Decimal(text))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _type_of(name: str, value: Any, types: Mapping[str, str]) -> Type:
    return parse_type(types[name]) if name in types else _inferred(value)


def _inferred(value: Any) -> Type:
    """The type of a value that JSON itself has."""
    match value:
        case bool():
            return Scalar("BOOL")
        case int():
            return Scalar("INT64")
        case float():
            return Scalar("FLOAT64")
        case list():
            return Array(_inferred(value[0]) if value else Scalar("STRING"))  # type: ignore[arg-type]
    return Scalar("STRING")
