"""The key `captures` of onefold.yaml, checked strictly: all problems at once, each with its key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from onefold.settings.captures import CaptureSettings, ColumnRules
from onefold.settings.unknown_keys import not_a_setting
from onefold.settings.yaml_loader import parse_yaml
from onefold.settings.yaml_sources import SECRET_FORMS, SECRET_REFERENCE

_CAPTURE_KEYS = ("tables", "hash_key")
_ACTIONS = ("drop", "mask", "hash")

Problem = Callable[[str], None]


def read_captures(value: Any, problem: Problem) -> dict[str, CaptureSettings]:
    """Return the settings of captured sources by the name of the source.

    Args:
        value: the value of the key; None where it has none.
        problem: takes each problem.
    """
    entries = _mapping(value, "captures", "names of sources", problem)
    return {name: _capture(body, f"captures.{name}", problem) for name, body in _named(entries, "captures", problem)}


def captures_of_text(text: str, where: str, problems: list[str]) -> dict[str, CaptureSettings]:
    """Return the settings of captured sources that a text in YAML or JSON holds: the value of the key `captures`.

    Args:
        text: the text.
        where: where the text comes from.
        problems: the list to which problems are added.
    """
    return read_captures(parse_yaml(text, where, problems), lambda problem: problems.append(f"{where}: {problem}"))


def _capture(value: Any, where: str, problem: Problem) -> CaptureSettings:
    body = _mapping(value, where, "settings", problem)
    _check_keys(body, where, _CAPTURE_KEYS, problem)
    tables = _mapping(body.get("tables"), f"{where}.tables", "patterns of tables", problem)
    named = _named(tables, f"{where}.tables", problem)
    rules = tuple(_rules(name, one, f"{where}.tables.{name}", problem) for name, one in named)
    return CaptureSettings(rules, _hash_key(body.get("hash_key"), where, problem))


def _rules(tables: str, value: Any, where: str, problem: Problem) -> ColumnRules:
    body = _mapping(value, where, "actions", problem)
    _check_keys(body, where, _ACTIONS, problem)
    if not any(body.get(action) for action in _ACTIONS):
        problem(f"{where} names no column: write lists of columns under {', '.join(_ACTIONS)}")
    drop, mask, hash_ = (_columns(body.get(action), f"{where}.{action}", problem) for action in _ACTIONS)
    return ColumnRules(tables, drop, mask, hash_)


def _columns(value: Any, where: str, problem: Problem) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        problem(f"{where} must be a list of columns, in which * stands for any characters")
        return ()
    return tuple(dict.fromkeys(value))


def _hash_key(value: Any, where: str, problem: Problem) -> str | None:
    if value is None or (isinstance(value, str) and SECRET_REFERENCE.fullmatch(value)):
        return value
    # A wrong reference may be the key itself.
    problem(f"{where}.hash_key: expected {SECRET_FORMS}, never the key")
    return None


def _check_keys(body: Mapping[Any, Any], where: str, known: tuple[str, ...], problem: Problem) -> None:
    for key in body:
        if key not in known:
            problem(f"{where}.{key} {not_a_setting(key, known)}")


def _mapping(value: Any, where: str, of: str, problem: Problem) -> Mapping[Any, Any]:
    if value is None or isinstance(value, Mapping):
        return value or {}
    problem(f"{where} must be a mapping of {of}")
    return {}


def _named(body: Mapping[Any, Any], where: str, problem: Problem) -> Iterator[tuple[str, Any]]:
    for name, one in body.items():
        if isinstance(name, str) and name:
            yield name, one
        else:
            problem(f"{where}: {name!r} is not a text; put it in quotes")
