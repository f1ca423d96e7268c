"""The words of a logged statement: names, texts and signs, as the server reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

ANSI_QUOTES, NO_BACKSLASH_ESCAPES = 1 << 2, 1 << 20
"""Bits of `sql_mode`, the same in MySQL and MariaDB."""


@dataclass(frozen=True)
class Grammar:
    """The settings that decide how a server reads a statement's text."""

    sql_mode: int = 0
    """The session's mode, as the log has it."""
    lower_names: bool = False
    """Whether the server stores names of databases and tables in lower case (`lower_case_table_names = 1`)."""

    @property
    def ansi_quotes(self) -> bool:
        return bool(self.sql_mode & ANSI_QUOTES)

    @property
    def backslashes(self) -> bool:
        return not self.sql_mode & NO_BACKSLASH_ESCAPES


PLAIN = Grammar()


@dataclass(frozen=True)
class Word:
    """A name, a text or a sign of a statement."""

    text: str
    """The content of a quoted name or text; a bare word as it was written."""
    kind: str

    @property
    def key(self) -> str:
        """Return a bare word or a sign in upper case; an empty string for quoted words, which are never keywords."""
        return self.text.upper() if self.kind in ("word", "sign") else ""

    @property
    def is_name(self) -> bool:
        """Return whether the word may be a name: unquoted, or in any quotes, since ANSI_QUOTES allows double quotes."""
        return self.kind in ("word", "quoted", "text")


def words(statement: str, grammar: Grammar = PLAIN, ignored: frozenset[str] = frozenset()) -> Iterator[Word]:
    """Yield the words of a statement.

    Args:
        statement: the text.
        grammar: the settings under which the server read the text.
        ignored: the marks of executable comments that the server does not execute; the server executes all others.

    Examples:
        >>> [word.text for word in words("DROP TABLE `a b` /* old */;")]
        ['DROP', 'TABLE', 'a b', ';']
    """
    pattern, at = _tokens(grammar.ansi_quotes, grammar.backslashes), 0
    while match := pattern.match(statement, at):
        kind, text, at = match.lastgroup or "", match[0], match.end()
        if kind == "mark" and text in ignored:
            end = statement.find("*/", at)
            at = end + 2 if end >= 0 else len(statement)
        elif kind == "quoted":
            yield Word(text[1:-1].replace(2 * text[0], text[0]), kind)
        elif kind == "text":
            yield Word(text[1:-1], kind)
        elif kind in ("word", "sign"):
            yield Word(text, kind)


def tokens(statement: str, grammar: Grammar = PLAIN) -> Iterator[tuple[str, str]]:
    """Yield all of a statement, piece by piece: its kind (mark, space, quoted, text, word or sign) and its text.

    A comment is a space, but for the content of an executable one.

    Examples:
        >>> list(tokens("a = 'b'"))
        [('word', 'a'), ('space', ' '), ('sign', '='), ('space', ' '), ('text', "'b'")]
    """
    for match in _tokens(grammar.ansi_quotes, grammar.backslashes).finditer(statement):
        yield match.lastgroup or "", match[0]


def conditional_marks(statement: str) -> frozenset[str]:
    """Return the marks of executable comments that some servers execute and others do not: `/*!80000`, `/*M!`."""
    return frozenset(mark[0] for mark in _MARK.finditer(statement) if mark[1] or int(mark[2] or 0) >= _ALWAYS)


_MARK = re.compile(r"/\*(M?)!(\d{5,6})?")
_ALWAYS = 50_700
"""Every supported server executes comments for earlier versions. MariaDB ignores 50700 to 99999, which mean MySQL's versions
(https://mariadb.com/kb/en/comment-syntax/)."""


_BLANKS = r" \t\n\v\f\r"
"""Every character beyond ASCII belongs to a name without quotes, also a sign (`t€`), a mark of Thai, mostly a blank
(https://dev.mysql.com/doc/refman/9.4/en/identifiers.html)."""


@cache
def _tokens(ansi_quotes: bool, backslashes: bool) -> re.Pattern[str]:
    """Return the pattern of one token."""
    names = "" if not ansi_quotes else '| "(?:[^"]|"")*"'
    texts = _text("'", backslashes) if ansi_quotes else f"""{_text("'", backslashes)} | {_text('"', backslashes)}"""
    return re.compile(
        rf"""
          (?P<mark> /\*M?!(?:\d{{5,6}})? )
        | (?P<space> [{_BLANKS}]+ | \*/ | /\*.*?(?:\*/|\Z) | \#[^\n]* | --(?=[{_BLANKS}]|\Z)[^\n]* )
        | (?P<quoted> `(?:[^`]|``)*` {names} )
        | (?P<text> {texts} )
        | (?P<word> [0-9A-Za-z_$\x80-\U0010ffff]+ )
        | (?P<sign> . )
        """,
        re.VERBOSE | re.DOTALL,
    )


def _text(quote: str, backslashes: bool) -> str:
    return (
        rf"{quote}(?:[^{quote}\\]|{quote}{quote}|\\.)*{quote}"
        if backslashes
        else f"{quote}(?:[^{quote}]|{quote}{quote})*{quote}"
    )
