"""Rows as a base would hold them, as SQL: those of change tables, each value converted in one step, and of a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from textwrap import indent

from onefold.changelog.digest import LENGTH
from onefold.changelog.metadata import LANDED_AT, is_deletion, metadata_problems, position_of, source_columns
from onefold.changelog.position import is_ordered_by_text_sql
from onefold.core.errors import LimitExceeded, SchemaConflict
from onefold.core.names import TableId, fold_case, quote, quote_text
from onefold.merge.base_table import DELETED, POSITION, BaseTable, same_key
from onefold.merge.merge_log import MergeState, floor_sql, time_literal
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column
from onefold.schema.common_type import is_at_or_below
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar
from onefold.schema.versions import Version

# BigQuery, "Quotas and limits": 1 MB of a query's text; 1,000 tables of a query, the base and the log among them.
MAX_QUERY = 1_000_000
MAX_TABLES = 990

_TIMESTAMP = Scalar("TIMESTAMP")
_CHANGES, _DISPUTED, _KNOWN = "_onefold_changes", "_onefold_disputed", "_onefold_known"
_TEXT, _EXAMPLE = "_onefold_text", "_onefold_example"


@dataclass(frozen=True)
class ChangeTable:
    """A change table, in one version, and the times of landing between which it is read; None for no bound."""

    id: TableId
    version: Version
    since: datetime | None = None
    until: datetime | None = None

    def windowed(self, state: MergeState, overlap: timedelta) -> ChangeTable:
        """Read from where the last merge of this version started, less an overlap; wholly where there was none."""
        start = state.start_of(self.version.id) if _landing(self.version.columns) else None
        return ChangeTable(self.id, self.version, start - overlap if start else None)


def check_changes(changes: Iterable[ChangeTable], keys: Sequence[str]) -> None:
    """Raise SchemaConflict with everything that keeps rows of these tables from being merged."""
    problems: list[str] = []
    for source in changes:
        known = {fold_case(column.name) for column in source.version.columns}
        problems += metadata_problems(str(source.id), source.version.columns)
        # Every row of it would be a row of the key NULL.
        problems += [
            f"{source.id} has no column {key} for the key; `retire` the version in onefold.yaml, or name other keys"
            for key in keys
            if fold_case(key) not in known
        ]
    if problems:
        raise SchemaConflict(problems)


def changes_query(changes: Iterable[ChangeTable], base: BaseTable, rules: TableRules, only_keys: bool = False) -> str:
    """The changes as rows of the base, any number per key.

    Args:
        only_keys: of the source's columns no more than the key, for counting.
    """
    columns = base.key_columns if only_keys else base.columns
    return _UNION.join(_branch(source, columns, rules) for source in changes)


def in_statements(changes: Sequence[ChangeTable], base: BaseTable, rules: TableRules) -> Iterator[list[ChangeTable]]:
    """Groups whose query fits a statement: nearly always one. Merging one after the other gives the same as all at once."""
    group: list[ChangeTable] = []
    size = 0
    for source in changes:
        length = len(_branch(source, base.columns, rules)) + len(_UNION)
        room = MAX_QUERY - len(same_key(base, "b", "c")) - sum(4 * len(column.name) + 50 for column in base.stored) - 2_000
        if length > room:
            raise LimitExceeded(f"{source.id}: its {len(source.version.columns)} columns do not fit a query of {MAX_QUERY}")
        if group and (size + length > room or len(group) == MAX_TABLES):
            yield group
            group, size = [], 0
        group.append(source)
        size += length
    if group:
        yield group


def count_query(base: BaseTable, rows: str, with_floor: bool) -> str:
    """Changes, keys, disputed changes, keys below the floor that the base does not have, changes ordered by text."""
    by_key = ", ".join(quote(key) for key in base.keys)
    # Rows of a copy have no digest.
    place = f"REGEXP_REPLACE(r.{POSITION}, r' [0-9a-f]{{{LENGTH}}}$', '')"
    places = (
        f"SELECT {', '.join(f'r.{quote(key)}' for key in base.keys)}, COUNT(*) AS {_CHANGES}, "
        f"COUNT(DISTINCT r.{POSITION}) - 1 AS {_DISPUTED}, MAX(r.{POSITION}) AS {POSITION}\n"
        f"FROM (\n{indent(rows, '  ')}\n) AS r\nGROUP BY {', '.join(f'r.{quote(key)}' for key in base.keys)}, {place}"
    )
    text = is_ordered_by_text_sql(POSITION)
    per_key = (
        f"SELECT {by_key}, SUM({_CHANGES}) AS {_CHANGES}, SUM({_DISPUTED}) AS {_DISPUTED}, MAX({POSITION}) AS {POSITION}, "
        f"SUM(IF({text}, {_CHANGES}, 0)) AS {_TEXT}, MIN(IF({text}, {POSITION}, NULL)) AS {_EXAMPLE}\n"
        f"FROM (\n{indent(places, '  ')}\n)\nGROUP BY {by_key}"
    )
    unknown = f"COUNTIF(b.{_KNOWN} IS NULL AND c.{POSITION} <= {floor_sql(base.log)})" if with_floor else "0"
    known = f"SELECT {by_key}, TRUE AS {_KNOWN} FROM {base.id.quoted}"
    return (
        f"SELECT IFNULL(SUM(c.{_CHANGES}), 0) AS changes, COUNT(c.{_CHANGES}) AS `keys`, "
        f"IFNULL(SUM(c.{_DISPUTED}), 0) AS disputed, {unknown} AS below_floor, "
        f"IFNULL(SUM(c.{_TEXT}), 0) AS ordered_by_text, REGEXP_EXTRACT(MIN(c.{_EXAMPLE}), r'^.([^ ]*)') AS text_example\n"
        f"FROM (\n{indent(per_key, '  ')}\n) AS c"
        + (f"\nLEFT JOIN ({known}) AS b ON {same_key(base, 'b', 'c')}" if with_floor else "")
    )


def snapshot_query(snapshot: TableId, columns: Sequence[Column], base: BaseTable, position: str, rules: TableRules) -> str:
    """Rows of a copy of the source as rows of the base, all of one position.

    Raises:
        SchemaConflict: columns that the base does not have, or whose values would not fit it; a key that it lacks.
    """
    known = {fold_case(column.name): column for column in base.columns}
    problems = [
        f"{snapshot}: no version of {base.table} has a column {column.name}; leave it out of the copy"
        for column in columns
        if fold_case(column.name) not in known
    ]
    problems += [
        f"{snapshot}: column {column.name} is {column.type}, which does not fit {known[fold_case(column.name)].type}; "
        "cast it in the copy, or set the column's type in onefold.yaml"
        for column in columns
        if fold_case(column.name) in known and not is_at_or_below(column.type, known[fold_case(column.name)].type)
    ]
    found = {fold_case(column.name) for column in columns}
    problems += [f"{snapshot} has no column {key} for the key" for key in base.keys if fold_case(key) not in found]
    if problems:
        raise SchemaConflict(problems)
    items = _items(columns, base.columns, rules, None)
    return _select([*items, f"{quote_text(position)} AS {POSITION}", f"FALSE AS {DELETED}"], snapshot)


def window_sql(row: str, since: datetime | None, until: datetime | None = None) -> str | None:
    """Rows that landed between these times, and those of which nobody knows when; None where there is no bound.

    Args:
        row: what qualifies the column, as `v.`, or nothing.
    """
    landed = f"{row}{quote(LANDED_AT)}"
    bounds = [f"{landed} {sign} {time_literal(time)}" for sign, time in ((">=", since), ("<", until)) if time]
    return f"{' AND '.join(bounds)} OR {landed} IS NULL" if bounds else None


_UNION = "\nUNION ALL\n"


def _branch(source: ChangeTable, columns: Sequence[Column], rules: TableRules) -> str:
    landed = source.version.columns
    items = [
        *_items(landed, columns, rules, source.version.id),
        f"{position_of('v', landed, source_columns(landed))} AS {POSITION}",
        f"{is_deletion('v')} AS {DELETED}",
    ]
    window = window_sql("v.", source.since, source.until)
    return _select(items, source.id) + (f"\nWHERE {window}" if window else "")


def _items(landed: Sequence[Column], columns: Sequence[Column], rules: TableRules, version: str | None) -> Iterator[str]:
    by_name = {fold_case(column.name): column for column in landed}
    for column in columns:
        found = by_name.get(fold_case(column.name))
        if found:
            value = convert(f"v.{quote(found.name)}", found.type, column.type, rules.time_zone)
        elif version and rules.version_column and fold_case(column.name) == fold_case(rules.version_column):
            value = quote_text(version)
        else:
            value = typed_null(column.type)
        yield f"{value} AS {quote(column.name)}"


def _select(items: Sequence[str], table: TableId) -> str:
    return f"SELECT\n  {(',' + chr(10) + '  ').join(items)}\nFROM {table.quoted} AS v"


def _landing(columns: Iterable[Column]) -> bool:
    return any(fold_case(column.name) == LANDED_AT and column.type == _TIMESTAMP for column in columns)
