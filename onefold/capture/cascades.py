"""Cascading foreign keys, by which a change of one table changes rows of another.

InnoDB changes the rows of the children without writing them to the log. From MySQL 9.6 on the server itself changes them and
logs them as any other rows, unless it was started with `innodb_native_foreign_keys`. A flag in each event of rows says which
of the two is the case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import stream
from onefold.mysql.table_filter import TableFilter

_ACTS = frozenset({"CASCADE", "SET NULL", "SET DEFAULT"})
_RULES = """
SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE
FROM information_schema.REFERENTIAL_CONSTRAINTS
WHERE DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') OR UPDATE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
"""
_COLUMNS = """
SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL
"""
_FOREIGN_KEY_WORDS = ("REFERENCES", "FOREIGN", "CONSTRAINT", "RENAME", "CHANGE")
"""A statement without any of these words neither creates nor alters a foreign key. A foreign key that was dropped with its
table is harmless: a change of the parent then has no table to copy."""


@dataclass(frozen=True)
class _Link:
    """A cascading foreign key, seen from the parent."""

    child: TableName
    column: str
    """The column of the parent whose value the child follows."""
    on_delete: bool
    on_update: bool


@dataclass(frozen=True)
class Cascades:
    """The cascading foreign keys of a server. Most servers have none."""

    links: Mapping[TableName, tuple[_Link, ...]] = field(default_factory=dict)
    """By parent."""
    watched: frozenset[TableName] = frozenset()
    """Parents of captured tables that are not captured themselves: their changes have to be read, too."""

    def changed_by(self, event: RowsChanged) -> frozenset[TableName]:
        """Return the tables whose rows an event may have changed without a row in the log."""
        if event.cascades_logged:
            return frozenset()
        links = self.links.get(TableName(event.database, event.structure.table))
        if not links:
            return frozenset()
        is_delete = bool(event.before and not event.after)
        changed = (link.child for link in links if (is_delete and link.on_delete) or _updates_key(link, event))
        return frozenset(self._with_descendants(changed))

    def followers(self, table: TableName) -> set[TableName]:
        """Return the tables whose rows any change of a table may change without a row in the log."""
        return self._with_descendants(link.child for link in self.links.get(table, ()))

    def _with_descendants(self, children: Iterable[TableName]) -> set[TableName]:
        """Return tables together with the tables that follow them in turn. Foreign keys may form circles."""
        found: set[TableName] = set()
        left = list(children)
        while left:
            table = left.pop()
            if table not in found:
                found.add(table)
                left += [link.child for link in self.links.get(table, ())]
        return found


@dataclass(frozen=True)
class WatchedTables(TableFilter):
    """The tables that patterns choose, and some more."""

    more: frozenset[TableName] = frozenset()

    def match(self, database: str, table: str) -> bool:
        return super().match(database, table) or (bool(self.more) and TableName(database, table) in self.more)


def read_cascades(connection: Any, patterns: TableFilter) -> Cascades:
    """Read the cascading foreign keys of the server's present tables."""
    # The two are joined here: MariaDB would compare each row of the one view with each row of the other.
    rules = {tuple(key): (delete, update) for *key, delete, update in stream(connection, _RULES)}
    if not rules:
        return Cascades()
    columns = stream(connection, _COLUMNS)
    return cascades_of(((*row[:2], *row[3:], *rules[row[:3]]) for row in columns if row[:3] in rules), patterns)


def may_change_cascades(statement: str) -> bool:
    """Tell whether a statement may change foreign keys, so that they have to be read again.

    Reading them takes seconds on a server with thousands of tables.
    """
    text = statement.upper()
    return any(word in text for word in _FOREIGN_KEY_WORDS)


def cascades_of(rows: Iterable[Sequence[str]], patterns: TableFilter) -> Cascades:
    """Return the cascading foreign keys.

    Args:
        rows: by foreign key: database and table of the child, database and table of the parent, the parent's column, the
            rule for DELETE and the rule for UPDATE.
        patterns: which tables are captured.
    """
    links: defaultdict[TableName, list[_Link]] = defaultdict(list)
    for child, child_table, parent, parent_table, column, delete_rule, update_rule in rows:
        link = _Link(TableName(child, child_table), column, delete_rule in _ACTS, update_rule in _ACTS)
        if link.on_delete or link.on_update:
            links[TableName(parent, parent_table)].append(link)
    found = Cascades({parent: tuple(some) for parent, some in links.items()})
    watched = (
        parent
        for parent in links
        if not patterns.match(parent.database, parent.table)
        and any(patterns.match(child.database, child.table) for child in found._with_descendants([parent]) - {parent})
    )
    return Cascades(found.links, frozenset(watched))


def _updates_key(link: _Link, event: RowsChanged) -> bool:
    """Tell whether an update changes the value that the child follows."""
    if not link.on_update or not event.before or not event.after:
        return False
    columns = event.structure.columns
    index = next((number for number, column in enumerate(columns) if column.name == link.column), None)
    return index is None or any(old[index] != new[index] for old, new in zip(event.before, event.after, strict=True))
