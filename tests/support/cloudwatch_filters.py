"""Evaluates filter patterns of CloudWatch Logs over lines, as far as infra/aws uses the language.

Honoured: `{ $.name = "text" }`, `{ $.name != "text" }`, numbers with =, !=, <, <=, > and >=, and such comparisons joined by
&&. A line that is not an object of JSON, or lacks the field, does not match. A text is compared with its case; `*` in the
pattern stands for any text. Anything else is a ValueError.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html, "JSON", 2026-11
"""

from __future__ import annotations

import fnmatch
import json
import operator
import re
from typing import Any

_COMPARISON = re.compile(
    r'\$\.(?P<path>\w+(?:\.\w+)*) *(?P<sign>=|!=|<=|>=|<|>) *(?:"(?P<text>[^"]*)"|(?P<number>-?[0-9.]+))'
)
_SIGNS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def matches(pattern: str, line: str) -> bool:
    """Return whether a line passes a filter."""
    if not pattern.startswith("{") or not pattern.endswith("}"):
        raise ValueError(f"expected a pattern for JSON, got {pattern}")
    parts = [_COMPARISON.fullmatch(part.strip()) for part in pattern[1:-1].split("&&")]
    if not all(parts):
        raise ValueError(f"unknown part of a pattern: {pattern}")
    return all(_passes(part, line) for part in parts if part)


def metric_value(expression: str, line: str) -> float:
    """Return the value that a matching line adds to a metric: `1`, or `$.name` of the line."""
    return float(field(line, expression[2:]) if expression.startswith("$.") else expression)


def field(line: str, path: str) -> Any:
    """Return the field of a line; None where it has none."""
    try:
        found: Any = json.loads(line)
    except ValueError:
        return None
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _passes(part: re.Match[str], line: str) -> bool:
    found, sign = field(line, part["path"]), part["sign"]
    if found is None:
        return False
    if part["text"] is None:
        return isinstance(found, int | float) and bool(_SIGNS[sign](found, float(part["number"])))
    if sign not in ("=", "!="):
        raise ValueError(f"expected = or != before a text, got {sign}")
    return isinstance(found, str) and fnmatch.fnmatchcase(found, part["text"]) is (sign == "=")
