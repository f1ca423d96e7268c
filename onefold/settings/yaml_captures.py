"""The key `captures` of onefold.yaml: which columns of captured sources land, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onefold.core.problems import Problem
from onefold.settings.captures import CaptureSettings, ColumnRules

_ACTIONS = ("drop", "mask", "hash")


def capture_problems(captures: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the value of the key that the schema cannot tell."""
    for name, capture in captures.items():
        for tables, rules in ((capture or {}).get("tables") or {}).items():
            if not any(rules.get(action) for action in _ACTIONS):
                advice = f"write lists of columns under {', '.join(_ACTIONS)}"
                yield Problem(f"no column is named: {advice}", ("captures", name, "tables", tables))


def read_captures(captures: Mapping[str, Any]) -> dict[str, CaptureSettings]:
    """Return the settings of captured sources by the name of the source, from a checked mapping."""
    return {name: _capture(capture or {}) for name, capture in captures.items()}


def _capture(capture: Mapping[str, Any]) -> CaptureSettings:
    rules = (
        ColumnRules(tables, *(tuple(dict.fromkeys(one.get(action) or ())) for action in _ACTIONS))
        for tables, one in (capture.get("tables") or {}).items()
    )
    return CaptureSettings(tuple(rules), capture.get("hash_key"))
