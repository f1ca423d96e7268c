"""The effects of one statement, given as words, on the rows that are stored: a reader for each kind of statement.

A statement whose tables are unclear may have changed every table of the session's database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from onefold.mysql.ddl.alter_table import alterations, altered_table, exchanged, new_name
from onefold.mysql.ddl.alterations import Alteration, ColumnAdded, IndexAltered
from onefold.mysql.ddl.tokens import Word
from onefold.mysql.ddl.word_sequence import TableRef, index_behind, key_at, rename_pairs, skip, table_name, table_names

TableEffectKind = Literal["rows", "truncated", "dropped", "created", "renamed", "replaced", "structure", "altered"]


@dataclass(frozen=True)
class TableEffect:
    """What happened to a table.

    Its rows changed (`rows`), it was emptied, it is gone, it is new, it has another name from now on (`renamed`), another
    table has its name from now on (`replaced`), or only its structure changed (`structure`). Whether `altered` changed rows
    depends on the structure before. Without a table, this happened to all tables of the database; without a database, to
    tables of any database.
    """

    kind: TableEffectKind
    database: str
    table: str | None = None
    alterations: tuple[Alteration, ...] = ()
    """What happened to columns and unique indexes, of `structure` and `altered`."""
    new_name: TableRef | None = None
    """The name from now on, of `renamed`."""
    is_replaced: bool = False
    """Whether another table has taken the former name in the same statement, of `renamed`."""


Effects = Iterator[TableEffect]

# Statements no form of which changes a stored row of a table. MariaDB logs `# Dum` in place of an event without effect.
_HARMLESS = frozenset({
    "CACHE", "CHANGE", "CHECK", "CHECKSUM", "COMMIT", "FLUSH", "GRANT", "INSTALL", "KILL", "LOCK", "OPTIMIZE",
    "RELEASE", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SHUTDOWN", "START", "STOP", "UNINSTALL", "UNLOCK", "USE", "XA",
})  # fmt: skip
_BEFORE_KINDS = (
    "OR", "REPLACE", "SQL", "SECURITY", "INVOKER", "AGGREGATE", "FULLTEXT", "SPATIAL", "UNDO", "JSON", "RELATIONAL",
    "DUALITY",
)  # fmt: skip
"""Keywords between CREATE, ALTER or DROP and the kind of the object."""
_OTHER_OBJECTS = frozenset({
    "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "PACKAGE", "EVENT", "USER", "ROLE", "SERVER", "SEQUENCE", "DATABASE",
    "SCHEMA", "INDEX", "TABLESPACE", "LOGFILE", "RESOURCE", "INSTANCE", "REFERENCE", "LIBRARY", "PREPARE", "TEMPORARY",
})  # fmt: skip
"""Kinds of objects without stored rows that are captured."""


def statement_effects(words: Sequence[Word], database: str) -> Effects:
    """Yield the effects of a statement.

    Args:
        words: the statement.
        database: the session's, for names without a database.
    """
    if words:
        read = _READERS.get(words[0].key)
        if read:
            yield from read(words, database)
        elif not _is_harmless(words):
            yield from _on_any_table(words, 0, None, database)


def _is_harmless(words: Sequence[Word]) -> bool:
    first, second = words[0].key, key_at(words, 1)
    if first == "BEGIN":  # not MariaDB's BEGIN NOT ATOMIC
        return len(words) == 1 or (len(words) == 2 and second == "WORK")
    return first in _HARMLESS


def _on_tables(kind: TableEffectKind, names: Sequence[TableRef], database: str) -> Effects:
    """Yield an effect on each table. Without a table, any table of the database may have changed."""
    if not names:
        yield TableEffect("rows", database)
    for of, table in names:
        yield TableEffect(kind, of, table)


def _on_any_table(words: Sequence[Word], at: int, name: TableRef | None, database: str) -> Effects:
    """Yield the effects of a statement on several tables: all of the session's database, and of databases before a dot."""
    qualifiers = {words[index].text for index in range(at, len(words) - 1) if words[index + 1].key == "."}
    for of in dict.fromkeys([database, *([name[0]] if name else []), *sorted(qualifiers)]):
        yield TableEffect("rows", of)


def _is_object(words: Sequence[Word], at: int, kinds: frozenset[str]) -> bool:
    """Return whether the object that is created, altered or dropped is of one of these kinds.

    DEFINER and ALGORITHM, each with a value, may come before the kind.
    """
    while key_at(words, at) in (*_BEFORE_KINDS, "DEFINER", "ALGORITHM"):
        assigns = key_at(words, at + 1) == "="  # not SQL SECURITY DEFINER
        at += 3 if assigns else 1  # the name, the sign, the value
        if assigns and key_at(words, at) == "@":
            at += 2
        at = skip(words, at, "(", ")")  # CURRENT_USER()
    return key_at(words, at) in kinds


def _set(words: Sequence[Word], database: str) -> Effects:
    """Read SET. MariaDB's SET STATEMENT executes another statement, and a function in a SET may change rows."""
    if key_at(words, 1) == "STATEMENT":
        for effect in statement_effects(words[index_behind(words, "FOR") :] or words[1:], database):
            # The statement may set the mode in which values that do not fit are errors.
            yield TableEffect("rows", effect.database, effect.table) if effect.kind == "altered" else effect
    elif any(word.key == "(" for word in words):
        yield from _on_any_table(words, 0, None, database)


def _analyze(words: Sequence[Word], database: str) -> Effects:
    """Read ANALYZE. `ANALYZE TABLE` only reads rows; MariaDB's `ANALYZE [FORMAT = JSON] UPDATE ...` executes a statement."""
    if key_at(words, skip(words, 1, "LOCAL", "NO_WRITE_TO_BINLOG")) in ("TABLE", "TABLES"):
        return
    at = 1 + 3 * (key_at(words, 1) == "FORMAT" and key_at(words, 2) == "=")
    yield from statement_effects(words[at:] or words[:0], database)


def _alter(words: Sequence[Word], database: str) -> Effects:
    name, rest = altered_table(words, database)
    if name is None and rest:
        yield TableEffect("rows", database)
    elif name is None:
        # MariaDB's ALTER DATABASE ... UPGRADE DATA DIRECTORY NAME renames the database.
        if not _is_object(words, 1, _OTHER_OBJECTS) or any(word.key == "UPGRADE" for word in words):
            yield TableEffect("rows", "")
    else:
        yield from _altered_table(name, words, rest, database)


def _altered_table(name: TableRef, words: Sequence[Word], rest: Sequence[Word], database: str) -> Effects:
    for of, table in exchanged(rest):
        yield TableEffect("rows", of or database, table)
    if new := new_name(rest):
        target = (new[0] or name[0], new[1])
        yield TableEffect("renamed", *name, new_name=target)
        yield TableEffect("replaced", *target)
    else:
        ignores = any(word.key == "IGNORE" for word in words[: len(words) - len(rest)])
        yield _altered(name, alterations(rest), ignores)


def _altered(name: TableRef, found: tuple[Alteration, ...] | None, ignores: bool) -> TableEffect:
    """Return the effect of ALTER TABLE. MariaDB's ALTER IGNORE cuts off values, and drops rows with equal unique keys."""
    is_harmless = found is not None and all(isinstance(one, ColumnAdded) for one in found)
    if found is None or (ignores and not is_harmless):
        return TableEffect("rows", *name)
    return TableEffect("structure" if is_harmless else "altered", *name, alterations=found)


def _create(words: Sequence[Word], database: str) -> Effects:
    replaces = key_at(words, 1) == "OR"
    at = skip(words, 1, "OR", "REPLACE")
    kind = key_at(words, at)
    if kind == "UNIQUE":  # an index that may become the key of the rows
        yield from _on_index(words, database)
    elif kind in ("DATABASE", "SCHEMA") and replaces:
        yield TableEffect("dropped", words[at + 1].text if len(words) > at + 1 else "")
    elif kind == "TABLE":
        name, at = table_name(words, skip(words, at + 1, "IF", "NOT", "EXISTS"), database)
        rows = replaces or _is_filled(words[at:])
        yield from _on_tables("rows" if rows else "created", [name] if name else [], database)
    elif kind != "TEMPORARY" and not _is_object(words, at, _OTHER_OBJECTS):
        yield from _on_any_table(words, 0, None, database)


def _is_filled(rest: Sequence[Word]) -> bool:
    """Return whether a new table has rows at once, from a query or from other tables (`UNION = (a, b)` of MERGE)."""
    depth = 0
    for word in rest:
        depth += {"(": 1, ")": -1}.get(word.key, 0)
        if word.key in ("SELECT", "TABLE", "ROW") or (depth == 0 and word.key in ("VALUES", "UNION")):
            return True
    return False


def _drop(words: Sequence[Word], database: str) -> Effects:
    kind = key_at(words, 1)
    at = skip(words, 2, "IF", "EXISTS")
    if kind in ("TABLE", "TABLES"):
        yield from _on_tables("dropped", table_names(words, at, database)[0], database)
    elif kind in ("DATABASE", "SCHEMA"):
        yield TableEffect("dropped", words[at].text if at < len(words) else "")
    elif kind == "INDEX":  # it may have been the key of the rows
        primary = at < len(words) and words[at].text.upper() == "PRIMARY"
        yield from _on_tables("rows", _indexed(words, database), database) if primary else _on_index(words, database)
    elif not _is_object(words, 1, _OTHER_OBJECTS):
        yield from _on_any_table(words, 0, None, database)


def _indexed(words: Sequence[Word], database: str) -> list[TableRef]:
    return table_names(words, index_behind(words, "ON"), database)[0]


def _on_index(words: Sequence[Word], database: str) -> Effects:
    """Yield the effect of CREATE UNIQUE INDEX or DROP INDEX."""
    names = _indexed(words, database)
    if not names:
        yield TableEffect("rows", database)
    for name in names:
        yield TableEffect("altered", *name, alterations=(IndexAltered(),))


def _rename(words: Sequence[Word], database: str) -> Effects:
    if key_at(words, 1) == "USER":
        return
    if key_at(words, 1) not in ("TABLE", "TABLES"):
        yield from _on_any_table(words, 0, None, database)
        return
    pairs = rename_pairs(words, skip(words, 2, "IF", "EXISTS"), database)
    if pairs is None:
        yield TableEffect("rows", database)
        return
    targets = {new for _, new in pairs}
    for old, new in pairs:
        # `t TO _t_old, _t_new TO t` leaves a table of the name.
        yield TableEffect("renamed", *old, new_name=new, is_replaced=old in targets)
    for _, new in pairs:
        yield TableEffect("replaced", *new)


def _truncate(words: Sequence[Word], database: str) -> Effects:
    name, _ = table_name(words, skip(words, 1, "TABLE"), database)
    yield from _on_tables("truncated", [name] if name else [], database)


def _insert(words: Sequence[Word], database: str) -> Effects:
    at = skip(words, 1, "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
    name, _ = table_name(words, at, database)
    yield from _on_tables("rows", [name] if name else [], database)


def _update(words: Sequence[Word], database: str) -> Effects:
    """Read UPDATE of one table. In an UPDATE of several tables, any of them may have changed."""
    name, at = table_name(words, skip(words, 1, "LOW_PRIORITY", "IGNORE"), database)
    if name and key_at(words, at) == "SET":
        yield TableEffect("rows", *name)
    else:
        yield from _on_any_table(words, at, name, database)


def _delete(words: Sequence[Word], database: str) -> Effects:
    at = skip(words, 1, "LOW_PRIORITY", "QUICK", "IGNORE")
    if key_at(words, at) == "FROM":
        name, behind = table_name(words, at + 1, database)
        if name and key_at(words, behind) in ("", "WHERE", "ORDER", "LIMIT", "RETURNING"):
            yield TableEffect("rows", *name)
            return
    yield from _on_any_table(words, at, None, database)


def _load(words: Sequence[Word], database: str) -> Effects:
    """Read `LOAD DATA INFILE '...' INTO TABLE t`, but not `LOAD INDEX INTO CACHE t`."""
    if key_at(words, 1) == "INDEX":
        return
    name, _ = table_name(words, index_behind(words, "TABLE"), database)
    yield from _on_tables("rows", [name] if name else [], database)


_READERS: dict[str, Callable[[Sequence[Word], str], Effects]] = {
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
