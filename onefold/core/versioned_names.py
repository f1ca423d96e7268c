"""The names of versioned tables: which table is a version of which base name, by one pattern for each dataset.

A pattern is a regular expression with the groups `base` and `version`. What is outside the two groups is plain text, so the
name of a table follows from its base name and its version, and a pattern reads the same in Python as in RE2, the regular
expressions of BigQuery, Cloud Logging and Terraform.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from onefold.core.names import problems_of_name

DEFAULT_PATTERN = "(?P<base>.+)_v_(?P<version>[0-9a-f]{1,64})"
"""Hexadecimal hashes in lower case: nine digits from capture and from the predecessor, 64 at most."""

_MOST_CHARACTERS = 300
_MOST_REPETITIONS = 1_000
"""RE2 takes no greater number in braces (RE2, "Syntax")."""
_GROUPS = ("base", "version")
_PLAIN = re.compile(r"[\w-]*")
# Escapes that mean the same in both: with re.ASCII, Python's classes are RE2's.
_ESCAPES = re.compile(r"[dDwW]|[^A-Za-z0-9]")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?:|\(\?|[()]|.", re.DOTALL)
# Possessive repetition, and a missing lower bound, which RE2 reads as plain text.
_OTHER_REPETITION = re.compile(r"(?:[*+?]|\{[0-9]*,?[0-9]*\})\+|\{,[0-9]+\}")


@dataclass(frozen=True)
class SkippedTable:
    """A table that looks like a version and is not used, and the reason."""

    table: str
    base: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        return {"table": self.table, "reason": self.reason}


@dataclass(frozen=True)
class VersionedNames:
    """The naming of the versioned tables of one dataset.

    pattern: the regular expression, without anchors; it has to match the whole name.
    include: regular expressions; a base name has to match one of them, where there are any.
    exclude: regular expressions; a base name, or a table's own name, that matches one of them is left out.
    """

    pattern: str = DEFAULT_PATTERN
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def split(self, table: str) -> tuple[str, str] | None:
        """Return the base name and the version of a table that is used; None for any other table.

        >>> VersionedNames().split("customer_v_5b6ffe5fb")
        ('customer', '5b6ffe5fb')
        >>> VersionedNames().split("customer_v_backup") is None
        True
        """
        found = self._match(table)
        return found if found and self.exclusion_reason(found[0], table) is None else None

    def name(self, base: str, version: str) -> str:
        """Return the name of the table that holds a version.

        >>> VersionedNames("(?P<base>.+)_(?P<version>[0-9]+)").name("com_acme_ad_click", "1")
        'com_acme_ad_click_1'
        """
        parts = {"base": base, "version": version}
        return "".join(parts[part.name] if isinstance(part, _Group) else part for part in _parse(self.pattern))

    def version_of(self, base: str, table: str) -> str | None:
        """Return the version that a table is of this base name; None for any other table."""
        found = self.split(table)
        return found[1] if found and found[0] == base else None

    def problems(self, base: str, version: str) -> list[str]:
        """Return what keeps a base name and a version of a message from naming a table of this pattern."""
        table = self.name(base, version)
        if self._match(table) == (base, version):
            return []
        return [f"{table[:100]} is no version {version[:60]} of {base[:60]}: expected a table named as {self.pattern}"]

    def versions_pattern(self, base: str) -> str:
        """Return an anchored pattern (RE2; in Python with fullmatch) that matches all versions of one base name.

        It may match tables of other base names as well: `split` decides.
        """
        return f"^{self.search_pattern(base)}$"

    def search_pattern(self, base: str) -> str:
        """Return the same pattern without anchors."""
        return "".join(
            part if isinstance(part, str) else re.escape(base) if part.name == "base" else f"(?:{part.text})"
            for part in _parse(self.pattern)
        )

    def exclusion_reason(self, base: str, table: str | None = None) -> str | None:
        """Return why a base name, or one table of it, is left out by `include` and `exclude`; None where it is used."""
        for pattern in self.exclude:
            if any(name and re.fullmatch(pattern, name, re.ASCII) for name in (base, table)):
                return f"`exclude` has {pattern}"
        if self.include and not any(re.fullmatch(pattern, base, re.ASCII) for pattern in self.include):
            return f"no pattern of `include` matches {base}"
        return None

    def skipped(self, tables: Iterable[str]) -> tuple[SkippedTable, ...]:
        """Return the tables of a dataset that look like versions, but are not used."""
        tables = tuple(tables)
        known = {found[0] for table in tables if (found := self._match(table))}
        return tuple(left for table in tables if (left := self._left_out(table, known)))

    def _left_out(self, table: str, known: set[str]) -> SkippedTable | None:
        if found := self._match(table):
            reason = self.exclusion_reason(found[0], table)
            return SkippedTable(table, found[0], reason) if reason else None
        base, version = self._known_base(table, known) or self._loose_base(table) or ("", "")
        return SkippedTable(table, base, f"{version} is no version by version_pattern {self.pattern}") if base else None

    def _known_base(self, table: str, known: set[str]) -> tuple[str, str] | None:
        """Return the longest base name that has versions and that a table is named after, and the rest of its name."""
        before, first, between, _, after = _in_five(self.pattern)
        inner = table.removeprefix(before).removesuffix(after)
        if not between or before + inner + after != table:
            return None
        splits = (
            (inner[: found.start()], inner[found.end() :]) for found in re.finditer(f"(?={re.escape(between)})", inner)
        )
        pairs = ((left, right[len(between) :]) for left, right in splits)
        named = [pair if first == "base" else pair[::-1] for pair in pairs]
        return max((pair for pair in named if pair[0] in known and pair[1]), key=lambda pair: len(pair[0]), default=None)

    def _loose_base(self, table: str) -> tuple[str, str] | None:
        """Return what would be the base name and the version, where letters set the version apart.

        Without them, half of all names look like versions.
        """
        is_telling = any(re.search(r"[^\W_]", part) for part in _parse(self.pattern) if isinstance(part, str))
        loose = _compiled_loosely(self.pattern).fullmatch(table) if is_telling else None
        return (loose["base"], loose["version"]) if loose else None

    def _match(self, table: str) -> tuple[str, str] | None:
        match = _compiled(self.pattern).fullmatch(table)
        if not match or problems_of_name("table", match["base"]) or problems_of_name("version", match["version"]):
            return None
        return match["base"], match["version"]


DEFAULT_NAMES = VersionedNames()
NamesIn = Callable[[str], VersionedNames]
"""The naming in a dataset."""


def default_names(_dataset: str) -> VersionedNames:
    """Return the naming of a dataset that has no settings."""
    return DEFAULT_NAMES


def without_anchors(pattern: str) -> str:
    """Return a pattern of the settings without the anchors that it may have: it always has to match the whole name."""
    return pattern.removeprefix("^").removesuffix("$")


def pattern_problems(pattern: str) -> list[str]:
    """Return all that is wrong with a version pattern: empty where Python and RE2 read it alike."""
    parts = _parse(pattern)
    named = [part.name for part in parts if isinstance(part, _Group)]
    problems = [f"the group (?P<{name}>...) is missing" for name in _GROUPS if name not in named]
    problems += [f"the group {name} is there twice" for name in _GROUPS if named.count(name) > 1]
    problems += [f"the group {name} is unknown: there are base and version" for name in named if name not in _GROUPS]
    problems += [
        f"{part!r} is outside the groups base and version: expected letters, digits, _ and - there"
        for part in parts
        if isinstance(part, str) and not _PLAIN.fullmatch(part)
    ]
    inner = [part.text for part in parts if isinstance(part, _Group)]
    problems += [problem for text in inner for problem in regex_problems(text)]
    if not problems and _compiled(pattern).fullmatch(""):
        problems.append("it matches an empty name")
    return problems


def regex_problems(text: str) -> list[str]:
    """Return what a regular expression has that Python and RE2 read differently, or that one of them does not read."""
    problems = (
        [f"{len(text)} characters are too many: {_MOST_CHARACTERS} are allowed"] if len(text) > _MOST_CHARACTERS else []
    )
    problems += dict.fromkeys(_token_problems(text))
    problems += [
        f"{found[0]} is a repetition that RE2 does not have" for found in _OTHER_REPETITION.finditer(_without_classes(text))
    ]
    problems += [
        f"{{{number}}} repeats too often: RE2 allows {_MOST_REPETITIONS}"
        for number in re.findall(r"[{,]([0-9]+)", _without_classes(text))
        if int(number) > _MOST_REPETITIONS
    ]
    if re.search(r"\)\{", _without_classes(text)) and _repetitions(text) > _MOST_REPETITIONS:
        problems.append(f"nested repetitions come to more than {_MOST_REPETITIONS}, which is the most that RE2 allows")
    if _repeats_ambiguously(text):
        problems.append(
            "a repeated group holds a repetition or a choice, which may take Python for ever: repeat a class, as in [a-z_]+"
        )
    try:
        if not problems:  # a class that was refused would make Python warn
            re.compile(text, re.ASCII)
    except (re.error, OverflowError) as error:
        problems.append(f"it is no regular expression: {error}")
    return problems


@dataclass(frozen=True)
class _Group:
    name: str
    text: str


@lru_cache(maxsize=256)
def _parse(pattern: str) -> tuple[str | _Group, ...]:
    """Split a pattern into plain text and its outermost named groups."""
    parts: list[str | _Group] = []
    name, depth, text = "", 0, ""
    for piece in _TOKEN.findall(pattern):
        if not depth and piece.startswith("(?P<"):
            parts.append(text)
            name, depth, text = piece[4:-1], 1, ""
            continue
        depth += (piece.startswith("(") if depth else 0) - (piece == ")" and depth > 0)
        if name and not depth:
            parts.append(_Group(name, text))
            name, text = "", ""
        else:
            text += piece
    return tuple(part for part in [*parts, f"(?P<{name}>{text}" if name else text] if part)


@lru_cache(maxsize=256)
def _in_five(pattern: str) -> tuple[str, str, str, str, str]:
    """Return a pattern's plain text, first group's name, plain text, second group's name, plain text."""
    five = [""]
    for part in _parse(pattern):
        five[-1:] = [five[-1] + part] if isinstance(part, str) else [five[-1], part.name, ""]
    before, first, between, second, after = five
    return before, first, between, second, after


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


@lru_cache(maxsize=256)
def _compiled_loosely(pattern: str) -> re.Pattern[str]:
    """The pattern with any text for a version."""
    parts = (part if isinstance(part, str) else f"(?P<{part.name}>.+)" for part in _parse(pattern))
    return re.compile("".join(parts))


def _without_classes(text: str) -> str:
    return "".join("x" if piece[0] in "[\\" else piece for piece in _TOKEN.findall(text))


def _repetitions(text: str) -> int:
    """Return the product of all numbers in braces: an upper bound, since some of them may not be nested."""
    return math.prod(int(number) for number in re.findall(r"([0-9]+)\}", _without_classes(text)))


def _repeats_ambiguously(text: str) -> bool:
    """Return whether a group with a repetition or a choice in it is itself repeated: Python tries all ways to divide a text.

    Not each of them is slow, but to tell which takes more than it is worth.
    """
    plain, groups = _without_classes(text), [False]
    for place, sign in enumerate(plain):
        if sign == "(":
            groups.append(False)
        elif sign == ")" and len(groups) > 1:
            ambiguous = groups.pop()
            if ambiguous and plain[place + 1 : place + 2] in ("*", "+", "{"):
                return True
            groups[-1] = groups[-1] or ambiguous
        elif sign in "*+?{|" and plain[place - 1 : place + 2] != "(?:":
            groups[-1] = True
    return False


def _token_problems(text: str) -> Iterator[str]:
    for piece in _TOKEN.findall(text):
        if piece[0] == "\\" and not _ESCAPES.fullmatch(piece[1:]):
            yield f"{piece} is not allowed: use \\d, \\w, or a character as it is"
        elif piece == "(?" or piece.startswith("(?P<"):
            yield "within a group only (...) and (?:...) are allowed: no look-around, flags, names or references"
        elif piece in ("^", "$"):
            yield f"{piece} is not allowed within a group: the whole name always has to match"
        elif piece[0] == "[" and len(piece) > 1:
            yield from _class_problems(piece)


def _class_problems(piece: str) -> Iterator[str]:
    if re.search(r"\[[:.=]|&&|~~|\|\||--|\[.*\[", piece):
        yield f"{piece} is a class that Python and RE2 may read differently: write single characters and ranges"
    for escape in re.findall(r"\\(.)", piece):
        if not _ESCAPES.fullmatch(escape):
            yield f"\\{escape} is not allowed in a class"
