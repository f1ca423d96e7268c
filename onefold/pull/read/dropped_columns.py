"""Columns that never leave the source, across changes of their table: a rename must not bring them out."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile

from onefold.core.errors import TableRefused
from onefold.core.names import fold_hidden
from onefold.core.text import shown_list
from onefold.mysql.catalog import ColumnRow, TableName
from onefold.mysql.ghost_tables import originals
from onefold.mysql.table import Structure
from onefold.pull.read.plan import LoadState
from onefold.settings.sources import Source, TableLoad

Columns = Mapping[str, tuple[str, str]]
"""The digest and the name of each column, by its folded name, in order."""


def dropped_columns(structure: Structure, load: TableLoad) -> tuple[str, ...]:
    """Return the columns of a table that `drop` names, in the table's spelling.

    Args:
        structure: the table's, with all columns.
        load: its settings.
    """
    ruled = set(map(fold_hidden, load.drop))
    return tuple(column.name for column in structure.columns if fold_hidden(column.name) in ruled)


def described(rows: Iterable[ColumnRow]) -> tuple[str, ...]:
    """Return the name of each column of a table, in order, behind a digest of all else that the source says about it.

    Args:
        rows: the columns.
    """
    return tuple(f"{_digest(row)} {row.column}" for row in rows)


def _digest(row: ColumnRow) -> str:
    said = (row.column_type, row.charset, row.collation, row.nullable, row.default, row.extra, row.expression, row.comment)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


def check_renamed(name: TableName, shown: Sequence[str], load: TableLoad, keys: Sequence[str], state: LoadState) -> None:
    """Check that no column that `drop` names may have got another name since the last load.

    A pull sees structures, and no statements: a column that is gone, and one that is new or described otherwise, may be the
    same column. Two that have changed sides, or descriptions, may have exchanged their names. A column that is gone alone
    needs nothing.

    Args:
        name: the table.
        shown: its columns, as `described` has them.
        load: its settings.
        keys: the columns of its key.
        state: what the log of loads knows.

    Raises:
        TableRefused: names the columns, and the line to add.
    """
    now, was, ruled = _by_name(shown), _by_name(state.described), set(map(fold_hidden, load.drop))
    former = {fold_hidden(one): one for one in state.dropped if fold_hidden(one) in ruled}
    known = {fold_hidden(one) for one in (*state.columns, *state.dropped)} | ruled
    lost = [name for one, name in former.items() if one not in now]
    landing = [one for one in now if one not in ruled]
    if lost and (new := [now[one][1] for one in landing if one not in known or _differs(one, was, now)]):
        raise TableRefused(
            f"{name}: {shown_list(lost)}, which `drop` names, is gone; {shown_list(new)} is new or described otherwise, and "
            "may hold the same values",
            f"{_with(load, new)}, or, if it holds other values, take {shown_list(lost)} out of `drop`",
        )
    needed = set(map(fold_hidden, (*keys, *([load.watermark.column] if load.watermark else ()))))
    for one in former.keys() & was.keys() & now.keys():
        # `drop` cannot name a column that is needed: one that is described as ever, and not like this one, has only moved.
        same = {other for other in needed & was.keys() & now.keys() if now[other][0] == was[other][0] != was[one][0]}
        moved, new = _moved(one, was, now, ruled), [other for other in landing if other not in known]
        doubted = (moved - same) | _exchanged(one, was, now, ruled) | _in_place(one, was, now, new)
        alike = {other for other in new if _differs(one, was, now) and now[other][0] == was[one][0]}
        # Where it may be another column by now, a new one may be what it was.
        if doubted := doubted | alike | set(new if doubted or moved else ()):
            others = [now[other][1] for other in landing if other in doubted]
            raise TableRefused(*_exchange(name, load, former[one], others))


def _exchange(name: TableName, load: TableLoad, one: str, others: Sequence[str]) -> tuple[str, str]:
    new = shown_list(others)
    return (
        f"{name}: {one}, which `drop` names, and {new} have other places or types than before, and may have exchanged their "
        "names",
        f"{_with(load, others)}; if each is the column that it was, take {new} out again after one pull",
    )


def _by_name(shown: Iterable[str]) -> Columns:
    pairs = (one.split(" ", 1) for one in shown)
    return {fold_hidden(name): (digest, name) for digest, name in pairs}


def _differs(one: str, was: Columns, now: Columns) -> bool:
    return one in was and was[one][0] != now[one][0]


def _moved(one: str, was: Columns, now: Columns, ruled: Collection[str]) -> set[str]:
    """Return the columns that land, and that have got to the other side of one that does not."""
    both = (was.keys() & now.keys()) - set(ruled)
    before, after = ({other for other in takewhile(one.__ne__, columns) if other in both} for columns in (was, now))
    return before ^ after


def _in_place(one: str, was: Columns, now: Columns, new: Iterable[str]) -> set[str]:
    """Return the new columns that are where one was that does not land, and that now comes after them.

    It may have been renamed, and a column with its former name been added.
    """
    both = (was.keys() & now.keys()) - {one}
    before = {other for other in takewhile(one.__ne__, was) if other in both}
    ahead = list(takewhile(one.__ne__, now))
    return {
        other for other in new if other in ahead and {left for left in ahead[: ahead.index(other)] if left in both} == before
    }


def _exchanged(one: str, was: Columns, now: Columns, ruled: Collection[str]) -> set[str]:
    """Return the columns that land and are described now as one was that does not land, and that is another one by now."""
    others = (other for other in was.keys() & now.keys() if other not in ruled and _differs(other, was, now))
    return {other for other in others if _differs(one, was, now) and now[other][0] == was[one][0]}


def _with(load: TableLoad, new: Iterable[str]) -> str:
    return f"set `drop: [{', '.join(dict.fromkeys((*load.drop, *new)))}]` for the table in onefold.yaml"


def is_redescribed(structure: Structure, shown: Sequence[str], state: LoadState) -> bool:
    """Return whether a column that lands is described otherwise than at the last load: its values may have changed.

    An ALTER may change another expression, take NULL away, or make a column anew with another default, and the structure
    stays the same.

    Args:
        structure: that of the table, without columns that `drop` names.
        shown: all columns, as `described` has them.
        state: what the log of loads knows.
    """
    now, was = _by_name(shown), _by_name(state.described)
    return any(_differs(fold_hidden(column.name), was, now) for column in structure.columns)


def check_no_ghost(name: TableName, load: TableLoad, source: Source) -> None:
    """Check that a table that is pulled for the first time is none that a tool makes beside one whose columns `drop` names.

    Args:
        name: the table.
        load: its settings.
        source: the source.

    Raises:
        TableRefused: names both tables, and the line to add.
    """
    ruled = set(map(fold_hidden, load.drop))
    for original in originals(name.table):
        of_original = source.settings_of(name.database, original)
        if of_original and (more := [column for column in of_original.drop if fold_hidden(column) not in ruled]):
            raise TableRefused(
                f"{name}: tools for schema changes give this name to a copy of {name.database}.{original}, and it may hold "
                f"what `drop` names there: {shown_list(more)}",
                _own_entry(name),
            )


def check_no_copy(name: TableName, structure: Structure, load: TableLoad, others: Iterable[LoadState]) -> None:
    """Check that a table that is pulled for the first time is no other one, or a copy, with columns that `drop` names.

    A rename, a swap and an online schema change give the rows of a table another name, by which `drop` does not know them. A
    table that has every column of another one, and more that would land, may hold its rows.

    Args:
        name: the table.
        structure: its structure, with all columns.
        load: its settings.
        others: what the log of loads knows of the other tables.

    Raises:
        TableRefused: names both tables, and the line to add.
    """
    ruled = set(map(fold_hidden, load.drop))
    landing = {
        fold_hidden(column.name): column.name for column in structure.columns if fold_hidden(column.name) not in ruled
    }
    for other in others:
        known = set(map(fold_hidden, other.columns))
        more = [column for folded, column in landing.items() if folded not in known]
        if other.dropped and known and known <= landing.keys() | ruled and more:
            of, dropped, new = f"{name.database}.{other.source_table}", shown_list(other.dropped), shown_list(more)
            raise TableRefused(
                f"{name}: it has every column of {of}, and {new} besides, and may hold what `drop` names there: {dropped}",
                _own_entry(name),
            )


def _own_entry(name: TableName) -> str:
    return (
        f"name {name.table} under `tables` in onefold.yaml, before every pattern that matches it, with `drop` of what must "
        "not land; or name it under `exclude`"
    )
