"""The filter that says which tables are captured."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

from onefold.mysql.ghost_tables import originals

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
"""The server's own databases, which are never captured."""
_WILD = re.compile(r"[*?\[]")
_ESCAPED = re.compile(r"\[(.)\]")


@dataclass(frozen=True)
class TableFilter:
    """Patterns of `database.table`, with `*`, `?` and `[...]`; a pattern without a dot matches databases.

    A table is captured if a pattern of `include` matches, or `include` is empty, and no pattern of `exclude` matches.
    Tables of online schema changes (`_customer_gho`) are left out by default.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    with_ghosts: bool = False
    """Whether tables of online schema changes are captured as all others. Otherwise a pattern of `include` has to name them
    by a table that begins with an underscore: `shop._customer_gho`, `*._*_new`."""

    def match(self, database: str, table: str) -> bool:
        """Return whether a table is captured. Answers are cached, because the log asks for each event.

        Examples:
            >>> TableFilter(("shop_*",), ("*.tmp_?",)).match("shop_1", "order")
            True
        """
        return _match(self, database, table)

    def choose(self, database: str, table: str) -> bool:
        """Return the same as `match` without its cache, which a server's whole catalog would fill."""
        return _chosen(self, database, table)

    def leave_out_ghost(self, database: str, table: str) -> bool:
        """Return whether a table is left out for the only reason that it is one of an online schema change.

        Examples:
            >>> TableFilter(("shop.*",)).leave_out_ghost("shop", "_customer_gho")
            True
        """
        return not self.choose(database, table) and replace(self, with_ghosts=True).choose(database, table)

    def rule_out(self, database: str) -> bool:
        """Return whether no table of a database is captured, whatever the table's name.

        A `*` also matches the dot between database and table, so only the part before the first wildcard is compared.

        Examples:
            >>> TableFilter(("shop_*.order",)).rule_out("crm"), TableFilter(("shop_*.order",)).rule_out("shop_1")
            (True, False)
        """
        whole = (one.removesuffix(".*") for one in self.exclude if "." not in one or one.endswith(".*"))
        if database in SYSTEM or any(fnmatchcase(database, one) for one in whole):
            return True
        return bool(self.include) and not any(_may_begin(one, database) for one in self.include)

    @property
    def databases(self) -> frozenset[str]:
        """Return the databases that patterns of `include` name without a wildcard.

        Examples:
            >>> sorted(TableFilter(("shop.*", "crm_?", "crm.order", "a[*]b.*")).databases)
            ['a*b', 'crm', 'shop']
        """
        named = (_literal(one.rpartition(".")[0] or one) for one in self.include)
        return frozenset(name for name in named if name)

    def may_match(self, database: str) -> bool:
        """Return whether tables of a database may be captured."""
        included = not self.include or any(fnmatchcase(database, one.rpartition(".")[0] or one) for one in self.include)
        excluded = any(fnmatchcase(database, one.removesuffix(".*")) for one in self.exclude)
        return database not in SYSTEM and included and not excluded


def of_database(database: str) -> TableFilter:
    """Return the filter of all tables of one database, those of online schema changes too.

    The name of the database may have a wildcard in it.

    Examples:
        >>> of_database("a[1]").choose("a[1]", "t"), of_database("a*").choose("ab", "t")
        (True, False)
    """
    return TableFilter((f"{glob.escape(database)}.*",), with_ghosts=True)


def _literal(pattern: str) -> str | None:
    """Return the only text that a pattern matches; None for a pattern with a wildcard. `[*]` is an escaped asterisk."""
    return None if _WILD.search(_ESCAPED.sub("", pattern)) else _ESCAPED.sub(r"\1", pattern)


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
    if originals(table) and not table_filter.with_ghosts:
        named = tuple(one for one in table_filter.include if one.rpartition(".")[2].startswith("_") and "." in one)
        included = _any(named, database, table)
    else:
        included = not table_filter.include or _any(table_filter.include, database, table)
    return included and not _any(table_filter.exclude, database, table)


def _any(table_filter: tuple[str, ...], database: str, table: str) -> bool:
    return any(fnmatchcase(f"{database}.{table}" if "." in one else database, one) for one in table_filter)
