"""A statement with `?` in the place of each literal, and without comments: these may hold data of people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onefold.mysql.ddl.tokens import PLAIN, Grammar, tokens

# Numbers behind these words are sizes of types, and no data, where the word is the type of a column: CHAR(65) is also the
# letter A, and YEAR(20260101) a year.
_SIZED = frozenset({
    "BIGINT", "BINARY", "BIT", "BLOB", "CHAR", "CHARACTER", "DATETIME", "DEC", "DECIMAL", "DOUBLE", "FIXED", "FLOAT", "INT",
    "INTEGER", "MEDIUMINT", "NUMERIC", "REAL", "SMALLINT", "TEXT", "TIME", "TIMESTAMP", "TINYINT", "VARBINARY", "VARCHAR",
    "YEAR",
})  # fmt: skip
_LETTERS = {
    "ADD": "A", "MODIFY": "A", "CHANGE": "C", "COLUMN": "O", "IF": "I", "NOT": "N", "EXISTS": "E",
    **dict(zip("(),", "(),", strict=True)),
    **dict.fromkeys(_SIZED, "T"),
}  # fmt: skip
"""A letter for each piece of a statement: W for any other word or name, 9 for a number, and a dot for any other sign."""
_DEFINITION = re.compile(r"(?:AO?(?:IN?E)?[A-Z]|CO?(?:IE)?[A-Z][A-Z])T\((9(?:,9)?)\)")
"""`ADD [COLUMN] [IF NOT EXISTS] name TYPE(9, 9)`, MODIFY in the same form, and CHANGE with two names. ADD and CHANGE are
reserved, so that no expression has such words in a row."""


def masked(statement: str, grammar: Grammar = PLAIN) -> str:
    """Return a statement with `?` in the place of each text and number, and without comments.

    A number in brackets stays where it is a size of the type in the definition of a column, and nowhere else.

    Args:
        statement: the text.
        grammar: the settings under which the server read the text.

    Examples:
        >>> masked("ALTER TABLE t ADD c DECIMAL(10, 2) DEFAULT 4.5 COMMENT 'of Ada' -- see Ada")
        'ALTER TABLE t ADD c DECIMAL(10, 2) DEFAULT ?.? COMMENT ?'
        >>> masked("ALTER TABLE t ADD c CHAR(1) DEFAULT (CHAR(65))")
        'ALTER TABLE t ADD c CHAR(1) DEFAULT (CHAR(?))'
    """
    pieces = [(kind, text) for kind, text in tokens(statement, grammar) if kind != "mark"]
    sizes = _sizes(pieces)
    shown = (" " if kind == "space" else _shown(kind, text, at in sizes) for at, (kind, text) in enumerate(pieces))
    return " ".join("".join(shown).split())


def _shown(kind: str, text: str, is_size: bool) -> str:
    is_number = kind == "word" and text[0].isdigit()
    return "?" if kind == "text" or (is_number and not is_size) else text


def _sizes(pieces: Sequence[tuple[str, str]]) -> frozenset[int]:
    """Return the places of the numbers that are sizes of types in definitions of columns."""
    places = [at for at, (kind, _) in enumerate(pieces) if kind != "space"]
    letters = "".join(_letter(*pieces[at]) for at in places)
    found = (at for match in _DEFINITION.finditer(letters) for at in range(*match.span(1)))
    return frozenset(places[at] for at in found)


def _letter(kind: str, text: str) -> str:
    if kind == "word" and text.isdecimal():
        return "9"
    if kind in ("quoted", "text"):
        return "W"
    return _LETTERS.get(text.upper(), "W" if kind == "word" else ".")
