"""BigQuery types as values: parse and render. What joins and converts them is in `joins` and `conversions`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from onefold.core.errors import InvalidType
from onefold.core.names import fold_case, quote

SCALARS = (
    "STRING", "BYTES", "BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64",
    "DATE", "DATETIME", "TIMESTAMP", "TIME", "INTERVAL", "GEOGRAPHY", "JSON",
)  # fmt: skip

# Other spellings of the same types: GoogleSQL's aliases, and the names that the REST API uses in schemas.
ALIASES = {
    "INT": "INT64", "SMALLINT": "INT64", "INTEGER": "INT64", "BIGINT": "INT64", "TINYINT": "INT64", "BYTEINT": "INT64",
    "BOOLEAN": "BOOL", "FLOAT": "FLOAT64", "DECIMAL": "NUMERIC", "BIGDECIMAL": "BIGNUMERIC", "RECORD": "STRUCT",
}  # fmt: skip


@dataclass(frozen=True)
class Scalar:
    """A type without parts. Parameters (`STRING(20)`) are read and dropped: an expression does not keep them."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Range:
    element: Scalar

    def __str__(self) -> str:
        return f"RANGE<{self.element}>"


@dataclass(frozen=True)
class Field:
    name: str
    type: Type


@dataclass(frozen=True)
class Struct:
    fields: tuple[Field, ...]

    def get(self, name: str) -> Field | None:
        """Return the field of this name in any spelling; None where there is none."""
        return next((field for field in self.fields if fold_case(field.name) == fold_case(name)), None)

    def __str__(self) -> str:
        return "STRUCT<" + ", ".join(f"{_field_name(field.name)} {field.type}" for field in self.fields) + ">"


@dataclass(frozen=True)
class Array:
    element: Scalar | Range | Struct

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


Type = Union[Scalar, Range, Struct, Array]

STRING = Scalar("STRING")
JSON = Scalar("JSON")

# BigQuery nests 15 levels of RECORD, each of them perhaps an array. A bound keeps hostile text from exhausting the stack.
MAX_DEPTH = 50
_SHOWN = 1_000

_PLAIN_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _field_name(name: str) -> str:
    return name if _PLAIN_FIELD_NAME.fullmatch(name) else quote(name)


def render_type(type_: Type) -> str:
    """The type for SQL: like `str`, with every field name quoted, so that a reserved word is safe."""
    match type_:
        case Array(element):
            return f"ARRAY<{render_type(element)}>"
        case Struct(fields):
            return "STRUCT<" + ", ".join(f"{quote(field.name)} {render_type(field.type)}" for field in fields) + ">"
        case _:
            return str(type_)


@functools.lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Read a type string as INFORMATION_SCHEMA gives it; equal strings give the same object while they are remembered.

    Raises:
        InvalidType: names the text and the place where it stops making sense.
    """
    parser = _Parser(text)
    type_ = parser.type()
    parser.end()
    return type_


_TOKEN = re.compile(r"\s*(?:(?P<name>\w[\w-]*)|(?P<quoted>`(?:[^`\\]|\\.)*`)|(?P<text>'[^']*')|(?P<mark>[<>(),]))")


def _shown(text: str) -> str:
    """Long enough for any type that a person reads; a hostile one cannot flood a log."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}…"


def _tokens(text: str) -> Iterator[str]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if not match:
            at = len(text) - len(text[at:].lstrip())
            raise InvalidType(f"type {_shown(text)}: unexpected {text[at]!r} at character {at + 1}")
        yield match.group().strip()
        at = match.end()


class _Parser:
    """Recursive descent over the tokens of one type string."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def type(self) -> Type:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._problem(f"nested deeper than {MAX_DEPTH} levels")
        type_ = self._type()
        self._depth -= 1
        return type_

    def _type(self) -> Type:
        word = self._next().upper()
        name = ALIASES.get(word, word)
        if name == "ARRAY":
            return self._array()
        if name == "STRUCT":
            return self._struct()
        if name == "RANGE":
            return self._range()
        if name not in SCALARS:
            raise self._problem(f"{word!r} is not a BigQuery type")
        self._parameters()
        return Scalar(name)

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise self._problem(f"unexpected {self._tokens[self._at]!r} after the type")

    def _array(self) -> Array:
        self._expect("<")
        element = self.type()
        if isinstance(element, Array):
            raise self._problem("an array of arrays is not a BigQuery type")
        self._attributes()
        self._expect(">")
        return Array(element)

    def _range(self) -> Range:
        self._expect("<")
        element = self.type()
        if not isinstance(element, Scalar) or element.name not in ("DATE", "DATETIME", "TIMESTAMP"):
            raise self._problem("a range holds DATE, DATETIME or TIMESTAMP")
        self._expect(">")
        return Range(element)

    def _struct(self) -> Struct:
        self._expect("<")
        fields = [self._field()]
        while self._peek() == ",":
            self._next()
            fields.append(self._field())
        self._expect(">")
        names = [fold_case(field.name) for field in fields]
        if len(set(names)) < len(names):
            raise self._problem("two fields of a struct have one name")
        return Struct(tuple(fields))

    def _field(self) -> Field:
        name = self._next()
        if name in "<>(),":
            raise self._problem("a struct's field needs a name")
        if self._peek() in (",", ">", "<"):
            raise self._problem(f"a struct's field needs a name and a type; found {name!r} alone")
        if name.startswith("`"):
            name = re.sub(r"\\(.)", r"\1", name[1:-1])
        field = Field(name, self.type())
        self._attributes()
        return field

    def _attributes(self) -> None:
        """What may stand behind a type and makes no other type of it: a collation, NOT NULL."""
        if (self._peek() or "").upper() == "COLLATE":
            self._next()
            self._next()
        if (self._peek() or "").upper() == "NOT":
            self._next()
            if self._next().upper() != "NULL":
                raise self._problem("expected NULL after NOT")

    def _parameters(self) -> None:
        if self._peek() == "(":
            while self._next() != ")":
                pass

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise self._problem("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise self._problem(f"expected {token!r}, found {found!r}")

    def _problem(self, what: str) -> InvalidType:
        return InvalidType(f"type {_shown(self._text)}: {what}")
