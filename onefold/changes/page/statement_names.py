"""The words of a statement that may be names of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onefold.mysql.ddl.alter_table import altered_table
from onefold.mysql.ddl.tokens import Word, words

# Reserved words of MySQL and MariaDB, which are names in quotes or behind a dot only; and words that begin a part of ALTER
# ("Keywords and Reserved Words", https://dev.mysql.com/doc/refman/9.4/en/keywords.html, 2026-11).
_RESERVED = frozenset({
    "ADD", "ALGORITHM", "ALL", "ALTER", "AND", "AS", "ASC", "BETWEEN", "BIGINT", "BINARY", "BLOB", "BY", "CASCADE",
    "CASE", "CHANGE", "CHAR", "CHARACTER", "CHECK", "COLLATE", "COLUMN", "CONSTRAINT", "CONVERT", "CURRENT_DATE",
    "CURRENT_TIME", "CURRENT_TIMESTAMP", "DEC", "DECIMAL", "DEFAULT", "DESC", "DOUBLE", "DROP", "ELSE", "ENGINE",
    "EXISTS", "FALSE", "FLOAT", "FOREIGN", "FULLTEXT", "IF", "IGNORE", "IN", "INDEX", "INT", "INTEGER", "IS", "KEY",
    "KEYS", "LIKE", "LOCK", "LONG", "LONGBLOB", "LONGTEXT", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT", "MODIFY", "NOT",
    "NULL", "NUMERIC", "ON", "OR", "ORDER", "PARTITION", "PRECISION", "PRIMARY", "REAL", "REFERENCES", "RENAME",
    "RESTRICT", "SET", "SMALLINT", "SPATIAL", "TABLE", "THEN", "TINYBLOB", "TINYINT", "TINYTEXT", "TO", "TRUE",
    "UNIQUE", "UNSIGNED", "UPDATE", "USING", "VARBINARY", "VARCHAR", "VARYING", "WHEN", "WITH", "ZEROFILL",
})  # fmt: skip
# Words of SQL that may be names without quotes, too.
_OTHERS = frozenset({
    "ACTION", "AFTER", "ALWAYS", "AUTO_INCREMENT", "BIT", "BOOL", "BOOLEAN", "CHARSET", "COMMENT", "COPY", "DATE",
    "DATETIME", "ENUM", "FIRST", "FIXED", "FORCE", "GENERATED", "GEOMETRY", "INNODB", "INPLACE", "INSTANT", "INVISIBLE",
    "JSON", "LATIN1", "NATIONAL", "NO", "NONE", "ONLINE", "PERSISTENT", "POINT", "SERIAL", "SIGNED", "STORED", "TEXT",
    "TIME", "TIMESTAMP", "UTF8", "UTF8MB3", "UTF8MB4", "UUID", "VIRTUAL", "VISIBLE", "YEAR",
})  # fmt: skip
# What stands before a name: in the parts of ALTER, and in expressions. Behind = there may be the value of an option, too.
_BEFORE_NAMES = frozenset({
    "ADD", "AFTER", "ALTER", "CHANGE", "COLUMN", "DROP", "EXISTS", "MODIFY", "TO", "(", ",", ".",
    "AND", "BETWEEN", "BY", "CASE", "DIV", "ELSE", "IN", "LIKE", "MOD", "NOT", "OR", "REGEXP", "RLIKE", "THEN", "WHEN",
    "XOR", "+", "-", "*", "/", "%", "<", ">", "|", "&", "^", "!", "~",
})  # fmt: skip


def possible_columns(statement: str) -> Iterator[str]:
    """Yield the words of a statement, or of several, that may be names of columns: in doubt a word may be one.

    Left out are the words of SQL and the name of the table. What is in any quotes may be a name.

    Examples:
        >>> list(possible_columns("ALTER TABLE shop.customer ADD `e-mail` VARCHAR(30), DROP date, ADD born DATE"))
        ['e-mail', 'date', 'born']
        >>> list(possible_columns("ALTER TABLE customer CHANGE COLUMN born date DATE, ADD CHECK (id = text)"))
        ['born', 'date', 'id', 'text']
    """
    for one in _statements(list(words(statement))):
        table, rest = altered_table(one, "")
        yield from _names(rest if table else one)


def _statements(found: Sequence[Word]) -> Iterator[Sequence[Word]]:
    ends = [at for at, word in enumerate(found) if word.key == ";"]
    for start, end in zip([0, *(at + 1 for at in ends)], [*ends, len(found)], strict=True):
        yield found[start:end]


def _names(rest: Sequence[Word]) -> Iterator[str]:
    new_names, keys = set(_new_names(rest)), ["", "", *(word.key for word in rest)]
    for at, word in enumerate(rest):
        is_name = word.kind != "word" or at in new_names or _may_be_name(word.key, *keys[at : at + 2])
        if word.text and word.is_name and is_name:
            yield word.text


def _new_names(rest: Sequence[Word]) -> Iterator[int]:
    """Yield the place of each second name of CHANGE [COLUMN] [IF EXISTS] old new."""
    for at, word in enumerate(rest):
        if word.key == "CHANGE":
            old = at + 1
            while old < len(rest) and rest[old].key in ("COLUMN", "IF", "EXISTS", "."):
                old += 1
            while old + 1 < len(rest) and rest[old + 1].key == ".":
                old += 2
            yield old + 1


def _may_be_name(key: str, second: str, before: str) -> bool:
    """Return whether a bare word may be a name, given the two keys before it."""
    if key.isdigit() or before == "COLLATE":
        return False
    if key in _RESERVED:
        return before == "."
    if before == "=":
        return key not in _OTHERS or second not in _RESERVED | _OTHERS
    return key not in _OTHERS or before in _BEFORE_NAMES
