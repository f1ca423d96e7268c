"""The definition of a column in a statement, as far as it decides which values a column can hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from onefold.mysql.ddl.tokens import Word
from onefold.mysql.ddl.word_sequence import behind_brackets, key_at

_SYNONYMS = {
    "integer": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "int4": "int", "int8": "bigint",
    "bool": "tinyint", "boolean": "tinyint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal",
}  # fmt: skip
_ESCAPE = re.compile(r"''|\"\"|\\(.)", re.DOTALL)
_WITH_VALUE = ("COMMENT", "AFTER", "COLUMN_FORMAT", "STORAGE")
_FLAGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("VISIBLE", "INVISIBLE", "FIRST", "SIGNED"), ()),
    **dict.fromkeys(("UNSIGNED", "ZEROFILL"), ("unsigned",)),
    "NULL": ("nullable",),
    "AUTO_INCREMENT": ("auto_increment",),
}
"""Attributes of one word, and the fields of a definition that each sets."""


@dataclass(frozen=True)
class ColumnDefinition:
    """A type with the attributes that decide what happens to stored values."""

    type: str
    """The server's name, in lower case."""
    sizes: tuple[int, ...] = ()
    """The numbers in brackets behind the type."""
    values: tuple[str, ...] = ()
    """The values of ENUM and SET."""
    unsigned: bool = False
    charset: str | None = None
    """None where the definition does not name one."""
    not_null: bool = False
    nullable: bool = False
    """Whether the definition says NULL."""
    auto_increment: bool = False


def column_definition(words: Sequence[Word]) -> ColumnDefinition | None:
    """Return the definition that words make; None where any part of it is not understood.

    Examples:
        >>> from onefold.mysql.ddl.tokens import words
        >>> column_definition(list(words("VARCHAR(30) NOT NULL DEFAULT 'x' AFTER id"))).sizes
        (30,)
        >>> column_definition(list(words("INT AS (a + 1)"))) is None
        True
    """
    if not words or words[0].kind != "word":
        return None
    name, at = words[0].text.lower(), 1
    arguments: Sequence[Word] = ()
    if key_at(words, at) == "(":
        end = behind_brackets(words, at)
        arguments, at = words[at + 1 : end - 1], end
    attributes = _attributes(words, at)
    if attributes is None:
        return None
    name = _SYNONYMS.get(name, name)
    if name in ("enum", "set"):
        values = _values(arguments)
        return None if values is None else ColumnDefinition(name, values=values, **attributes)  # type: ignore[arg-type]
    sizes = _sizes(arguments)
    return None if sizes is None else ColumnDefinition(name, sizes, **attributes)  # type: ignore[arg-type]


def _values(arguments: Sequence[Word]) -> tuple[str, ...] | None:
    """Return the values of ENUM or SET. Text with a character set of its own is not understood."""
    values, commas = arguments[::2], arguments[1::2]
    if not values or len(commas) != len(values) - 1 or any(word.key != "," for word in commas):
        return None
    # The server removes blanks at the end of a value.
    return (
        tuple(_unescaped(word.text).rstrip(" ") for word in values) if all(word.kind == "text" for word in values) else None
    )


def _unescaped(text: str) -> str:
    # In doubt the text differs from the server's: no other value then equals it.
    return _ESCAPE.sub(lambda match: match[1] or match[0][0], text)


def _sizes(arguments: Sequence[Word]) -> tuple[int, ...] | None:
    numbers, commas = arguments[::2], arguments[1::2]
    if any(word.key != "," for word in commas) or not all(re.fullmatch("[0-9]+", word.text) for word in numbers):
        return None
    return tuple(int(word.text) for word in numbers)


def _attributes(words: Sequence[Word], at: int) -> dict[str, str | bool] | None:
    """Return the attributes behind the type; None where one of them is not understood."""
    found: dict[str, str | bool] = {}
    while at < len(words):
        key = words[at].key
        if key in _FLAGS:
            found.update(dict.fromkeys(_FLAGS[key], True))
            at += 1
        elif (charset := _charset(words, at)) is not None:
            found.setdefault("charset", charset[0])
            at = charset[1]
        elif (behind := _behind_phrase(words, at)) > at:
            found.update({"not_null": True} if key == "NOT" else {})
            at = behind
        else:
            return None
    return found


def _charset(words: Sequence[Word], at: int) -> tuple[str, int] | None:
    """Return the character set that words name, and the index behind them. The name of a collation begins with it."""
    character = key_at(words, at) == "CHARACTER" and key_at(words, at + 1) == "SET"
    at += 2 if character else 1
    if not (character or key_at(words, at - 1) in ("CHARSET", "COLLATE")) or at >= len(words):
        return None
    return words[at].text.lower().partition("_")[0], at + 1


def _behind_phrase(words: Sequence[Word], at: int) -> int:
    """Return the index behind an attribute that consists of several words; `at` where there is none."""
    key, second = words[at].key, key_at(words, at + 1)
    if (key, second) == ("NOT", "NULL"):
        return at + 2
    if key == "DEFAULT":
        return _behind_value(words, at + 1)
    if (key, second) == ("ON", "UPDATE"):
        return _behind_value(words, at + 2)
    return at + 2 if key in _WITH_VALUE else at


def _behind_value(words: Sequence[Word], at: int) -> int:
    """Return the index behind a literal, a function with its arguments, or an expression in brackets."""
    if key_at(words, at) in ("+", "-"):
        at += 1
    if key_at(words, at) != "(":
        word, at = words[at : at + 1], at + 1
        if word and word[0].kind == "word" and at < len(words) and words[at].kind == "text":
            at += 1  # b'0', x'00', _utf8mb4'a'
    if key_at(words, at) == ".":
        at += 2
    return behind_brackets(words, at) if key_at(words, at) == "(" else at
