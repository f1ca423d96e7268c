"""Partition folders of Hive and Spark: every row below `day=2024-01-01` has that value in the column `day`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.schema.types import STRING, Scalar, Type

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The name of the folder of the rows without a value (Apache Hive, `hive.exec.default.partition.name`)."""

_FOLDER = re.compile(r"(?P<name>[^=/]+)=(?P<value>[^/]*)", re.DOTALL)
# Only the shortest text of a number is a number: `01` and `1` are two folders, and would become one value.
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INT64 = 2**63
_NUMERIC_WHOLE_DIGITS, _NUMERIC_SCALE = 29, 9
Path = Sequence[tuple[str, str]]
"""The partition folders above a file, outermost first: names of columns, and values as the folders spell them."""


@dataclass(frozen=True)
class Partition:
    """A column whose values are in the names of folders.

    type: its type; None where every folder is the one of NULL.
    values: each value as text, by its spelling in the folder's name; None is NULL.
    """

    name: str
    type: Type | None
    values: Mapping[str, str | None]

    def value(self, spelled: str) -> Any:
        """Return the value that a folder spells, as a Python value of the column's type.

        Examples:
            >>> Partition("n", Scalar("INT64"), {"7": "7"}).value("7")
            7
        """
        text = self.values[spelled]
        if text is None:
            return None
        match str(self.type):
            case "INT64":
                return int(text)
            case "NUMERIC":
                return Decimal(text)
            case "DATE":
                return date.fromisoformat(text)
        return text


def folders_above(root: str, file: str) -> Path:
    """Return the partition folders above a file.

    Args:
        root: the folder that is read. Its own last folders count as far as they are partitions, so that
            `--changes changes/day=2024-01-01` has the column that `--changes changes` has.
        file: the path of the file below the root.

    Examples:
        >>> folders_above("/lake/a=1/b=2", "more/c=3/part-0.parquet")
        [('a', '1'), ('b', '2'), ('c', '3')]
    """
    above: list[tuple[str, str]] = []
    for part in reversed(root.rstrip("/").split("/")):
        folder = _FOLDER.fullmatch(part)
        if not folder:
            break
        above.insert(0, (folder["name"], folder["value"]))
    below = (_FOLDER.fullmatch(part) for part in file.split("/")[:-1])
    return [*above, *((folder["name"], folder["value"]) for folder in below if folder)]


def partitions_of(name: str, paths: Mapping[str, Path]) -> tuple[Partition, ...]:
    """Return the columns that the folders above some files have, in the order of the folders.

    Args:
        name: the folder or file that is read, for errors.
        paths: the partition folders above each file, by file.

    Raises:
        InvalidInput: all problems of the folders: a file lacks a folder that others have, a name is repeated or is spelled
            in two ways, a value is empty.
    """
    problems = list(dict.fromkeys(_problems(name, paths)))
    if problems:
        raise InvalidInput(problems)
    spelled: dict[str, dict[str, str | None]] = {}
    for path in paths.values():
        for column, value in path:
            spelled.setdefault(column, {})[value] = decoded(value)
    return tuple(Partition(column, _type_of(values.values()), values) for column, values in spelled.items())


def _problems(name: str, paths: Mapping[str, Path]) -> Iterator[str]:
    spellings: dict[str, str] = {}
    for file, path in paths.items():
        repeated = [one for one, count in Counter(fold_case(column) for column, _ in path).items() if count > 1]
        yield from (f"{name}: the folders of {file} name {one} more than once: rename one" for one in repeated)
        for column, value in path:
            known = spellings.setdefault(fold_case(column), column)
            if known != column:
                yield f"{name}: expected one spelling of a partition column, got {known} and {column}: rename the folders"
            if not value:
                yield f"{name}: expected a value in {column}= above {file}, got none: name it {column}={NULL} for NULL"
    for file, path in paths.items():
        missing = spellings.keys() - {fold_case(column) for column, _ in path}
        if missing:
            names = shown_list(column for key, column in spellings.items() if key in missing)
            yield (
                f"{name}: expected every file in a folder {names}=..., as other files are, got {file}: move it into one, or "
                "name the folders one by one"
            )


def decoded(spelled: str) -> str | None:
    """Return the value that a folder's name spells: `%3A` is a colon, and Hive's folder for NULL is None.

    Examples:
        >>> decoded("10%3A30"), decoded("100%"), decoded(NULL)
        ('10:30', '100%', None)
    """
    if spelled == NULL:
        return None
    try:
        return unquote(spelled, errors="strict")
    except UnicodeDecodeError:  # Hive and Spark escape characters up to U+00FF, not bytes of UTF-8
        return unquote_to_bytes(spelled).decode("latin-1")


def _type_of(values: Iterable[str | None]) -> Type | None:
    """Return the narrowest of INT64, NUMERIC, DATE and STRING that every value has, and None where all are NULL."""
    texts = [value for value in values if value is not None]
    if not texts:
        return None
    for type_, is_one in (("INT64", _is_int64), ("NUMERIC", _is_numeric), ("DATE", _is_date)):
        if all(map(is_one, texts)):
            return Scalar(type_)
    return STRING


def _is_int64(text: str) -> bool:
    return bool(_WHOLE.fullmatch(text)) and -_INT64 <= int(text) < _INT64


def _is_numeric(text: str) -> bool:
    whole, _, fraction = text.lstrip("-").partition(".")
    fits = len(whole) <= _NUMERIC_WHOLE_DIGITS and len(fraction) <= _NUMERIC_SCALE
    return fits and text != "-0" and bool(_FRACTION.fullmatch(text))


def _is_date(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
