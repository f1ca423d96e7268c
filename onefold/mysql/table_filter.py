"""Which tables are captured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
"""Databases of the server's own, never captured."""
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class TableFilter:
    """Patterns of `database.table`, with `*`, `?` and `[...]`; one without a dot is of databases.

    A table is captured if one of `include` fits, or there is none, and none of `exclude` does.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def match(self, database: str, table: str) -> bool:
        return _match(self, database, table)

    def choose(self, database: str, table: str) -> bool:
        """Like `match`, for tables that are asked for once: a server's whole catalog would fill the cache."""
        return _chosen(self, database, table)

    def rule_out(self, database: str) -> bool:
        """Return whether no table of a database can be captured, whatever its name.

        A `*` may stand for the dot between database and table, so of a pattern with a wildcard only what is before the
        wildcard is compared.

        >>> TableFilter(("shop_*.order",)).rule_out("crm"), TableFilter(("shop_*.order",)).rule_out("shop_1")
        (True, False)
        """
        whole = (one.removesuffix(".*") for one in self.exclude if "." not in one or one.endswith(".*"))
        if database in SYSTEM or any(fnmatchcase(database, one) for one in whole):
            return True
        return bool(self.include) and not any(_may_begin(one, database) for one in self.include)

    def may_match(self, database: str) -> bool:
        """Whether there may be tables in a database that are captured."""
        included = not self.include or any(fnmatchcase(database, one.rpartition(".")[0] or one) for one in self.include)
        excluded = any(fnmatchcase(database, one.removesuffix(".*")) for one in self.exclude)
        return database not in SYSTEM and included and not excluded


def _may_begin(pattern: str, database: str) -> bool:
    if "." not in pattern:
        return fnmatchcase(database, pattern)
    plain, whole = _WILD.split(pattern)[0], f"{database}."
    return plain.startswith(whole) or whole.startswith(plain)


@lru_cache(maxsize=65536)
def _match(table_filter: TableFilter, database: str, table: str) -> bool:
    return _chosen(table_filter, database, table)


def _chosen(table_filter: TableFilter, database: str, table: str) -> bool:
    if database in SYSTEM:
        return False
    included = not table_filter.include or _any(table_filter.include, database, table)
    return included and not _any(table_filter.exclude, database, table)


def _any(table_filter: tuple[str, ...], database: str, table: str) -> bool:
    return any(fnmatchcase(f"{database}.{table}" if "." in one else database, one) for one in table_filter)
