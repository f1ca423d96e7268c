"""Foreign keys by which a change of one table changes rows of another.

InnoDB does so below the log, without a trace. From MySQL 9.6 on the server itself does so, and logs the rows of the children
as any others, unless it was started with `innodb_native_foreign_keys`. Each event of rows tells which of them did.
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
_TELLING = ("REFERENCES", "FOREIGN", "CONSTRAINT", "RENAME", "CHANGE")
"""A statement without any of these words makes no foreign key, and none another one. One that is gone with its table does no
harm: a change of the parent has nothing to copy."""


@dataclass(frozen=True)
class _Link:
    """What a table's change does to another one."""

    child: TableName
    column: str
    """Of the parent: the child follows its value."""
    on_delete: bool
    on_update: bool


@dataclass(frozen=True)
class Cascades:
    """By parent. Empty as a rule."""

    links: Mapping[TableName, tuple[_Link, ...]] = field(default_factory=dict)
    watched: frozenset[TableName] = frozenset()
    """Parents of captured tables that are not captured themselves: their changes have to be read all the same."""

    def changed_by(self, event: RowsChanged) -> frozenset[TableName]:
        """The tables whose rows an event may have changed without a trace."""
        if event.cascades_logged:
            return frozenset()
        links = self.links.get(TableName(event.database, event.structure.table))
        if not links:
            return frozenset()
        hit = (link.child for link in links if (event.before and not event.after and link.on_delete) or _moves(link, event))
        return frozenset(self._and_below(hit))

    def followers(self, table: TableName) -> set[TableName]:
        """Return the tables whose rows some change of a table may change without a trace."""
        return self._and_below(link.child for link in self.links.get(table, ()))

    def _and_below(self, children: Iterable[TableName]) -> set[TableName]:
        """With the tables that follow them in turn."""
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
    """What patterns choose, and some tables besides."""

    besides: frozenset[TableName] = frozenset()

    def match(self, database: str, table: str) -> bool:
        return super().match(database, table) or (bool(self.besides) and TableName(database, table) in self.besides)


def read_cascades(connection: Any, patterns: TableFilter) -> Cascades:
    """Those of the server's present tables."""
    # Not joined there: MariaDB compares each row of the one with each row of the other.
    rules = {tuple(key): (delete, update) for *key, delete, update in stream(connection, _RULES)}
    if not rules:
        return Cascades()
    columns = stream(connection, _COLUMNS)
    return cascades_of(((*row[:2], *row[3:], *rules[row[:3]]) for row in columns if row[:3] in rules), patterns)


def may_change_cascades(statement: str) -> bool:
    """Whether foreign keys have to be read again. It takes seconds where there are thousands of tables."""
    text = statement.upper()
    return any(word in text for word in _TELLING)


def cascades_of(rows: Iterable[Sequence[str]], patterns: TableFilter) -> Cascades:
    """From rows of: child, parent, the parent's column, and both rules."""
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
        and any(patterns.match(child.database, child.table) for child in found._and_below([parent]) - {parent})
    )
    return Cascades(found.links, frozenset(watched))


def _moves(link: _Link, event: RowsChanged) -> bool:
    """Whether an update changes the value that the child follows."""
    if not link.on_update or not event.before or not event.after:
        return False
    place = next((at for at, column in enumerate(event.structure.columns) if column.name == link.column), None)
    return place is None or any(old[place] != new[place] for old, new in zip(event.before, event.after, strict=True))
