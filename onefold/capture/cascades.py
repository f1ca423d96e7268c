"""Cascading foreign keys, by which a change of one table changes rows of another.

InnoDB changes the rows of the children without writing them to the log. From MySQL 9.6 on the server itself changes them and
logs them as any other rows, unless it was started with `innodb_native_foreign_keys`. A flag in each event of rows says which
of the two is the case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.catalog import TableName
from onefold.mysql.foreign_keys import ForeignKeyColumn, Rules, definition, foreign_key_columns, rules_of
from onefold.mysql.grants import grant, table_sql
from onefold.mysql.table_filter import TableFilter

_ACTS = frozenset({"CASCADE", "SET NULL", "SET DEFAULT"})
_FOREIGN_KEY_WORDS = ("REFERENCES", "FOREIGN", "CONSTRAINT", "RENAME", "CHANGE", "GRANT")
"""A statement without any of these words neither creates, alters nor shows a foreign key. One that was dropped with its
table is harmless: a change of the parent then has no table to copy."""
_UNKNOWN = ("CASCADE", "CASCADE")
"""The rules of a foreign key that the user may not read: a copy too many is right, one too few is not."""


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
    hidden: frozenset[TableName] = frozenset()
    """Watched tables whose own foreign keys the user may not see: they may be changed by tables that are not watched."""

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
    """Read the cascading foreign keys of the server's present tables, as far as they lead to captured tables."""
    found = cascades_of(_keys_above(connection, patterns), patterns)
    return replace(found, hidden=frozenset(name for name in found.watched if definition(connection, name) is None))


def _keys_above(connection: Any, patterns: TableFilter) -> Iterator[tuple[ForeignKeyColumn, Rules]]:
    """Yield the cascading foreign keys of captured tables, then those of their parents, and so on.

    A server may have very many foreign keys, of which only these are kept in memory.
    """
    wanted: _Captured | set[TableName] = _Captured(patterns)
    known: set[TableName] = set()
    while wanted:
        keys = [key for key in foreign_key_columns(connection) if key.child in wanted]
        rules = {child: rules_of(connection, child) for child in sorted({key.child for key in keys})}
        acting = [(key, found) for key in keys if not _ACTS.isdisjoint(found := rules[key.child].get(key.name, _UNKNOWN))]
        yield from acting
        known |= rules.keys()
        wanted = {key.parent for key, _ in acting if not _any_captured([key.parent], patterns)} - known


@dataclass(frozen=True)
class _Captured:
    """All captured tables, as far as `in` asks for them."""

    patterns: TableFilter

    def __contains__(self, table: TableName) -> bool:
        return self.patterns.choose(table.database, table.table)


def hidden_problems(connection: Any, cascades: Cascades) -> list[str]:
    """Return the tables whose foreign keys the user may not see, each with the GRANT that shows them."""
    return [
        f"the foreign keys of {name}, which changes captured tables by cascading foreign keys, cannot be seen: what changes "
        f"it in turn is not followed; {grant('SELECT', table_sql(name), connection)}"
        for name in sorted(cascades.hidden)
    ]


def may_change_cascades(statement: str) -> bool:
    """Return whether a statement may change foreign keys, so that they have to be read again.

    Reading them takes seconds on a server with thousands of tables.
    """
    text = statement.upper()
    return any(word in text for word in _FOREIGN_KEY_WORDS)


def cascades_of(keys: Iterable[tuple[ForeignKeyColumn, Rules]], patterns: TableFilter) -> Cascades:
    """Return the cascading foreign keys.

    Args:
        keys: the columns of foreign keys, each with the rules of its foreign key.
        patterns: which tables are captured.
    """
    links: defaultdict[TableName, list[_Link]] = defaultdict(list)
    for key, (delete_rule, update_rule) in keys:
        link = _Link(key.child, key.column, delete_rule in _ACTS, update_rule in _ACTS)
        if link.on_delete or link.on_update:
            links[key.parent].append(link)
    found = Cascades({parent: tuple(some) for parent, some in links.items()})
    watched = (
        parent
        for parent in links
        if not _any_captured([parent], patterns) and _any_captured(found.followers(parent) - {parent}, patterns)
    )
    return Cascades(found.links, frozenset(watched))


def _any_captured(tables: Iterable[TableName], patterns: TableFilter) -> bool:
    return any(patterns.match(one.database, one.table) for one in tables)


def _updates_key(link: _Link, event: RowsChanged) -> bool:
    """Return whether an update changes the value that the child follows."""
    if not link.on_update or not event.before or not event.after:
        return False
    columns = event.structure.columns
    index = next((number for number, column in enumerate(columns) if column.name == link.column), None)
    return index is None or any(old[index] != new[index] for old, new in zip(event.before, event.after, strict=True))
