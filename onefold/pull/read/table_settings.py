"""A table's settings, held against the table as the source describes it: all problems at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from onefold.changelog import key_columns
from onefold.core.errors import InvalidSettings
from onefold.core.names import fold_hidden
from onefold.core.text import shown_list
from onefold.landing.table import VersionedTable
from onefold.mysql.catalog import ColumnRow, TableDescription
from onefold.mysql.table import INTEGERS, SourceColumn, Structure
from onefold.pull.read.watermark import Kind, Watermark
from onefold.settings.sources import DEFAULT_KEY_OVERLAP, DEFAULT_OVERLAP, TableLoad, WatermarkColumn

_TIMES: dict[str, Kind] = {"timestamp": "timestamp", "datetime": "datetime", "date": "date"}


def pulled_structure(structure: Structure, load: TableLoad) -> Structure:
    """Return a structure without the columns that never leave the source.

    Examples:
        >>> from onefold.mysql.table import SourceType
        >>> whole = Structure("t", (SourceColumn("id", SourceType("int")), SourceColumn("Pan", SourceType("text"))))
        >>> [column.name for column in pulled_structure(whole, TableLoad(drop=("pan",))).columns]
        ['id']
    """
    dropped = set(map(fold_hidden, load.drop))
    return replace(structure, columns=tuple(one for one in structure.columns if fold_hidden(one.name) not in dropped))


def check_settings(structure: Structure, load: TableLoad, keys: Sequence[str]) -> None:
    """Check the settings of a table.

    Args:
        structure: the table's, with all columns.
        load: its settings.
        keys: the columns of its key; empty for a table without one.

    Raises:
        InvalidSettings: the error lists all problems.
    """
    problems = [f"{structure.table}: {problem}" for problem in settings_problems(structure, load, keys)]
    if problems:
        raise InvalidSettings(problems)


def check_keys(target: VersionedTable, load: TableLoad, keys: Sequence[str]) -> None:
    """Check that views can tell the rows of a pulled table apart.

    Args:
        target: the versioned table.
        load: the settings of the table.
        keys: the columns of its key in BigQuery.

    Raises:
        InvalidSettings: the error lists all problems.
    """
    if problems := list(key_problems(target, load, keys)):
        raise InvalidSettings(problems)


def key_problems(target: VersionedTable, load: TableLoad, keys: Sequence[str]) -> Iterator[str]:
    """Yield why columns cannot be the key of an incremental table; the arguments are those of `check_keys`."""
    if load.mode == "incremental":
        for problem in key_columns.key_problems(target.table, target.columns, keys):
            yield f"{problem}: name other `keys` under `tables`, or set `mode: full`"


def settings_problems(structure: Structure, load: TableLoad, keys: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the settings of a table; the arguments are those of `check_settings`."""
    dropped = set(map(fold_hidden, load.drop))
    yield from (
        f"the key has the column {name}, which `drop` names: keep it, or name other `keys` under `tables`"
        for name in dict.fromkeys((*structure.primary_key, *keys))
        if fold_hidden(name) in dropped
    )
    if not {fold_hidden(column.name) for column in structure.columns} - dropped:
        yield "`drop` names every column: leave the table out"
    if load.mode == "incremental":
        yield from _watermark_problems(structure, load, dropped)
        if not keys:
            yield "expected a key for an incremental table, got none: name `keys` under `tables`, or set `mode: full`"


def _watermark_problems(structure: Structure, load: TableLoad, dropped: set[str]) -> Iterator[str]:
    if load.watermark is None:
        yield "an incremental table needs a `watermark`: name a column, or set `mode: full`"
        return
    name = load.watermark.column
    column = find_column(structure, name)
    if column is None:
        yield f"there is no column {name} for the watermark; it has {shown_list(one.name for one in structure.columns)}"
    elif fold_hidden(column.name) in dropped:
        yield f"the watermark {name} is a column that `drop` names: keep it, or name another watermark"
    elif kind_of(column, load.watermark) is None:
        expected = "a whole number" if load.watermark.unix_seconds else "a time, a date or a whole number"
        yield f"the watermark {name} is {column.type}, expected {expected}: name another column, or set `mode: full`"
    elif isinstance(load.pull_overlap, timedelta) != (kind_of(column, load.watermark) != "key") and load.pull_overlap:
        unit = "a time, as 15m" if isinstance(load.pull_overlap, int) else "a number of keys"
        yield f"pull_overlap {load.pull_overlap}: expected {unit} for the watermark {name}"


def find_column(structure: Structure, name: str) -> SourceColumn | None:
    """Return a column by its name without case, as MySQL compares names."""
    return next((column for column in structure.columns if column.name.lower() == name.lower()), None)


def kind_of(column: SourceColumn, named: WatermarkColumn) -> Kind | None:
    """Return the form of a watermark; None for a column that cannot be one."""
    if column.type.name in INTEGERS:
        return "unix_seconds" if named.unix_seconds else "key"
    return None if named.unix_seconds else _TIMES.get(column.type.name)


def watermark_of(structure: Structure, load: TableLoad, zone: str) -> Watermark | None:
    """Return the watermark of a table whose settings were checked; None for a full load.

    Args:
        structure: the table's.
        load: its settings.
        zone: the zone of the source's clock.
    """
    column = find_column(structure, load.watermark.column) if load.watermark and load.mode == "incremental" else None
    if column is None or load.watermark is None:
        return None
    kind = kind_of(column, load.watermark)
    return Watermark(column.name, kind, column.type.size or 0, zone) if kind else None


def overlap_of(watermark: Watermark, load: TableLoad) -> int:
    """Return what is read again below the watermark: microseconds, or a number of keys."""
    if not watermark.is_time:
        return load.pull_overlap if isinstance(load.pull_overlap, int) else DEFAULT_KEY_OVERLAP
    overlap = load.pull_overlap if isinstance(load.pull_overlap, timedelta) else DEFAULT_OVERLAP
    return overlap // timedelta(microseconds=1)


def appends_nulls_only(before: Structure, after: Structure, rows: Sequence[ColumnRow]) -> bool:
    """Return whether a structure differs from an older one by columns at its end alone that are NULL in every older row.

    Args:
        before: the older structure.
        after: the present one.
        rows: the present columns as the source describes them.
    """
    known = len(before.columns)
    if after.columns[:known] != before.columns or after.primary_key != before.primary_key:
        return False
    added = {column.name for column in after.columns[known:]}
    return all(_is_null_in_older_rows(row) for row in rows if row.column in added)


def _is_null_in_older_rows(row: ColumnRow) -> bool:
    # MariaDB shows the default NULL as an expression.
    has_default = row.default is not None and row.default.upper() != "NULL"
    return row.nullable == "YES" and not has_default and "GENERATED" not in row.extra.upper()


def structure_from_json(value: dict[str, object]) -> Structure:
    """Return the structure that `dataclasses.asdict` turned into JSON."""
    from onefold.mysql.table import SourceType

    columns = tuple(
        SourceColumn(one["name"], SourceType(**one["type"]), one["charset"], tuple(one["values"]))
        for one in value["columns"]  # type: ignore[attr-defined]
    )
    return Structure(str(value["table"]), columns, tuple(value["primary_key"]))  # type: ignore[arg-type]


def describes_same(one: TableDescription | None, structure: Structure, load: TableLoad) -> bool:
    """Return whether a table still has the structure with which its rows were read."""
    present = one.structure if one else None
    return present is not None and pulled_structure(present, load) == structure
