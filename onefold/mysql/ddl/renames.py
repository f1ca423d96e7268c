"""The names that a logged statement takes from columns and tables, so that what belongs to a name can follow it.

This is apart from what a statement does to rows: a part that is not understood hides no rename of another part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onefold.mysql.ddl.alter_table import altered_table, exchanged, new_name, parts
from onefold.mysql.ddl.alterations import ColumnDropped, dropped
from onefold.mysql.ddl.effects import lower_table, readings
from onefold.mysql.ddl.tokens import PLAIN, Grammar, Word
from onefold.mysql.ddl.word_sequence import TableRef, index_behind, key_at, rename_pairs, skip, table_names


@dataclass(frozen=True)
class ColumnRenamed:
    """A column that has another name from now on."""

    table: TableRef
    name: str
    new_name: str


@dataclass(frozen=True)
class ColumnGone:
    """A column that was dropped."""

    table: TableRef
    name: str


@dataclass(frozen=True)
class TableRenamed:
    """A table whose rows are in a table of another name from now on."""

    table: TableRef
    new: TableRef


@dataclass(frozen=True)
class TableGone:
    """A table that was dropped."""

    table: TableRef


NameChange = ColumnRenamed | ColumnGone | TableRenamed | TableGone


def name_changes(text: str, database: str, grammar: Grammar = PLAIN) -> tuple[NameChange, ...]:
    """Return the names that a statement changes or ends, in order.

    A statement that can be read in several ways has the renames of all readings, and ends only what each reading ends.

    Args:
        text: the statement, as the log has it.
        database: the session's, for names without a database.
        grammar: how the server read the text.

    Examples:
        >>> name_changes("ALTER TABLE t CHANGE card credit INT", "shop")
        (ColumnRenamed(table=('shop', 't'), name='card', new_name='credit'),)
    """
    found = [[_lower(one, grammar) for one in _changes(words, database)] for words in readings(text, grammar)]
    every = dict.fromkeys(one for changes in found for one in changes)
    return tuple(one for one in every if not isinstance(one, ColumnGone | TableGone) or all(one in each for each in found))


def _lower(one: NameChange, grammar: Grammar) -> NameChange:
    if not grammar.lower_names:
        return one
    table = lower_table(one.table)
    if isinstance(one, TableRenamed):
        return TableRenamed(table, lower_table(one.new))
    if isinstance(one, ColumnRenamed):
        return ColumnRenamed(table, one.name, one.new_name)
    return ColumnGone(table, one.name) if isinstance(one, ColumnGone) else TableGone(table)


def _changes(words: Sequence[Word], database: str) -> Iterator[NameChange]:
    first, second = key_at(words, 0), key_at(words, 1)
    if first == "SET" and second == "STATEMENT":
        yield from _changes(words[index_behind(words, "FOR") :], database)
    elif first == "ALTER":
        yield from _of_alter(words, database)
    elif first == "RENAME" and second in ("TABLE", "TABLES"):
        pairs = rename_pairs(words, skip(words, 2, "IF", "EXISTS"), database) or ()
        yield from (TableRenamed(*pair) for pair in pairs)
    elif first == "DROP" and second in ("TABLE", "TABLES"):
        yield from map(TableGone, table_names(words, skip(words, 2, "IF", "EXISTS"), database)[0])


def _of_alter(words: Sequence[Word], database: str) -> Iterator[NameChange]:
    name, rest = altered_table(words, database)
    if name is None:
        return
    for part in parts(rest):
        yield from _of_column(name, part)
    for of, table in exchanged(rest):
        other = (of or database, table)
        yield from (TableRenamed(name, other), TableRenamed(other, name))
    if new := new_name(rest):
        yield TableRenamed(name, (new[0] or name[0], new[1]))


def _of_column(table: TableRef, part: Sequence[Word]) -> Iterator[NameChange]:
    """Yield what a part of ALTER TABLE does to the name of a column."""
    first, is_column = key_at(part, 0), key_at(part, 1) == "COLUMN"
    if first == "DROP":
        yield from (ColumnGone(table, one.name) for one in dropped(part[1:]) or () if isinstance(one, ColumnDropped))
    if first != "CHANGE" and not (first == "RENAME" and is_column):
        return
    at = skip(part, 2 if is_column else 1, "IF", "EXISTS")
    new = at + (2 if first == "RENAME" else 1)  # RENAME COLUMN a TO b
    if new < len(part) and part[at].text.casefold() != part[new].text.casefold():
        yield ColumnRenamed(table, part[at].text, part[new].text)
