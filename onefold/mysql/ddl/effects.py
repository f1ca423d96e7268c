"""What a logged statement does to the rows that are stored, which no event of rows tells. In doubt, it changes them.

A statement is in the log as text where it is DDL, or where a session wrote it in another format than ROW.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

from onefold.mysql.ddl.alter_table import changes_rows, exchanged, new_name
from onefold.mysql.ddl.tokens import ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PLAIN, Grammar, Word, conditional_marks, words

_LONGEST = 1_000_000
"""Characters that are looked at: what follows is values as a rule."""

Kind = Literal["rows", "truncated", "dropped", "created", "renamed", "structure"]


@dataclass(frozen=True)
class Effect:
    """What happened to a table: its rows changed (`rows`), it was emptied, it is gone, it is new, it has this name from now
    on, or only its structure changed.

    Without a table, it happened to all of the database; without a database, to any.
    """

    kind: Kind
    database: str
    table: str | None = None


def effects(text: str, database: str, grammar: Grammar = PLAIN) -> tuple[Effect, ...]:
    """Return what a statement did.

    That is nothing only where a statement is proven to leave stored rows alone: `ADD COLUMN` of a column that may be NULL
    and has no default, indexes that are not unique, comments, views, users ... Any other one may have changed every table
    of the session's database, and of those that it names.

    Args:
        text: the statement, as the log has it.
        database: the session's, for names without one.
        grammar: how the server read the text.
    """
    return tuple(one for one in all_effects(text, database, grammar) if one.kind != "structure")


def all_effects(text: str, database: str, grammar: Grammar = PLAIN) -> tuple[Effect, ...]:
    """Return what a statement did, an `ALTER TABLE` that leaves stored rows alone included. Arguments: as `effects`."""
    text = text[:_LONGEST]
    marks = sorted(conditional_marks(text))
    if len(marks) > _CONDITIONS:
        return (Effect("rows", ""),)
    ignored = [frozenset(some) for count in range(len(marks) + 1) for some in combinations(marks, count)]
    found: list[Effect] = []
    for reading in product(_texts(text), _grammars(text, grammar), ignored):
        found += _effects(list(words(*reading)), database)
    return tuple(dict.fromkeys(_lower(one) if grammar.lower_names else one for one in found))


def _texts(text: str) -> Iterable[str]:
    """A blank beyond ASCII belongs to a name; to a server whose client writes latin1, it is a blank."""
    return dict.fromkeys((text, _WIDE_BLANK.sub(" ", text)))


_WIDE_BLANK = re.compile(r"[^\S \t\n\v\f\r]")


def _grammars(text: str, grammar: Grammar) -> Iterable[Grammar]:
    """MariaDB reads `SET STATEMENT sql_mode = ... FOR ...` in the session's mode, and logs it with the other one."""
    if not _OWN_MODE.search(text):
        return (grammar,)
    modes = (0, ANSI_QUOTES, NO_BACKSLASH_ESCAPES, ANSI_QUOTES | NO_BACKSLASH_ESCAPES)
    return [Grammar(mode, grammar.lower_names) for mode in modes]


_OWN_MODE = re.compile(r"\bstatement\b.*\bsql_mode\b", re.IGNORECASE | re.DOTALL)


def _lower(effect: Effect) -> Effect:
    return Effect(effect.kind, effect.database.lower(), effect.table and effect.table.lower())


_CONDITIONS = 3
"""The most different marks of executable comments whose every combination is looked at."""

Effects = Iterator[Effect]


def _effects(found: Sequence[Word], database: str) -> Effects:
    if found:
        read = _READERS.get(found[0].key)
        if read:
            yield from read(found, database)
        elif not _is_harmless(found):
            yield from _all(found, 0, None, database)


# Statements no form of which changes a stored row of a table. MariaDB logs `# Dum` in place of an event that is none.
_HARMLESS = frozenset({
    "CACHE", "CHANGE", "CHECK", "CHECKSUM", "COMMIT", "FLUSH", "GRANT", "INSTALL", "KILL", "LOCK", "OPTIMIZE",
    "RELEASE", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SHUTDOWN", "START", "STOP", "UNINSTALL", "UNLOCK", "USE", "XA",
})  # fmt: skip


def _is_harmless(found: Sequence[Word]) -> bool:
    first, second = found[0].key, _key(found, 1)
    if first == "BEGIN":  # not MariaDB's BEGIN NOT ATOMIC
        return len(found) == 1 or (len(found) == 2 and second == "WORK")
    return first in _HARMLESS


def _set(found: Sequence[Word], database: str) -> Effects:
    """MariaDB's SET STATEMENT executes another statement; and a variable may get what a function gives that changes rows."""
    if _key(found, 1) == "STATEMENT":
        yield from _effects(found[_behind(found, "FOR") :] or found[1:], database)
    elif any(word.key == "(" for word in found):
        yield from _all(found, 0, None, database)


def _analyze(found: Sequence[Word], database: str) -> Effects:
    """`ANALYZE TABLE` reads rows. MariaDB's `ANALYZE [FORMAT = JSON] UPDATE ...` executes the statement."""
    if _key(found, _after(found, 1, "LOCAL", "NO_WRITE_TO_BINLOG")) in ("TABLE", "TABLES"):
        return
    at = 1 + 3 * (_key(found, 1) == "FORMAT" and _key(found, 2) == "=")
    yield from _effects(found[at:] or found[:0], database)


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
        # MariaDB's ALTER DATABASE ... UPGRADE DATA DIRECTORY NAME renames the database.
        if not _is_of(found, 1, _OTHER_OBJECTS) or any(word.key == "UPGRADE" for word in found):
            yield Effect("rows", "")
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
    else:
        yield Effect("rows" if changes_rows(rest) else "structure", *name)


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
        rows = replaced or _has_rows(found[at:])
        yield from _of("rows" if rows else "created", [name] if name else [], database)
    elif kind != "TEMPORARY" and not _is_of(found, at, _OTHER_OBJECTS):
        yield from _all(found, 0, None, database)


def _has_rows(rest: Sequence[Word]) -> bool:
    """Of a new table: it is filled by a query, or shows the rows of others (`UNION = (a, b)` of MERGE)."""
    depth = 0
    for word in rest:
        depth += {"(": 1, ")": -1}.get(word.key, 0)
        if word.key in ("SELECT", "TABLE", "ROW") or (depth == 0 and word.key in ("VALUES", "UNION")):
            return True
    return False


def _is_of(found: Sequence[Word], at: int, kinds: frozenset[str]) -> bool:
    """Return whether what is created, altered or dropped is of one of these kinds, behind what may come before its kind."""
    while _key(found, at) in (*_BEFORE_KINDS, "DEFINER", "ALGORITHM"):
        assigns = _key(found, at + 1) == "="  # not SQL SECURITY DEFINER
        at += 3 if assigns else 1  # the name, the sign, the value
        if assigns and _key(found, at) == "@":
            at += 2
        at = _after(found, at, "(", ")")  # CURRENT_USER()
    return _key(found, at) in kinds


_BEFORE_KINDS = (
    "OR", "REPLACE", "SQL", "SECURITY", "INVOKER", "AGGREGATE", "FULLTEXT", "SPATIAL", "UNDO", "JSON", "RELATIONAL",
    "DUALITY",
)  # fmt: skip
_OTHER_OBJECTS = frozenset({
    "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "PACKAGE", "EVENT", "USER", "ROLE", "SERVER", "SEQUENCE", "DATABASE",
    "SCHEMA", "INDEX", "TABLESPACE", "LOGFILE", "RESOURCE", "INSTANCE", "REFERENCE", "LIBRARY", "PREPARE", "TEMPORARY",
})  # fmt: skip
"""What holds no stored rows that are captured."""


def _drop(found: Sequence[Word], database: str) -> Effects:
    kind = _key(found, 1)
    at = _after(found, 2, "IF", "EXISTS")
    if kind in ("TABLE", "TABLES"):
        yield from _of("dropped", _names(found, at, database)[0], database)
    elif kind in ("DATABASE", "SCHEMA"):
        yield Effect("dropped", found[at].text if at < len(found) else "")
    elif kind == "INDEX":  # it may have been the key of the rows
        yield from _of("rows", _names(found, _behind(found, "ON"), database)[0], database)
    elif not _is_of(found, 1, _OTHER_OBJECTS):
        yield from _all(found, 0, None, database)


def _rename(found: Sequence[Word], database: str) -> Effects:
    if _key(found, 1) == "USER":
        return
    if _key(found, 1) not in ("TABLE", "TABLES"):
        yield from _all(found, 0, None, database)
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
        yield Effect("renamed", *new)


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
    """`LOAD DATA INFILE '...' INTO TABLE t`. Not `LOAD INDEX INTO CACHE t`."""
    if _key(found, 1) == "INDEX":
        return
    name, _ = _name(found, _behind(found, "TABLE"), database)
    yield from _of("rows", [name] if name else [], database)


def _behind(found: Sequence[Word], key: str) -> int:
    return next((at + 1 for at, word in enumerate(found) if word.key == key), len(found))


_READERS = {
    "SET": _set,
    "ANALYZE": _analyze,
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
