"""The pattern of the names of versioned tables: a regular expression with the groups `base` and `version`.

Outside the two groups a pattern is plain text, so the name of a table follows from its base name and its version. A pattern
means the same in Python and in RE2 (`regular_expressions`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from onefold.core.names import is_table_character
from onefold.core.regular_expressions import TOKEN, regex_problems

DEFAULT_PATTERN = "(?P<base>.+)_v_(?P<version>[0-9a-f]{1,64})"
"""Hexadecimal hashes in lower case: nine digits from capture and from the predecessor, 64 at most."""

_GROUPS = ("base", "version")


@dataclass(frozen=True)
class PatternGroup:
    """A named group of a pattern, and the regular expression in it."""

    name: str
    text: str


@lru_cache(maxsize=256)
def parse_pattern(pattern: str) -> tuple[str | PatternGroup, ...]:
    """Split a pattern into plain text and its outermost named groups.

    Examples:
        >>> parse_pattern("(?P<base>.+)_v_(?P<version>[0-9]+)")
        (PatternGroup(name='base', text='.+'), '_v_', PatternGroup(name='version', text='[0-9]+'))
    """
    parts: list[str | PatternGroup] = []
    # `name` is the named group that the loop is in; `depth` counts the open parentheses, that of the named group included.
    name, depth, text = "", 0, ""
    for piece in TOKEN.findall(pattern):
        if not depth and piece.startswith("(?P<"):
            parts.append(text)
            name, depth, text = piece[4:-1], 1, ""
            continue
        depth += (piece.startswith("(") if depth else 0) - (piece == ")" and depth > 0)
        if name and not depth:
            parts.append(PatternGroup(name, text))
            name, text = "", ""
        else:
            text += piece
    # A group that is never closed is plain text, which `pattern_problems` refuses.
    return tuple(part for part in [*parts, f"(?P<{name}>{text}" if name else text] if part)


@lru_cache(maxsize=256)
def five_parts(pattern: str) -> tuple[str, str, str, str, str]:
    """Return a pattern's plain text, first group's name, plain text, second group's name, plain text.

    Examples:
        >>> five_parts("(?P<base>.+)_v_(?P<version>[0-9]+)")
        ('', 'base', '_v_', 'version', '')
    """
    five = [""]
    for part in parse_pattern(pattern):
        five[-1:] = [five[-1] + part] if isinstance(part, str) else [five[-1], part.name, ""]
    before, first, between, second, after = five
    return before, first, between, second, after


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Return the compiled pattern, in which \d and \w match ASCII only, as they do in RE2."""
    return re.compile(pattern, re.ASCII)


@lru_cache(maxsize=256)
def compiled_loosely(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern with any text as base name and as version."""
    parts = (part if isinstance(part, str) else f"(?P<{part.name}>.+)" for part in parse_pattern(pattern))
    return re.compile("".join(parts))


def pattern_rule(pattern: str, base: str | None = None) -> str:
    """Return in words which names a version pattern takes, for errors.

    Args:
        pattern: the version pattern.
        base: the base name whose versions are meant; all base names by default.

    Examples:
        >>> pattern_rule(DEFAULT_PATTERN)
        'BASE_v_VERSION, where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in customer_v_0123abcdef'
        >>> pattern_rule(DEFAULT_PATTERN, "order")
        'order_v_VERSION, where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in order_v_0123abcdef'
        >>> pattern_rule("(?P<base>.+)-x(?P<version>[0-9]+)")
        'BASE-xVERSION, where version_pattern of onefold.yaml says what BASE and VERSION may be'
    """
    named = {"base": base or "BASE", "version": "VERSION"}
    shape = "".join(part if isinstance(part, str) else named[part.name] for part in parse_pattern(pattern))
    if pattern == DEFAULT_PATTERN:
        example = f"{base or 'customer'}_v_0123abcdef"
        return f"{shape}, where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in {example}"
    unknown = "VERSION" if base else "BASE and VERSION"
    return f"{shape}, where version_pattern of onefold.yaml says what {unknown} may be"


def without_anchors(pattern: str) -> str:
    """Return a pattern of the settings without its anchors, if it has any: a pattern always has to match the whole name.

    Examples:
        >>> without_anchors("^customer.*$")
        'customer.*'
    """
    return pattern.removeprefix("^").removesuffix("$")


def pattern_problems(pattern: str) -> list[str]:
    """Return why a version pattern cannot be used: an empty list where Python and RE2 read it alike.

    Examples:
        >>> pattern_problems("(?P<base>.+)_v_")
        ['the group (?P<version>...) is missing']
    """
    parts = parse_pattern(pattern)
    named = [part.name for part in parts if isinstance(part, PatternGroup)]
    problems = [f"the group (?P<{name}>...) is missing" for name in _GROUPS if name not in named]
    problems += [f"the group {name} is there twice" for name in _GROUPS if named.count(name) > 1]
    problems += [f"the group {name} is unknown: there are base and version" for name in named if name not in _GROUPS]
    problems += [
        f"{part!r} is outside the groups base and version: expected letters, digits, _ and - there"
        for part in parts
        if isinstance(part, str) and not all(map(is_table_character, part))
    ]
    inner = [part.text for part in parts if isinstance(part, PatternGroup)]
    problems += [problem for text in inner for problem in regex_problems(text)]
    if not problems and compiled(pattern).fullmatch(""):
        problems.append("it matches an empty name")
    return problems
