"""Names: what may be one, and how a name is quoted. Nothing else quotes."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass

from onefold.core.errors import InvalidName

# Letters of any alphabet, digits, `_` and `-` are what BigQuery allows in a table's name, but for the space, which no
# capture writes. Each pattern is used with fullmatch only: `customer` must never catch `customer_vip`.
_PROJECT = re.compile(r"(?:[a-z0-9.-]{1,100}:)?[a-z][a-z0-9-]{0,62}")
_DATASET = re.compile(r"[A-Za-z0-9_]{1,1024}")
_TABLE = re.compile(r"[\w-]{1,1024}")
_VERSION = re.compile(r"[A-Za-z0-9_-]{1,300}")

TEMPORARY_PREFIX = "onefold_tmp_"
"""Begins the name of every table that a job makes for itself, and drops."""
LEAF_PREFIX = "onefold_leaf_"
"""Begins the name of every leaf view. The rights to delete are given by these two prefixes (infra/datasets.tf)."""

_LOWER = {ord(letter): letter.lower() for letter in string.ascii_uppercase}

_SHOWN = 60
"""A wrong name is shown up to this length, so that a hostile one cannot flood a log."""


@dataclass(frozen=True, order=True)
class TableId:
    """A table or view; without a project, or without both, it is as far qualified as the caller knew."""

    project: str | None
    dataset: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.project, self.dataset, self.table) if part)

    @property
    def quoted(self) -> str:
        return quote(str(self))

    def sibling(self, table: str) -> TableId:
        return TableId(self.project, self.dataset, table)


def versioned_name(base: str, version: str) -> str:
    """Return the name that capture gives to a version. A dataset's own naming is in `versioned_names`."""
    return f"{base}_v_{version}"


def quote(name: str) -> str:
    """An identifier or a dotted path in one pair of backticks (GoogleSQL, "Lexical structure", quoted identifiers)."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quote_text(text: str) -> str:
    """A string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def fold_case(name: str) -> str:
    """Equal for column names that are one to GoogleSQL, which ignores the case of ASCII letters and of no others."""
    return name.lower() if name.isascii() else name.translate(_LOWER)


def problems_of_name(kind: str, name: object) -> list[str]:
    """What is wrong with a name from outside: an empty list where it is safe. `kind` is a key of `_RULES`."""
    pattern, rule = _RULES[kind]
    if isinstance(name, str) and pattern.fullmatch(name):
        return []
    shown = repr(name) if len(repr(name)) <= _SHOWN else repr(name)[:_SHOWN] + "…"
    return [f"{kind} {shown} is not a valid name: use {rule}"]


def check_names(named: Iterable[tuple[str, object]]) -> None:
    """Raise InvalidName with the faults of all (kind, name) pairs."""
    problems = [problem for kind, name in named for problem in problems_of_name(kind, name)]
    if problems:
        raise InvalidName(problems)


_RULES = {
    "project": (_PROJECT, "lower-case letters, digits and hyphens"),
    "dataset": (_DATASET, "letters, digits and underscores"),
    "table": (_TABLE, "letters, digits, underscores and hyphens"),
    "version": (_VERSION, "letters, digits, underscores and hyphens"),
}


def leaf_name(view: TableId, text: str) -> str:
    """Return the name of a leaf. The view's name comes last: after it a digest could read as the version of a table."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{LEAF_PREFIX}{digest}_{view.table}"
