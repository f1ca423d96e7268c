"""What a logged statement does to the rows that are stored, which no event of rows tells. In doubt, it changes them.

A statement is in the log as text where it is DDL, or where a session wrote it in another format than ROW.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from onefold.capture.alterations import changes_rows, exchanged, new_name
from onefold.capture.sql_words import Word, words

_LONGEST = 1_000_000
"""Characters that are looked at: what follows is values as a rule."""

Kind = Literal["rows", "truncated", "dropped", "created"]


@dataclass(frozen=True)
class Effect:
    """What happened to a table: its rows changed (`rows`), it was emptied, it is gone, or it is new.

    Without a table, it happened to all of the database; without a database, to any.
    """

    kind: Kind
    database: str
    table: str | None = None


def effects(text: str, database: str) -> tuple[Effect, ...]:
    """What a statement did, in the session's database where it names no other.

    None for what leaves stored rows alone: `ADD COLUMN` of a column that may be NULL and has no default, indexes that are
    not unique, comments, views, users ...
    """
    found = list(words(text[:_LONGEST]))
    if not found:
        return ()
    read = _READERS.get(found[0].key)
    if read:
        return tuple(dict.fromkeys(read(found, database)))
    return () if found[0].key in _HARMLESS else (Effect("rows", database),)


Effects = Iterator[Effect]

# What a server logs besides, and what changes no stored row. MariaDB logs `# Dum` in place of an event that is none.
_HARMLESS = frozenset({
    "ANALYZE", "BEGIN", "BINLOG", "CACHE", "CHANGE", "CHECK", "CHECKSUM", "COMMIT", "FLUSH", "GRANT", "INSTALL",
    "KILL", "LOCK", "OPTIMIZE", "PREPARE", "RELEASE", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SET", "SHOW",
    "START", "STOP", "UNINSTALL", "UNLOCK", "USE", "XA",
})  # fmt: skip


def _names(found: Sequence[Word], at: int, database: str) -> tuple[list[tuple[str, str]], int]:
    """`a, db.b, ...` from a place on, and the place behind it."""
    names: list[tuple[str, str]] = []
    while True:
        name, at = _name(found, at, database)
        if name is None:
            return names, at
        names.append(name)
        if _key(found, at) != ",":
            return names, at
        at += 1


def _name(found: Sequence[Word], at: int, database: str) -> tuple[tuple[str, str] | None, int]:
    """`table` or `database.table`; MySQL takes `.table`, too."""
    if _key(found, at) == ".":
        at += 1
    if at >= len(found) or not found[at].is_name:
        return None, at
    if _key(found, at + 1) == "." and at + 2 < len(found) and (found[at + 2].is_name or _key(found, at + 2) == "*"):
        return (found[at].text, found[at + 2].text), at + 3
    return (database, found[at].text), at + 1


def _key(found: Sequence[Word], at: int) -> str:
    return found[at].key if at < len(found) else ""


def _after(found: Sequence[Word], at: int, *passed: str) -> int:
    """The place behind words that may stand there."""
    while _key(found, at) in passed:
        at += 1
    return at


def _of(kind: Kind, names: Sequence[tuple[str, str]], database: str) -> Effects:
    """A statement whose tables cannot be told may have been about any of the database."""
    if not names:
        yield Effect("rows", database)
    for of, table in names:
        yield Effect(kind, of, table)


def _alter(found: Sequence[Word], database: str) -> Effects:
    at = _after(found, 1, "ONLINE", "OFFLINE", "IGNORE")
    if _key(found, at) != "TABLE":
        return
    name, at = _name(found, _after(found, at + 1, "IF", "EXISTS"), database)
    if name is None:
        yield Effect("rows", database)
        return
    if _key(found, at) == "WAIT":
        at += 2
    rest = found[_after(found, at, "NOWAIT") :]
    for of, table in exchanged(rest):
        yield Effect("rows", of or database, table)
    if new := new_name(rest):
        yield Effect("rows", new[0] or name[0], new[1])
        yield Effect("dropped", *name)
    elif changes_rows(rest):
        yield Effect("rows", *name)


def _create(found: Sequence[Word], database: str) -> Effects:
    replaced = _key(found, 1) == "OR"
    at = _after(found, 1, "OR", "REPLACE")
    kind = _key(found, at)
    if kind == "UNIQUE":  # an index that may become the key of the rows
        yield from _of("rows", _names(found, _behind(found, "ON"), database)[0], database)
    elif kind in ("DATABASE", "SCHEMA") and replaced:
        yield Effect("dropped", found[at + 1].text if len(found) > at + 1 else "")
    elif kind == "TABLE":
        name, at = _name(found, _after(found, at + 1, "IF", "NOT", "EXISTS"), database)
        rows = replaced or any(word.key in ("SELECT", "TABLE", "ROW") for word in found[at:])
        yield from _of("rows" if rows else "created", [name] if name else [], database)


def _drop(found: Sequence[Word], database: str) -> Effects:
    kind = _key(found, 1)
    at = _after(found, 2, "IF", "EXISTS")
    if kind in ("TABLE", "TABLES"):
        yield from _of("dropped", _names(found, at, database)[0], database)
    elif kind in ("DATABASE", "SCHEMA"):
        yield Effect("dropped", found[at].text if at < len(found) else "")
    elif kind == "INDEX":  # it may have been the key of the rows
        yield from _of("rows", _names(found, _behind(found, "ON"), database)[0], database)


def _rename(found: Sequence[Word], database: str) -> Effects:
    if _key(found, 1) not in ("TABLE", "TABLES"):
        return
    at = _after(found, 2, "IF", "EXISTS")
    pairs: list[tuple[tuple[str, str], tuple[str, str]]] = []
    while True:
        old, at = _name(found, at, database)
        while at < len(found) and _key(found, at) != "TO":  # MariaDB: WAIT n, NOWAIT
            at += 1
        new, at = _name(found, at + 1, database)
        if old is None or new is None:
            yield Effect("rows", database)
            return
        pairs.append((old, new))
        if _key(found, at) != ",":
            break
        at += 1
    given = {new for _, new in pairs}
    for old, new in pairs:
        if old not in given:  # `t TO _t_old, _t_new TO t` leaves a table of the name
            yield Effect("dropped", *old)
        yield Effect("rows", *new)


def _truncate(found: Sequence[Word], database: str) -> Effects:
    name, _ = _name(found, _after(found, 1, "TABLE"), database)
    yield from _of("truncated", [name] if name else [], database)


def _insert(found: Sequence[Word], database: str) -> Effects:
    name, _ = _name(found, _after(found, 1, "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"), database)
    yield from _of("rows", [name] if name else [], database)


def _update(found: Sequence[Word], database: str) -> Effects:
    """One table, plainly named; where there are several, which of them change is not asked."""
    name, at = _name(found, _after(found, 1, "LOW_PRIORITY", "IGNORE"), database)
    plain = name and _key(found, at) == "SET"
    yield from _of("rows", [name] if plain and name else [], database) if plain else _all(found, at, name, database)


def _delete(found: Sequence[Word], database: str) -> Effects:
    at = _after(found, 1, "LOW_PRIORITY", "QUICK", "IGNORE")
    if _key(found, at) == "FROM":
        name, behind = _name(found, at + 1, database)
        if name and _key(found, behind) in ("", "WHERE", "ORDER", "LIMIT", "RETURNING"):
            yield Effect("rows", *name)
            return
    yield from _all(found, at, None, database)


def _all(found: Sequence[Word], at: int, name: tuple[str, str] | None, database: str) -> Effects:
    """A statement of several tables: all of the session's database, and of those that are named before a dot."""
    qualifiers = {found[place].text for place in range(at, len(found) - 1) if found[place + 1].key == "."}
    for of in dict.fromkeys([database, *([name[0]] if name else []), *sorted(qualifiers)]):
        yield Effect("rows", of)


def _load(found: Sequence[Word], database: str) -> Effects:
    """`LOAD DATA INFILE '...' INTO TABLE t`."""
    name, _ = _name(found, _behind(found, "TABLE"), database)
    yield from _of("rows", [name] if name else [], database)


def _behind(found: Sequence[Word], key: str) -> int:
    return next((at + 1 for at, word in enumerate(found) if word.key == key), len(found))


_READERS = {
    "ALTER": _alter,
    "CREATE": _create,
    "DROP": _drop,
    "RENAME": _rename,
    "TRUNCATE": _truncate,
    "INSERT": _insert,
    "REPLACE": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
    "LOAD": _load,
}
