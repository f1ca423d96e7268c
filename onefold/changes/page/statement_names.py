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
_BEFORE_NAMES = frozenset({"ADD", "AFTER", "CHANGE", "COLUMN", "DROP", "EXISTS", "MODIFY", "TO", "(", ",", "."})


def possible_columns(statement: str) -> Iterator[str]:
    """Yield the words of a statement, or of several, that may be names of columns: in doubt a word may be one.

    Left out are the words of SQL and the name of the table. What is in any quotes may be a name.

    Examples:
        >>> list(possible_columns("ALTER TABLE shop.customer ADD `e-mail` VARCHAR(30), DROP date, ADD born DATE"))
        ['e-mail', 'date', 'born']
    """
    for one in _statements(list(words(statement))):
        table, rest = altered_table(one, "")
        yield from _names(rest if table else one)


def _statements(found: Sequence[Word]) -> Iterator[Sequence[Word]]:
    ends = [at for at, word in enumerate(found) if word.key == ";"]
    for start, end in zip([0, *(at + 1 for at in ends)], [*ends, len(found)], strict=True):
        yield found[start:end]


def _names(rest: Sequence[Word]) -> Iterator[str]:
    before = ""
    for word in rest:
        if word.text and word.is_name and (word.kind != "word" or _may_be_name(word.key, before)):
            yield word.text
        before = word.key


def _may_be_name(key: str, before: str) -> bool:
    if key.isdigit() or before == "COLLATE":
        return False
    if key in _RESERVED:
        return before == "."
    return key not in _OTHERS or before in _BEFORE_NAMES
