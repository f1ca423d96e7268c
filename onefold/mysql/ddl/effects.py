"""The effects of a logged statement on the rows that are stored, which no row event shows. In doubt, rows have changed.

A statement is in the log as text if it is DDL, or if a session wrote it in another format than ROW. How a server reads a
text depends on settings that the log does not always have, so a statement is read in every possible way, and all effects
count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product

from onefold.mysql.ddl.statements import TableEffect, statement_effects
from onefold.mysql.ddl.tokens import ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PLAIN, Grammar, Word, conditional_marks, words
from onefold.mysql.ddl.word_sequence import TableRef

__all__ = ["TableEffect", "all_effects", "effects"]

_MAX_CHARACTERS = 1_000_000
"""The part of a statement that is read: as a rule only values follow."""
_MAX_MARKS = 3
"""The most different marks of executable comments whose every combination is read."""
_WIDE_BLANK = re.compile(r"[^\S \t\n\v\f\r]")
_OWN_MODE = re.compile(r"\bstatement\b.*\bsql_mode\b", re.IGNORECASE | re.DOTALL)


def effects(text: str, database: str, grammar: Grammar = PLAIN) -> tuple[TableEffect, ...]:
    """Return the effects of a statement on stored rows.

    The result is empty only for a statement that is proven to leave stored rows alone: `ADD COLUMN` of a column that may be
    NULL and has no default, indexes that are not unique, comments, views, users ... Whether an `altered` table has other
    rows depends on its former structure. Any other statement may have changed every table of the session's database, and of
    the databases that the statement names.

    Args:
        text: the statement, as the log has it.
        database: the session's, for names without a database.
        grammar: how the server read the text.

    Examples:
        >>> effects("TRUNCATE orders", "shop")
        (TableEffect(kind='truncated', database='shop', table='orders', alterations=(), new_name=None, is_replaced=False),)
        >>> effects("ALTER TABLE orders ADD COLUMN note TEXT", "shop")
        ()
    """
    return tuple(one for one in all_effects(text, database, grammar) if one.kind != "structure")


def all_effects(text: str, database: str, grammar: Grammar = PLAIN) -> tuple[TableEffect, ...]:
    """Return the effects of a statement, including an `ALTER TABLE` that leaves stored rows alone (`structure`).

    Args:
        text: the statement, as the log has it.
        database: the session's, for names without a database.
        grammar: how the server read the text.
    """
    every = list(readings(text, grammar))
    if not every:
        return (TableEffect("rows", ""),)
    found = [effect for reading in every for effect in statement_effects(reading, database)]
    return tuple(dict.fromkeys(_lower(one) if grammar.lower_names else one for one in found))


def readings(text: str, grammar: Grammar = PLAIN) -> Iterator[list[Word]]:
    """Yield the words of a statement in each way in which the server may have read it; nothing where there are too many.

    Args:
        text: the statement, as the log has it.
        grammar: how the server read the text, as far as the log has it.
    """
    text = text[:_MAX_CHARACTERS]
    marks = sorted(conditional_marks(text))
    if len(marks) > _MAX_MARKS:
        return
    ignored = [frozenset(some) for count in range(len(marks) + 1) for some in combinations(marks, count)]
    for reading in product(_texts(text), _grammars(text, grammar), ignored):
        yield list(words(*reading))


def _texts(text: str) -> Iterable[str]:
    """Return the text with its blanks beyond ASCII as parts of names, and as blanks, which a client's latin1 makes them."""
    return dict.fromkeys((text, _WIDE_BLANK.sub(" ", text)))


def _grammars(text: str, grammar: Grammar) -> Iterable[Grammar]:
    """Return the possible grammars.

    MariaDB reads `SET STATEMENT sql_mode = ... FOR ...` in the session's mode, and logs the statement with the other mode.
    """
    if not _OWN_MODE.search(text):
        return (grammar,)
    modes = (0, ANSI_QUOTES, NO_BACKSLASH_ESCAPES, ANSI_QUOTES | NO_BACKSLASH_ESCAPES)
    return [Grammar(mode, grammar.lower_names) for mode in modes]


def _lower(effect: TableEffect) -> TableEffect:
    new = effect.new_name and lower_table(effect.new_name)
    return replace(effect, database=effect.database.lower(), table=effect.table and effect.table.lower(), new_name=new)


def lower_table(table: TableRef) -> TableRef:
    """Return a table with both names in lower case, as a server with `lower_case_table_names = 1` has it."""
    return table[0].lower(), table[1].lower()
