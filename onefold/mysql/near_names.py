"""The names of a server that are near those of patterns that no table fits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

import pymysql

from onefold.core.text import shown_list
from onefold.mysql.catalog import TableName, tables
from onefold.mysql.grants import grant
from onefold.mysql.table_filter import TableFilter

_SHOWN = 5
_LIKENESS = 0.6


def unused_patterns(connection: pymysql.Connection, table_filter: TableFilter, fitting: Collection[TableName]) -> str | None:
    """Return which patterns of `include` no table fits, with near names; None where each has one.

    Args:
        connection: a connection to the server.
        table_filter: the patterns.
        fitting: the tables that fit them, those of online schema changes, too, and those that the user may not read.
    """
    each = ((pattern, TableFilter((pattern,), with_ghosts=True)) for pattern in table_filter.include)
    unused = tuple(pattern for pattern, alone in each if not any(alone.choose(one.database, one.table) for one in fitting))
    return none_fitting(connection, TableFilter(unused)) if unused else None


def none_fitting(connection: pymysql.Connection, table_filter: TableFilter) -> str:
    """Return why no table fits a filter, as one sentence with the remedy."""
    present = tables(connection, TableFilter(with_ghosts=True))
    if not present:
        return f"the user sees no table: create one, or {grant('SELECT', '*.*', connection)}"
    names = sorted({name for one in present for name in (one.database, str(one))})
    near = list(dict.fromkeys(_near(table_filter.include, names)))[:_SHOWN] or names[:_SHOWN]
    patterns = [f"--{kind} {one}" for kind in ("include", "exclude") for one in getattr(table_filter, kind)]
    remedy = f"correct the patterns, or {grant('SELECT', '*.*', connection)}"
    return f"no table that the user sees fits {' '.join(patterns)}; near names are {shown_list(near)}: {remedy}"


def _near(patterns: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    """Yield databases for patterns of databases, and tables for all others."""
    some = list(names)
    for pattern in patterns:
        kind = [name for name in some if ("." in name) is ("." in pattern)]
        yield from get_close_matches(pattern, kind, cutoff=_LIKENESS)
