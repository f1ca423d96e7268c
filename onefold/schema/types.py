"""BigQuery types as values, read from text and written as text. `common_type` joins types, `casts` converts values."""

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
    """A pair of dates or times, each of which may be unbounded."""

    element: Scalar

    def __str__(self) -> str:
        return f"RANGE<{self.element}>"


@dataclass(frozen=True)
class Field:
    """A field of a struct."""

    name: str
    type: Type


@dataclass(frozen=True)
class Struct:
    """Fields in their order, looked up by name without case."""

    fields: tuple[Field, ...]

    @functools.cached_property
    def _by_name(self) -> dict[str, Field]:
        # The last item of a dict wins; reversed, so that the first of two fields with one name is found.
        return {fold_case(field.name): field for field in reversed(self.fields)}

    def get(self, name: str) -> Field | None:
        """Return the field of this name in any spelling; None where there is none.

        Examples:
            >>> str(Struct((Field("Zip", STRING),)).get("ZIP").type)
            'STRING'
        """
        return self._by_name.get(fold_case(name))

    def __str__(self) -> str:
        return "STRUCT<" + ", ".join(f"{_field_name(field.name)} {field.type}" for field in self.fields) + ">"


@dataclass(frozen=True)
class Array:
    """A list of values of one type; BigQuery has no array of arrays."""

    element: Scalar | Range | Struct

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


Type = Union[Scalar, Range, Struct, Array]

STRING = Scalar("STRING")
JSON = Scalar("JSON")

# BigQuery allows 15 levels of RECORD, each of which may be an array ("Quotas and limits", maximum depth of nested columns,
# https://cloud.google.com/bigquery/quotas, 2026-11). A bound keeps hostile text from exhausting the stack.
MAX_DEPTH = 50
_SHOWN_CHARACTERS = 1_000
"""Enough of any type that a person reads; a hostile type cannot flood a log."""

_PLAIN_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _field_name(name: str) -> str:
    return name if _PLAIN_FIELD_NAME.fullmatch(name) else quote(name)


def element_of(type_: Type) -> Type:
    """Return the type of the elements of an array; another type as it is."""
    return type_.element if isinstance(type_, Array) else type_


def render_type(type_: Type) -> str:
    """Return the type for SQL: as `str` does, but with every field name quoted, so that a reserved word is safe.

    Examples:
        >>> render_type(parse_type("ARRAY<STRUCT<select INT64>>"))
        'ARRAY<STRUCT<`select` INT64>>'
    """
    match type_:
        case Array(element):
            return f"ARRAY<{render_type(element)}>"
        case Struct(fields):
            return "STRUCT<" + ", ".join(f"{quote(field.name)} {render_type(field.type)}" for field in fields) + ">"
        case _:
            return str(type_)


@functools.lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Return the type that a text names, in the form of INFORMATION_SCHEMA. Results are cached: types are immutable.

    Examples:
        >>> str(parse_type("struct<id INTEGER NOT NULL, tags array<STRING(20)>>"))
        'STRUCT<id INT64, tags ARRAY<STRING>>'

    Raises:
        InvalidType: the text is not a type; the error names the text and what is wrong with it.
    """
    return _Parser(text).whole()


@functools.lru_cache(maxsize=4096)
def parse_landed_type(text: str) -> Type:
    """Return the type that the warehouse names for a column; a type that is not known keeps its text.

    BigQuery may have types that are newer than this release. A type of its own is a Scalar with its text, also within a
    struct or an array; parameters are dropped as those of known types.

    Examples:
        >>> parse_landed_type("STRUCT<a UUID, b INT64>")
        Struct(fields=(Field(name='a', type=Scalar(name='UUID')), Field(name='b', type=Scalar(name='INT64'))))
        >>> parse_landed_type("VECTOR<FLOAT64>(3)")
        Scalar(name='VECTOR<FLOAT64>')

    Raises:
        InvalidType: the text has not even the form of a type.
    """
    return _Parser(text, keep_unknown=True).whole()


_TOKEN = re.compile(r"\s*(?:(?P<name>\w[\w-]*)|(?P<quoted>`(?:[^`\\]|\\.)*`)|(?P<text>'[^']*')|(?P<mark>[<>(),]))")


def _quoted(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]!r}…"


def _tokens(text: str) -> Iterator[str]:
    index, end = 0, len(text.rstrip())
    while index < end:
        match = _TOKEN.match(text, index)
        if not match:
            index = len(text) - len(text[index:].lstrip())
            raise InvalidType(f"type {_quoted(text)}: unexpected {text[index]!r} at character {index + 1}")
        yield match.group().strip()
        index = match.end()


class _Parser:
    """A parser by recursive descent over the tokens of one type string."""

    def __init__(self, text: str, *, keep_unknown: bool = False) -> None:
        self._text = text
        self._keep_unknown = keep_unknown
        self._tokens = list(_tokens(text))
        self._index = 0
        self._depth = 0

    def whole(self) -> Type:
        type_ = self.type()
        if self._index < len(self._tokens):
            raise self._problem(f"unexpected {self._tokens[self._index]!r} after the type")
        return type_

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
            if not (self._keep_unknown and _PLAIN_FIELD_NAME.fullmatch(word)):
                raise self._problem(f"{word!r} is not a BigQuery type")
            name += self._arguments()
        self._parameters()
        return Scalar(name)

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
        """Skip what may follow a type without making it another type: a collation, NOT NULL."""
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

    def _arguments(self) -> str:
        """Return what is in angle brackets after the name of an unknown type."""
        if self._peek() != "<":
            return ""
        first, depth = self._index, 0
        while not depth or self._peek() is not None:
            depth += {"<": 1, ">": -1}.get(self._next(), 0)
            if not depth:
                return "".join(self._tokens[first : self._index]).replace(",", ", ")
        raise self._problem("it ends too early")

    def _peek(self) -> str | None:
        return self._tokens[self._index] if self._index < len(self._tokens) else None

    def _next(self) -> str:
        if self._index >= len(self._tokens):
            raise self._problem("it ends too early")
        self._index += 1
        return self._tokens[self._index - 1]

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise self._problem(f"expected {token!r}, found {found!r}")

    def _problem(self, problem: str) -> InvalidType:
        return InvalidType(f"type {_quoted(self._text)}: {problem}")
