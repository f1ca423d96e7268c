"""The parts of an `ALTER TABLE`, and what each does to stored rows and their key. In doubt, a part changes rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from onefold.mysql.ddl.alterations import (
    Alteration,
    IndexAltered,
    changed,
    columns_added,
    converted,
    dropped,
    modified,
)
from onefold.mysql.ddl.tokens import Word
from onefold.mysql.ddl.word_sequence import TableRef, behind_brackets, key_at, skip, table_name

_OPTIONS = frozenset({
    "AUTO_INCREMENT", "AVG_ROW_LENGTH", "CHARSET", "CHECKSUM", "COLLATE", "COMMENT", "COMPRESSION", "DELAY_KEY_WRITE",
    "ENCRYPTION", "INSERT_METHOD", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PAGE_CHECKSUM", "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL", "ROW_FORMAT", "SECONDARY_ENGINE", "STATS_AUTO_RECALC", "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES", "TRANSACTIONAL", "ALGORITHM", "LOCK",
})  # fmt: skip
"""Table options that change no rows. Each has a value, perhaps behind an equals sign."""
_ENGINES = frozenset({"INNODB", "MYISAM", "ARIA", "ROCKSDB", "MEMORY"})
"""Engines that keep the rows of a table that is converted to them: BLACKHOLE drops rows, FEDERATED shows other rows."""
_PHRASES = (
    ("FORCE",), ("DISABLE", "KEYS"), ("ENABLE", "KEYS"), ("SECONDARY_LOAD",), ("SECONDARY_UNLOAD",), ("WITH", "VALIDATION"),
    ("WITHOUT", "VALIDATION"), ("REMOVE", "PARTITIONING"),
)  # fmt: skip
_PLAIN_INDEXES = ("INDEX", "KEY", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK")
# With any of these words, a new column has values in existing rows: TIMESTAMP has a default of its own.
_FILLED = frozenset(
    {
        "AS",
        "AUTO_INCREMENT",
        "DEFAULT",
        "GENERATED",
        "KEY",
        "NOT",
        "PRIMARY",
        "ROW",
        "SERIAL",
        "TIMESTAMP",
        "UNIQUE",
        "VERSIONING",
    }
)

Name = tuple[str | None, str]
"""A database, where one is named, and a table."""


def altered_table(words: Sequence[Word], database: str) -> tuple[TableRef | None, Sequence[Word]]:
    """Return the table of a statement that begins with ALTER, and the words behind its name.

    The name is None if the statement alters no table, or one whose name is not understood; then the words are those from
    TABLE on, or none.

    Args:
        words: the statement.
        database: the session's, for a name without a database.
    """
    at = skip(words, 1, "ONLINE", "OFFLINE", "IGNORE")
    if key_at(words, at) != "TABLE":
        return None, ()
    name, behind = table_name(words, skip(words, at + 1, "IF", "EXISTS"), database)
    if name is None:
        return None, words[at:]
    behind += 2 if key_at(words, behind) == "WAIT" else 0
    return name, words[skip(words, behind, "NOWAIT") :]


def alterations(rest: Sequence[Word]) -> tuple[Alteration, ...] | None:
    """Return what the words behind the table's name do to its columns and unique indexes.

    None if stored rows or the key change whatever the structure of the table is, or if a part is not understood. Parts that
    change neither (indexes that are not unique, comments, options) are left out.
    """
    found = [_alterations(part) for part in parts(rest)]
    known = [one for one in found if one is not None]
    return tuple(one for part in known for one in part) if len(known) == len(found) else None


def new_name(rest: Sequence[Word]) -> Name | None:
    """Return the table's new name, behind `RENAME [TO]`; None where the table is not renamed."""
    for part in parts(rest):
        keys = [word.key for word in part]
        if keys[0] == "RENAME" and keys[1:2] not in (["COLUMN"], ["INDEX"], ["KEY"]):
            return _qualified(part[2:] if keys[1:2] in (["TO"], ["AS"], ["="]) else part[1:])
    return None


def exchanged(rest: Sequence[Word]) -> Iterator[Name]:
    """Yield the tables that exchange rows with this one.

    `EXCHANGE PARTITION p WITH TABLE t`, and MariaDB's `CONVERT PARTITION p TO TABLE t`.
    """
    for part in parts(rest):
        keys = [word.key for word in part]
        if keys[0] in ("EXCHANGE", "CONVERT") and "TABLE" in keys:
            yield _qualified(part[keys.index("TABLE") + 1 :])


def _qualified(part: Sequence[Word]) -> Name:
    if len(part) > 2 and part[1].key == ".":
        return part[0].text, part[2].text
    return None, part[0].text if part else ""


def parts(rest: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the parts that commas outside of brackets separate."""
    part: list[Word] = []
    depth = 0
    for word in rest:
        depth += {"(": 1, ")": -1}.get(word.key, 0)
        if word.key == "," and depth == 0:
            if part:
                yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


def _alterations(part: Sequence[Word]) -> tuple[Alteration, ...] | None:
    first, second = part[0].key, part[1].key if len(part) > 1 else ""
    if first == "ADD":
        return _added(part[1:])
    if first in _READERS:
        return _READERS[first](part[1:])
    # ALTER: SET DEFAULT, DROP DEFAULT, an index's visibility
    is_harmless = first in ("ALTER", "ORDER") or (first == "RENAME" and second in ("INDEX", "KEY")) or _are_options(part)
    return () if is_harmless else None


def _are_options(part: Sequence[Word]) -> bool:
    """Return whether a part consists of options that change no rows. They may come without a comma between them."""
    at = 0
    while 0 <= at < len(part):
        at = _behind_option(part, at)
    return at >= 0


def _behind_option(part: Sequence[Word], at: int) -> int:
    """Return the index behind one option that changes no rows; -1 where there is none."""
    keys = [word.key for word in part]
    for phrase in _PHRASES:
        if tuple(keys[at : at + len(phrase)]) == phrase:
            return at + len(phrase)
    if keys[at : at + 2] == ["PARTITION", "BY"]:
        return _behind_hash(part, at + 2)
    at += keys[at] == "DEFAULT"
    character_set = keys[at : at + 2] == ["CHARACTER", "SET"]
    name = "CHARSET" if character_set else "".join(keys[at : at + 1])
    at += 2 if character_set else 1
    at += keys[at : at + 1] == ["="]
    keeps_rows = name == "ENGINE" and part[at : at + 1] and part[at].text.upper() in _ENGINES
    return at + 1 if keeps_rows or (name in _OPTIONS and at < len(part)) else -1


def _behind_hash(part: Sequence[Word], at: int) -> int:
    """Return the index behind HASH or KEY and its number of partitions; -1 for ways that may have no partition for a row."""
    at = skip(part, at, "LINEAR")
    if key_at(part, at) not in ("HASH", "KEY") or key_at(part, at + 1) != "(":
        return -1
    at = behind_brackets(part, at + 1)
    if key_at(part, at) != "PARTITIONS":
        return at
    return at + 2 if key_at(part, at + 1).isdigit() else -1


def _added(part: Sequence[Word]) -> tuple[Alteration, ...] | None:
    """Read the words behind ADD. None where existing rows get values, or another key."""
    keys = [word.key for word in part]
    if keys[:1] == ["CONSTRAINT"]:
        if "PRIMARY" in keys[1:3]:
            return None
        return (IndexAltered(),) if "UNIQUE" in keys[1:3] else ()
    if keys[:1] in (["PRIMARY"], ["UNIQUE"]):
        return (IndexAltered(),) if keys[0] == "UNIQUE" else None
    if keys[:1] and keys[0] in _PLAIN_INDEXES:
        return ()
    start = 1 if keys[:1] == ["COLUMN"] else 0
    start += 3 if keys[start : start + 3] == ["IF", "NOT", "EXISTS"] else 0
    columns = list(parts(part[start + 1 : -1])) if keys[start : start + 1] == ["("] else [list(part[start:])]
    # The first word of each column is its name, even if the word is a keyword.
    if any(_filled([word.key for word in column[1:]]) for column in columns):
        return None
    return () if keys[:1] == ["PARTITION"] else tuple(columns_added(columns))


def _filled(keys: Sequence[str]) -> bool:
    return any(key in _FILLED and list(keys[at : at + 2]) != ["DEFAULT", "NULL"] for at, key in enumerate(keys))


_READERS: dict[str, Callable[[Sequence[Word]], tuple[Alteration, ...] | None]] = {
    "DROP": dropped,
    "MODIFY": modified,
    "CHANGE": changed,
    "CONVERT": converted,
}
