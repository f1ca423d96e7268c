"""A statement with `?` in the place of each literal, and without comments: these may hold data of people."""

from __future__ import annotations

from onefold.mysql.ddl.tokens import PLAIN, Grammar, tokens

# Numbers behind these words are sizes of types, and no data.
_SIZED = frozenset({
    "BIGINT", "BINARY", "BIT", "BLOB", "CHAR", "CHARACTER", "DATETIME", "DEC", "DECIMAL", "DOUBLE", "FIXED", "FLOAT", "INT",
    "INTEGER", "MEDIUMINT", "NUMERIC", "REAL", "SMALLINT", "TEXT", "TIME", "TIMESTAMP", "TINYINT", "VARBINARY", "VARCHAR",
    "YEAR",
})  # fmt: skip


def masked(statement: str, grammar: Grammar = PLAIN) -> str:
    """Return a statement with `?` in the place of each text and number, sizes of types excepted, and without comments.

    Args:
        statement: the text.
        grammar: the settings under which the server read the text.

    Examples:
        >>> masked("ALTER TABLE t ADD c DECIMAL(10, 2) DEFAULT 4.5 COMMENT 'of Ada' -- see Ada")
        'ALTER TABLE t ADD c DECIMAL(10, 2) DEFAULT ?.? COMMENT ?'
    """
    found: list[str] = []
    last, is_size = "", False
    for kind, text in tokens(statement, grammar):
        if kind == "space":
            found.append(" ")
            continue
        if kind == "sign":
            is_size = (text == "(" and last in _SIZED) or (is_size and text == ",")
            found.append(text)
        elif kind == "text" or (kind == "word" and text[0].isdigit() and not is_size):
            found.append("?")
        elif kind != "mark":
            found.append(text)
        last = text.upper() if kind == "word" else ""
    return " ".join("".join(found).split())
