"""Values of a workload as SQL literals for the evaluator, and what engines give as values of a workload."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from support.strategies import bytes_literal, text_literal

from onefold.core.names import quote
from onefold.schema.types import Array, Range, Struct, Type, render_type


def literal(value: Any, type_: Type) -> str:
    """A value as an expression of its type."""
    if value is None:
        return f"CAST(NULL AS {render_type(type_)})"
    match type_:
        case Array(element):
            return f"CAST([{', '.join(literal(one, element) for one in value)}] AS {render_type(type_)})"
        case Struct(fields):
            parts = (f"{literal(value[field.name], field.type)} AS {quote(field.name)}" for field in fields)
            return f"CAST(STRUCT({', '.join(parts)}) AS {render_type(type_)})"
        case Range(element):
            return f"RANGE({literal(value['start'], element)}, {literal(value['end'], element)})"
    return _scalar_literal(value, str(type_))


def _scalar_literal(value: Any, name: str) -> str:
    match name:
        case "STRING":
            return text_literal(value)
        case "BYTES":
            return bytes_literal(base64.b64decode(value))
        case "BOOL" | "INT64":
            return str(value).upper()
        case "FLOAT64":
            # The sign of a zero is lost where a literal is negated.
            return f"CAST('{float(value)!r}' AS FLOAT64)"
        case "JSON":
            return f"PARSE_JSON({text_literal(value)})"
    return f"CAST('{value}' AS {name})"


def plain(value: Any, type_: Type) -> Any:
    """What Spark, Arrow or a client of BigQuery gives for a value, in the form of a workload; an array is never None."""
    match type_:
        case Array(element):
            return [plain(one, element) for one in value or ()]
        case _ if value is None:
            return None
        case Struct(fields):
            return {field.name: plain(value[field.name], field.type) for field in fields}
        case Range(element):
            return {end: plain(value[end], element) for end in ("start", "end")} if isinstance(value, Mapping) else value
    return _plain_scalar(value, str(type_))


def _plain_scalar(value: Any, name: str) -> Any:
    match value:
        case _ if name == "JSON":
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case Decimal():
            text = f"{value:f}"
            return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
        case datetime():
            text = _fraction(value.astimezone(UTC) if value.tzinfo else value)
            return f"{text}+00" if name == "TIMESTAMP" else text
        case time() | date():
            return _fraction(value)
    return value


def _fraction(value: datetime | date | time) -> str:
    """With no, three or six digits below the second."""
    if not isinstance(value, datetime | time):
        return str(value)
    digits = "seconds" if not value.microsecond else "milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
    local = value.replace(tzinfo=None)
    return local.isoformat(" ", digits) if isinstance(local, datetime) else local.isoformat(digits)


def plain_row(row: Mapping[str, Any], types: Mapping[str, Type]) -> dict[str, Any]:
    return {name: plain(row[name], types[name]) if name in types else row[name] for name in row}


def comparable(row: Mapping[str, Any]) -> str:
    """Text that differs where rows do: also in the sign of a zero, but not between NULL and an array without elements."""
    return json.dumps({name: row[name] for name in sorted(row) if row[name] not in (None, [])}, ensure_ascii=False)
