"""Which tables are captured."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
"""Databases of the server's own, never captured."""


@dataclass(frozen=True)
class Patterns:
    """Patterns of `database.table`, with `*`, `?` and `[...]`; one without a dot is of databases.

    A table is captured if one of `include` fits, or there is none, and none of `exclude` does.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def match(self, database: str, table: str) -> bool:
        return _match(self, database, table)

    def may_match(self, database: str) -> bool:
        """Whether there may be tables in a database that are captured."""
        included = not self.include or any(fnmatchcase(database, one.rpartition(".")[0] or one) for one in self.include)
        excluded = any(fnmatchcase(database, one.removesuffix(".*")) for one in self.exclude)
        return database not in SYSTEM and included and not excluded


@lru_cache(maxsize=65536)
def _match(patterns: Patterns, database: str, table: str) -> bool:
    if database in SYSTEM:
        return False
    included = not patterns.include or _any(patterns.include, database, table)
    return included and not _any(patterns.exclude, database, table)


def _any(patterns: tuple[str, ...], database: str, table: str) -> bool:
    return any(fnmatchcase(f"{database}.{table}" if "." in one else database, one) for one in patterns)
