"""The identity of a schema in a registry: vendor, name, format and SchemaVer, and the name of the table of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from onefold.core.errors import InvalidName
from onefold.core.text import shortened

# Each pattern is used with fullmatch only. No part can be `.` or `..`, so that a key never leaves its folder, and each part
# fits into its column of a table (VARCHAR(128)).
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_VENDOR = re.compile(r"(?=.{1,128}\Z)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_MODEL = re.compile(r"[1-9][0-9]{0,8}")
_VERSION = re.compile(r"([1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})")

URI_PREFIX = "iglu:"
_RULES = {
    "vendor": (_VENDOR, "parts of letters, digits, _ and -, joined by dots, as in com.acme"),
    "name": (_NAME, "letters, digits, _ and -, as in ad_click"),
    "format": (_NAME, "letters, digits, _ and -, as in jsonschema"),
    "model": (_MODEL, "a whole number from 1, of 9 digits at most, as in 1"),
    "version": (
        _VERSION,
        "MODEL-REVISION-ADDITION as whole numbers of 9 digits at most without leading zeros, MODEL from 1, as in 1-0-2",
    ),
}

# Look-arounds keep these linear in the length of a name.
_AFTER_ACRONYM = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")
_BEFORE_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """Return a name in snake case, as tables and columns have it.

    Examples:
        >>> snake("adClick"), snake("HTTPServer2Name"), snake("ad-click.v2")
        ('ad_click', 'http_server2_name', 'ad_click_v2')
    """
    parted = _BEFORE_CAPITAL.sub("_", _AFTER_ACRONYM.sub("_", name))
    return parted.replace("-", "_").replace(".", "_").lower()


def part_problems(kind: str, text: object) -> list[str]:
    """Return why a part of a key is not valid: an empty list where it is.

    Args:
        kind: `vendor`, `name`, `format`, `model` or `version`.
        text: the part; a value of another type than text is not valid.
    """
    pattern, rule = _RULES[kind]
    if isinstance(text, str) and pattern.fullmatch(text):
        return []
    return [f"{kind} {shortened(str(text))} is not valid: use {rule}"]


@dataclass(frozen=True, order=True)
class SchemaVer:
    """The version of a schema; versions compare number by number.

    Examples:
        >>> SchemaVer.parse("2-0-9") < SchemaVer.parse("2-0-10")
        True
        >>> str(SchemaVer(1, 0, 2))
        '1-0-2'
    """

    model: int
    revision: int
    addition: int

    @classmethod
    def parse(cls, text: str) -> SchemaVer:
        """Return the version that a text names.

        Raises:
            InvalidName: the text is not a version.
        """
        _check((("version", text),))
        return cls(*(int(number) for number in text.split("-")))

    def __str__(self) -> str:
        return f"{self.model}-{self.revision}-{self.addition}"


@dataclass(frozen=True, order=True)
class ModelKey:
    """A model of a schema: all its versions share one table."""

    vendor: str
    name: str
    format: str
    model: int

    @classmethod
    def parse(cls, text: str) -> ModelKey:
        """Return the model that a text names, with or without `iglu:`.

        Examples:
            >>> ModelKey.parse("com.acme/ad_click/jsonschema/1").table
            'com_acme_ad_click_1'

        Raises:
            InvalidName: the text is not a model; the error lists all problems.
        """
        vendor, name, format_, model = _split(text, "model", "com.acme/ad_click/jsonschema/1")
        return cls(vendor, name, format_, int(model))

    @property
    def path(self) -> str:
        """The key as a path, `com.acme/ad_click/jsonschema/1`."""
        return "/".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """The vendor, the name, the format and the model."""
        return (self.vendor, self.name, self.format, str(self.model))

    @property
    def schema(self) -> str:
        """The schema with all its models, `com.acme/ad_click/jsonschema`."""
        return "/".join(self.parts[:3])

    @property
    def base(self) -> str:
        """The name that the tables of the schema begin with, unless another schema has it (`table_names`)."""
        vendor = self.vendor.replace(".", "_").replace("-", "_").lower()
        return f"{vendor}_{snake(self.name)}"

    @property
    def table(self) -> str:
        """The name of the table of this model, `com_acme_ad_click_1`, unless another model has it (`table_names`)."""
        return f"{self.base}_{self.model}"

    def __str__(self) -> str:
        return self.path

    def at(self, version: SchemaVer) -> SchemaKey:
        """Return the key of a version of this schema."""
        return SchemaKey(self.vendor, self.name, self.format, version)


@dataclass(frozen=True, order=True)
class SchemaKey:
    """One version of a schema."""

    vendor: str
    name: str
    format: str
    version: SchemaVer

    @classmethod
    def parse(cls, text: str) -> SchemaKey:
        """Return the schema that a URI or a path names.

        Examples:
            >>> SchemaKey.parse("iglu:com.acme/ad_click/jsonschema/1-0-2").path
            'com.acme/ad_click/jsonschema/1-0-2'

        Raises:
            InvalidName: the text is not a schema's URI or path; the error lists all problems.
        """
        vendor, name, format_, version = _split(text, "version", "iglu:com.acme/ad_click/jsonschema/1-0-2")
        return cls(vendor, name, format_, SchemaVer.parse(version))

    @property
    def model_key(self) -> ModelKey:
        """The model that this version belongs to."""
        return ModelKey(self.vendor, self.name, self.format, self.version.model)

    @property
    def path(self) -> str:
        """The key as a path, `com.acme/ad_click/jsonschema/1-0-2`."""
        return f"{self.vendor}/{self.name}/{self.format}/{self.version}"

    def is_below(self, parts: Sequence[str]) -> bool:
        """Return whether the key begins with a vendor, a name, a format and a model, or with some of these.

        Examples:
            >>> key = SchemaKey.parse("com.acme/ad_click/jsonschema/1-0-2")
            >>> key.is_below(["com.acme"]), key.is_below(["com"]), key.is_below(key.model_key.parts), key.is_below([])
            (True, False, True, True)
        """
        return self.model_key.parts[: len(parts)] == tuple(parts)

    @property
    def uri(self) -> str:
        """The key as data refers to it, `iglu:com.acme/ad_click/jsonschema/1-0-2`."""
        return URI_PREFIX + self.path

    def __str__(self) -> str:
        return self.uri


def uri_of(path: str) -> str:
    """Return the URI of the schema that a path names; the path itself where it names none.

    Examples:
        >>> uri_of("com.acme/ad_click/avro/1-0-0"), uri_of("com.acme/notes")
        ('iglu:com.acme/ad_click/avro/1-0-0', 'com.acme/notes')
    """
    try:
        return SchemaKey.parse(path).uri
    except InvalidName:
        return path


def _split(text: str, last: str, example: str) -> tuple[str, str, str, str]:
    """Return the four parts of a key.

    Args:
        text: the key, with or without `iglu:`.
        last: the kind of the last part, `model` or `version`.
        example: a valid key, for the error.

    Raises:
        InvalidName: parts are missing or not valid.
    """
    parts = text.removeprefix(URI_PREFIX).split("/")
    if len(parts) != 4:
        raise InvalidName(f"{shortened(text)} is not a schema: expected vendor/name/format/{last}, as in {example}")
    vendor, name, format_, end = parts
    _check((("vendor", vendor), ("name", name), ("format", format_), (last, end)))
    return vendor, name, format_, end


def _check(parts: tuple[tuple[str, str], ...]) -> None:
    problems = [problem for kind, text in parts for problem in part_problems(kind, text)]
    if problems:
        raise InvalidName(problems)
