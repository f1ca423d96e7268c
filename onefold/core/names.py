"""Names of projects, datasets, tables and versions: which are valid, and how SQL quotes them. No other module quotes."""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from onefold.core.errors import InvalidName
from onefold.core.text import cut

_OF_PATTERNS = frozenset("*?[")
# Each pattern is used with fullmatch only: `customer` must never match `customer_vip`.
_PROJECT = re.compile(r"(?:[a-z0-9.-]{1,100}:)?[a-z][a-z0-9-]{0,62}")
_DATASET = re.compile(r"[A-Za-z0-9_]{1,1024}")
_VERSION = re.compile(r"[A-Za-z0-9_-]{1,300}")

TEMPORARY_PREFIX = "onefold_tmp_"
"""The beginning of the name of every table that a job creates for itself, and drops."""
LEAF_PREFIX = "onefold_leaf_"
"""The beginning of the name of every leaf view. Rights to delete are granted by these prefixes (infra/datasets.tf)."""
KEY_TABLE = "hash_key"
"""The name of the table of the key of clean views, in a dataset of its own."""

_LOWER = {ord(letter): letter.lower() for letter in string.ascii_uppercase}


@dataclass(frozen=True, order=True)
class TableId:
    """The name of a table or view; the project, or project and dataset, may be unknown (None)."""

    project: str | None
    dataset: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.project, self.dataset, self.table) if part)

    @property
    def quoted(self) -> str:
        """The name for SQL.

        Examples:
            >>> TableId("my-project", "shop", "customer").quoted
            '`my-project.shop.customer`'
        """
        return quote(str(self))

    def sibling(self, table: str) -> TableId:
        """Return the name of another table in the same dataset."""
        return TableId(self.project, self.dataset, table)


def versioned_name(base: str, version: str) -> str:
    """Return the name that capture gives to a version. The naming of other datasets is in `versioned_names`.

    Examples:
        >>> versioned_name("customer", "5b6ffe5fb")
        'customer_v_5b6ffe5fb'
    """
    return f"{base}_v_{version}"


def quote(name: str) -> str:
    r"""Return an identifier, or a dotted path, in one pair of backticks.

    Source: GoogleSQL, "Lexical structure", quoted identifiers.

    Examples:
        >>> print(quote("a`b"))
        `a\`b`
    """
    # The backslash first: escaped later, it would escape the escape of a backtick.
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quote_text(text: str) -> str:
    r"""Return a text as a string literal of SQL.

    Examples:
        >>> print(quote_text("it's"))
        'it\'s'
    """
    # A literal in single quotes must not contain a line break.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def quote_redshift(name: str) -> str:
    """Return an identifier of Redshift, which may hold dots, in double quotes.

    Source: Amazon Redshift, "Names and identifiers", delimited identifiers.

    Examples:
        >>> print(quote_redshift("geo.lat"), quote_redshift('a"b'))
        "geo.lat" "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_redshift_text(text: str) -> str:
    """Return a text as a literal of Redshift, which reads a backslash as an escape.

    Examples:
        >>> print(quote_redshift_text("it's"))
        'it''s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def time_literal(time: datetime) -> str:
    """Return a literal of type TIMESTAMP, by which BigQuery can leave out partitions.

    Examples:
        >>> time_literal(datetime(2024, 1, 1, 12, tzinfo=UTC))
        "TIMESTAMP '2024-01-01 12:00:00.000000+00'"
    """
    return f"TIMESTAMP '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"


def fold_case(name: str) -> str:
    """Return a column name in the form by which names are compared.

    GoogleSQL ignores the case of ASCII letters, and of no other letters.

    Examples:
        >>> fold_case("Id") == fold_case("iD"), fold_case("É") == fold_case("é")
        (True, False)
    """
    return name.lower() if name.isascii() else name.translate(_LOWER)


def fold_hidden(name: str) -> str:
    """Return a name in the form by which rules that hide columns compare names: without case, in one form of Unicode.

    MySQL and BigQuery tell `é` as one character from `e` with an accent, which look alike. Who writes a rule means both.

    Examples:
        >>> fold_hidden("CAF\u00c9") == fold_hidden("cafe\u0301")
        True
    """
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def is_at_or_in(path: str, other: str) -> bool:
    """Return whether the path of a column or field is another one, or that of a field in it. Both are without case.

    Examples:
        >>> is_at_or_in("at.zip", "at"), is_at_or_in("at", "at.zip"), is_at_or_in("attic", "at")
        (True, False, False)
    """
    return f"{path}.".startswith(f"{other}.")


def at_and_above(path: str) -> list[str]:
    """Return the path of a column or field, and those of the structs that hold it, the nearest first; all without case.

    Examples:
        >>> at_and_above("Order.at.zip")
        ['order.at.zip', 'order.at', 'order']
    """
    parts = fold_case(path).split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def problems_of_name(kind: str, name: object) -> list[str]:
    """Return why a name from outside is not valid: an empty list where it is safe in SQL.

    Args:
        kind: `project`, `dataset`, `table` or `version`.
        name: the name; a value of another type than text is not valid.
    """
    is_valid, rule = _RULES[kind]
    if isinstance(name, str) and is_valid(name):
        return []
    return [f"{kind} {cut(repr(name))} is not a valid name: use {rule}"]


def check_names(named: Iterable[tuple[str, object]]) -> None:
    """Check (kind, name) pairs.

    Raises:
        InvalidName: names are not valid; the error lists all of them.
    """
    problems = [problem for kind, name in named for problem in problems_of_name(kind, name)]
    if problems:
        raise InvalidName(problems)


def is_table_character(character: str) -> bool:
    """Return whether a table's name may hold a character.

    BigQuery allows letters and digits of any script with their marks (categories L, M and N), `_`, `-` and spaces
    (Google Cloud, BigQuery, "Table naming", https://cloud.google.com/bigquery/docs/tables#table_naming, 2026-11). No
    capture writes a space. Many scripts need marks: without its vowel signs a name in Devanagari is another word.
    """
    return character in "_-" or unicodedata.category(character)[0] in "LMN"


def table_name(source: str) -> str:
    """Return the base name of a source table. Source tables that differ only in other characters share a base name.

    Examples:
        >>> table_name("order line")
        'order_line'
    """
    return "".join(character if is_table_character(character) else "_" for character in source)


def _is_table(name: str) -> bool:
    # The characters first: half of a surrogate pair has no bytes in UTF-8.
    return all(map(is_table_character, name)) and 0 < len(name.encode()) <= _MAX_TABLE_BYTES


_MAX_TABLE_BYTES = 1_024
_RULES: dict[str, tuple[Callable[[str], object], str]] = {
    "project": (_PROJECT.fullmatch, "lower-case letters, digits and hyphens"),
    "dataset": (_DATASET.fullmatch, "letters, digits and underscores"),
    "table": (_is_table, "letters, digits, underscores and hyphens"),
    "version": (_VERSION.fullmatch, "letters, digits, underscores and hyphens"),
}


def leaf_name(view: TableId, text: str) -> str:
    """Return the name of a leaf view: the prefix, a digest of its text, and the name of the unified view.

    The name of the view is last: a digest at the end could be read as the version of a table.

    Examples:
        >>> leaf_name(TableId("p", "shop", "customer_unified"), "SELECT 1")
        'onefold_leaf_e004ebd5b553_customer_unified'
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{LEAF_PREFIX}{digest}_{view.table}"


def is_pattern(name: str) -> bool:
    """Return whether a name is a pattern, as in a shell, which may match many tables or none.

    Examples:
        >>> is_pattern("order_*"), is_pattern("order")
        (True, False)
    """
    return not _OF_PATTERNS.isdisjoint(name)
