"""A logged statement as words: names, texts and signs, as the server reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What stands in `/*! ... */` and MariaDB's `/*M! ... */` is executed: only its marks are passed over. Whether a server of
# another version would have executed it is not asked: in doubt it did.
_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | /\*M?!\d* | \*/ | /\*.*?(?:\*/|\Z) | \#[^\n]* | --(?=\s|\Z)[^\n]* )
    | (?P<quoted> `(?:[^`]|``)*` )
    | (?P<text> '(?:[^'\\]|''|\\.)*' | "(?:[^"\\]|""|\\.)*" )
    | (?P<word> [\w$]+ )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Word:
    text: str
    """Of a name in backticks, the name; of a bare word, as it was written."""
    kind: str

    @property
    def key(self) -> str:
        """A bare word or a sign in upper case; nothing of what is quoted, which is no keyword."""
        return self.text.upper() if self.kind in ("word", "sign") else ""

    @property
    def is_name(self) -> bool:
        """With ANSI_QUOTES a name may stand in double quotes."""
        return self.kind in ("word", "quoted", "text")


def words(statement: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(statement):
        kind, text = match.lastgroup or "", match[0]
        if kind == "quoted":
            yield Word(text[1:-1].replace("``", "`"), kind)
        elif kind == "text":
            yield Word(text[1:-1], kind)
        elif kind != "space":
            yield Word(text, kind)
