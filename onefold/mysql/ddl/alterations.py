"""The alterations of a table whose effect on stored rows depends on the structure that the table had before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onefold.mysql.ddl.column_definition import ColumnDefinition, column_definition
from onefold.mysql.ddl.tokens import Word
from onefold.mysql.ddl.word_sequence import key_at, skip


@dataclass(frozen=True)
class ColumnAdded:
    """A column that is NULL in existing rows."""

    name: str


@dataclass(frozen=True)
class ColumnDropped:
    """A column that is gone."""

    name: str


@dataclass(frozen=True)
class ColumnModified:
    """A column of the same name with another definition, which may be equal to the former one."""

    name: str
    definition: ColumnDefinition


@dataclass(frozen=True)
class IndexAltered:
    """An index that is or was unique: it may be the key that identifies rows."""


@dataclass(frozen=True)
class CharsetConverted:
    """Another character set for all text of the table."""

    charset: str


Alteration = ColumnAdded | ColumnDropped | ColumnModified | IndexAltered | CharsetConverted

_OTHER_DROPS = ("PRIMARY", "PARTITION", "SYSTEM", "PERIOD")


def dropped(part: Sequence[Word]) -> tuple[Alteration, ...] | None:
    """Read the words behind DROP. None where rows or the key change for sure, or the words are not understood."""
    first = key_at(part, 0)
    if first in ("CHECK", "FOREIGN"):
        return ()
    if first in ("INDEX", "KEY", "CONSTRAINT"):
        at = skip(part, 1, "IF", "EXISTS")
        return (IndexAltered(),) if at < len(part) and part[at].text.upper() != "PRIMARY" else None
    at = skip(part, 1 if first == "COLUMN" else 0, "IF", "EXISTS")
    end = skip(part, at + 1, "RESTRICT", "CASCADE")
    if first in _OTHER_DROPS or at >= len(part) or end != len(part) or not part[at].is_name:
        return None
    return (ColumnDropped(part[at].text),)


def modified(part: Sequence[Word]) -> tuple[Alteration, ...] | None:
    """Read the words behind MODIFY or CHANGE of one name. None where they are not understood."""
    at = skip(part, 1 if key_at(part, 0) == "COLUMN" else 0, "IF", "EXISTS")
    if at >= len(part) or not part[at].is_name:
        return None
    definition = column_definition(part[at + 1 :])
    return (ColumnModified(part[at].text, definition),) if definition else None


def changed(part: Sequence[Word]) -> tuple[Alteration, ...] | None:
    """Read the words behind CHANGE. None where the column gets another name, or the words are not understood."""
    at = skip(part, 1 if key_at(part, 0) == "COLUMN" else 0, "IF", "EXISTS")
    if len(part) < at + 2 or part[at].text != part[at + 1].text:
        return None
    return modified(part[at + 1 :])


def converted(part: Sequence[Word]) -> tuple[Alteration, ...] | None:
    """Read the words behind CONVERT. None where they are not understood."""
    at = 1 if key_at(part, 0) == "TO" else len(part)
    at += {"CHARSET": 1, "CHARACTER": 2}.get(key_at(part, at), len(part))
    is_last = at + 1 == len(part) or (at + 3 == len(part) and key_at(part, at + 1) == "COLLATE")
    if not is_last or key_at(part, at) == "DEFAULT":
        return None
    return (CharsetConverted(part[at].text.lower()),)


def columns_added(columns: Sequence[Sequence[Word]]) -> Iterator[Alteration]:
    """Yield the columns of ADD COLUMN."""
    return (ColumnAdded(column[0].text) for column in columns if column)
