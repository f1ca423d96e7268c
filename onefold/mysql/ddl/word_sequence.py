"""Look-ups in the words of a statement: keywords at an index, and names of tables."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.mysql.ddl.tokens import Word

TableRef = tuple[str, str]
"""A database and a table."""


def key_at(words: Sequence[Word], at: int) -> str:
    """Return the keyword or sign at an index; empty behind the end, and for quoted names and texts."""
    return words[at].key if at < len(words) else ""


def skip(words: Sequence[Word], at: int, *optional: str) -> int:
    """Return the index behind keywords that may come next.

    Args:
        words: the statement.
        at: the index where the keywords may begin.
        optional: the keywords, in any order and number.
    """
    while key_at(words, at) in optional:
        at += 1
    return at


def behind_brackets(words: Sequence[Word], at: int) -> int:
    """Return the index behind the bracket that closes the one at an index; the statement's end where it stays open."""
    depth = 0
    for index in range(at, len(words)):
        depth += {"(": 1, ")": -1}.get(words[index].key, 0)
        if depth == 0:
            return index + 1
    return len(words)


def index_behind(words: Sequence[Word], key: str) -> int:
    """Return the index behind the first occurrence of a keyword; the statement's end where there is none."""
    return next((at + 1 for at, word in enumerate(words) if word.key == key), len(words))


def table_names(words: Sequence[Word], at: int, database: str) -> tuple[list[TableRef], int]:
    """Return the tables of a list `a, db.b, ...`, and the index behind the list.

    Args:
        words: the statement.
        at: the index where the list begins.
        database: the session's, for names without a database.
    """
    names: list[TableRef] = []
    while True:
        name, at = table_name(words, at, database)
        if name is None:
            return names, at
        names.append(name)
        if key_at(words, at) != ",":
            return names, at
        at += 1


def table_name(words: Sequence[Word], at: int, database: str) -> tuple[TableRef | None, int]:
    """Return the table of `table`, `database.table` or MySQL's `.table`, and the index behind it.

    Args:
        words: the statement.
        at: the index where the name begins.
        database: the session's, for a name without a database.
    """
    if key_at(words, at) == ".":
        at += 1
    if at >= len(words) or not words[at].is_name:
        return None, at
    # `database.*` occurs in DELETE of several tables.
    if key_at(words, at + 1) == "." and at + 2 < len(words) and (words[at + 2].is_name or key_at(words, at + 2) == "*"):
        return (words[at].text, words[at + 2].text), at + 3
    return (database, words[at].text), at + 1


def rename_pairs(words: Sequence[Word], at: int, database: str) -> list[tuple[TableRef, TableRef]] | None:
    """Return the old and the new name of each table of RENAME TABLE; None where a name is missing.

    Args:
        words: the statement.
        at: the index where the first name begins.
        database: the session's, for names without a database.
    """
    pairs: list[tuple[TableRef, TableRef]] = []
    while True:
        old, at = table_name(words, at, database)
        while at < len(words) and key_at(words, at) != "TO":  # MariaDB: WAIT n, NOWAIT
            at += 1
        new, at = table_name(words, at + 1, database)
        if old is None or new is None:
            return None
        pairs.append((old, new))
        if key_at(words, at) != ",":
            return pairs
        at += 1
