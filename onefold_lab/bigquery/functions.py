"""Functions added to DuckDB; `rewriting` replaces casts and JSON functions by them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from onefold_lab.bigquery.bignumeric import FIELD, SCALE, STORED, decode, encode
from onefold_lab.bigquery.texts import (
    cast_text,
    checked_text,
    exact_text,
    json_scalar,
    to_json,
    to_json_string,
    zoned_text,
)

if TYPE_CHECKING:
    import duckdb

# Types whose text in DuckDB equals that in BigQuery: they need no call of Python.
_PLAIN = "('VARCHAR', 'BIGINT', 'INTEGER', 'HUGEINT', 'BOOLEAN', 'DATE')"
# A value as an argument of a Python function, which is always text: its text, or the JSON of a STRUCT.
_AS_TEXT = "CASE WHEN typeof(a) LIKE 'STRUCT(%' THEN CAST(to_json(a) AS VARCHAR) ELSE CAST(a AS VARCHAR) END"
# `typeof` is constant for a statement, so DuckDB keeps only one branch of each CASE.
_MACROS = (
    f"onefold_text(a) AS CASE WHEN typeof(a) IN {_PLAIN} THEN CAST(a AS VARCHAR) "
    f"ELSE onefold_cast_text({_AS_TEXT}, typeof(a)) END",
    f"onefold_safe_text(a) AS CASE WHEN typeof(a) IN {_PLAIN} THEN CAST(a AS VARCHAR) "
    f"ELSE onefold_safe_cast_text({_AS_TEXT}, typeof(a)) END",
    "onefold_string(a, zone) AS CASE WHEN typeof(a) = 'JSON' THEN a ->> '$' "
    "ELSE onefold_zoned_text(CAST(CAST(a AS TIMESTAMPTZ) AS VARCHAR), zone) END",
    "onefold_json(a, wide) AS CAST(onefold_to_json(CAST(to_json(a) AS VARCHAR), typeof(a), wide) AS JSON)",
    "onefold_json_string(a) AS onefold_to_json_string(CAST(to_json(a) AS VARCHAR), typeof(a))",
    "onefold_json_value(a) AS onefold_json_scalar(CAST(a AS VARCHAR))",
    "onefold_bytes(a BLOB) AS a, (a) AS encode(CAST(a AS VARCHAR))",
    f"onefold_bignumeric(a {STORED}) AS CAST(a AS {STORED}), (a) AS onefold_to_bignumeric(CAST(a AS VARCHAR), typeof(a))",
    f"onefold_safe_bignumeric(a {STORED}) AS CAST(a AS {STORED}), "
    "(a) AS onefold_try_bignumeric(CAST(a AS VARCHAR), typeof(a))",
    *(
        f'onefold_{safe}read(a {STORED}, target) AS onefold_from_bignumeric(CAST(a AS {STORED})."{FIELD}"), '
        f"(a VARCHAR, target) AS onefold_{safe}checked_text(a, target), (a, target) AS a"
        for safe in ("", "safe_")
    ),
    *(
        f'onefold_{safe}number(a {STORED}) AS onefold_from_bignumeric(CAST(a AS {STORED})."{FIELD}"), '
        f"(a) AS CASE WHEN typeof(a) = 'DOUBLE' THEN onefold_{safe}exact_text(CAST(a AS VARCHAR), typeof(a), 9) "
        "ELSE CAST(a AS VARCHAR) END"
        for safe in ("", "safe_")
    ),
)


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the functions and macros to a new connection."""
    text = "VARCHAR"
    for name, function, takes, gives in (
        ("onefold_cast_text", cast_text, [text, text], text),
        ("onefold_safe_cast_text", _safe(cast_text), [text, text], text),
        ("onefold_zoned_text", zoned_text, [text, text], text),
        ("onefold_to_json", to_json, [text, text, "BOOLEAN"], text),
        ("onefold_json_scalar", json_scalar, [text], text),
        ("onefold_to_json_string", to_json_string, [text, text], text),
        ("onefold_checked_text", checked_text, [text, text], text),
        ("onefold_safe_checked_text", _safe(checked_text), [text, text], text),
        ("onefold_exact_text", exact_text, [text, text, "BIGINT"], text),
        ("onefold_safe_exact_text", _safe(exact_text), [text, text, "BIGINT"], text),
        ("onefold_to_bignumeric", _to_bignumeric, [text, text], STORED),
        ("onefold_try_bignumeric", _safe(_to_bignumeric), [text, text], STORED),
        ("onefold_from_bignumeric", decode, [text], text),
    ):
        connection.create_function(name, _null_for_null(function), takes, gives, null_handling="special")  # type: ignore[call-overload]
    for macro in _MACROS:
        connection.execute(f"CREATE OR REPLACE MACRO {macro}")


def _to_bignumeric(text: str, type_name: str) -> dict[str, str]:
    return {FIELD: encode(exact_text(text, type_name, SCALE))}


def _safe(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives NULL instead of a ValueError, as SAFE_CAST does."""

    @functools.wraps(function)
    def safe(*arguments: Any) -> Any:
        with contextlib.suppress(ValueError):
            return function(*arguments)
        return None

    return safe


def _null_for_null(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives NULL for NULL, except for the JSON functions, which write `null`."""
    writes_null = function in (to_json, to_json_string)

    @functools.wraps(function)
    def answer(*arguments: Any) -> Any:
        return None if arguments[0] is None and not writes_null else function(*arguments)

    return answer
