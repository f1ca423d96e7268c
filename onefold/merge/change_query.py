"""Rows in the form of a base, as SQL: those of change tables, and those of a copy of the source.

Each value is converted from the type in which it landed to its unified type in one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from textwrap import indent

from onefold.changelog.digest import LENGTH
from onefold.changelog.metadata import LANDED_AT, is_deletion, is_of_unknown_type, position_of, source_columns
from onefold.changelog.position import is_ordered_by_text_sql
from onefold.core.errors import LimitExceeded, SchemaConflict
from onefold.core.names import TableId, fold_case, quote, quote_text, time_literal
from onefold.merge.base_table import DELETED, POSITION, BaseTable, same_key
from onefold.merge.change_tables import ChangeTable
from onefold.merge.merge_log import floor_sql
from onefold.merge.reading import Way, condition_sql, item_sql
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import is_at_or_below
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.types import Scalar, Type

# Google Cloud, BigQuery, "Quotas and limits" (https://cloud.google.com/bigquery/quotas): 1 MB of a query's text; 1,000
# tables of a query. The base and the log are among these tables.
MAX_QUERY = 1_000_000
MAX_TABLES = 990

_TIMESTAMP = Scalar("TIMESTAMP")
UNKNOWN_TYPE = "_onefold_unknown_type"
"""The column that says whether the `change_type` of a change is not documented, in rows that are counted."""
_CHANGES, _DISPUTED, _KNOWN = "_onefold_changes", "_onefold_disputed", "_onefold_known"
_TEXT, _EXAMPLE = "_onefold_text", "_onefold_example"


def changes_query(changes: Iterable[ChangeTable], base: BaseTable, rules: TableRules, only_keys: bool = False) -> str:
    """Return a query of changes in the columns of the base, any number per key.

    Args:
        changes: the change tables, each with its window.
        base: the base table.
        rules: the settings of the table, for conversions.
        only_keys: leave out the source's columns but the key, and add `UNKNOWN_TYPE`, for queries that count.
    """
    columns = base.key_columns if only_keys else base.columns
    return _UNION.join(_branch(source, columns, rules, with_unknown=only_keys) for source in changes)


def finished_changes_query(source: ChangeTable, base: BaseTable, rules: TableRules) -> str:
    """Return a query of the changes of one table in the columns of the base, with `UNKNOWN_TYPE`.

    Args:
        source: the change table, with its window.
        base: the base table.
        rules: the settings of the table, for conversions.
    """
    return _branch(source, base.columns, rules, with_unknown=True)


def in_statements(changes: Sequence[ChangeTable], base: BaseTable, rules: TableRules) -> Iterator[list[ChangeTable]]:
    """Yield groups of change tables whose query fits one statement. There is nearly always one group.

    Merging one group after the other gives the same base as merging all at once.

    Args:
        changes: the change tables.
        base: the base table.
        rules: the settings of the table, for conversions.

    Raises:
        LimitExceeded: a change table has more columns than a query can hold.
    """
    group: list[ChangeTable] = []
    size = 0
    for source in changes:
        length = len(_branch(source, base.columns, rules)) + len(_UNION)
        # What the MERGE adds: the comparison of keys and their bounds, four mentions of each column, its fixed words, and
        # those that pack.
        keys = 2 * len(same_key(base, "b", "c")) + 400 * len(base.keys)
        room = MAX_QUERY - keys - sum(4 * len(column.name) + 50 for column in base.stored) - 2_000
        room -= 2_000 if base.packed else 0
        if length > room:
            raise LimitExceeded(
                f"{source.id}: expected columns that fit a query of {MAX_QUERY} characters, got "
                f"{len(source.version.columns)} columns: `retire` the version in onefold.yaml"
            )
        if group and (size + length > room or len(group) == MAX_TABLES):
            yield group
            group, size = [], 0
        group.append(source)
        size += length
    if group:
        yield group


def count_query(base: BaseTable, rows: str, with_floor: bool, with_unknown: bool = False) -> str:
    """Return a query that counts changes, keys, disputed changes, keys below the floor, and changes to be warned of.

    Args:
        base: the base table.
        rows: a query of changes with key, position and deletion.
        with_floor: whether there is a floor. A key below the floor is one that the base does not have, whose newest change
            is at or below the floor.
        with_unknown: whether the rows have `UNKNOWN_TYPE`.
    """
    unknown_type = f"COUNTIF(r.{UNKNOWN_TYPE})" if with_unknown else "0"
    by_key = ", ".join(quote(key) for key in base.keys)
    # The digest is the last part of a position; rows of a copy have none. Changes that differ in nothing else are disputed.
    without_digest = f"REGEXP_REPLACE(r.{POSITION}, r' [0-9a-f]{{{LENGTH}}}$', '')"
    per_position = (
        f"SELECT {', '.join(f'r.{quote(key)}' for key in base.keys)}, COUNT(*) AS {_CHANGES}, "
        f"COUNT(DISTINCT r.{POSITION}) - 1 AS {_DISPUTED}, {unknown_type} AS {UNKNOWN_TYPE}, "
        f"MAX(r.{POSITION}) AS {POSITION}\n"
        f"FROM (\n{indent(rows, '  ')}\n) AS r\nGROUP BY {', '.join(f'r.{quote(key)}' for key in base.keys)}, "
        f"{without_digest}"
    )
    text = is_ordered_by_text_sql(POSITION)
    per_key = (
        f"SELECT {by_key}, SUM({_CHANGES}) AS {_CHANGES}, SUM({_DISPUTED}) AS {_DISPUTED}, MAX({POSITION}) AS {POSITION}, "
        f"SUM({UNKNOWN_TYPE}) AS {UNKNOWN_TYPE}, "
        f"SUM(IF({text}, {_CHANGES}, 0)) AS {_TEXT}, MIN(IF({text}, {POSITION}, NULL)) AS {_EXAMPLE}\n"
        f"FROM (\n{indent(per_position, '  ')}\n)\nGROUP BY {by_key}"
    )
    unknown = f"COUNTIF(b.{_KNOWN} IS NULL AND c.{POSITION} <= {floor_sql(base.log)})" if with_floor else "0"
    known = f"SELECT {by_key}, TRUE AS {_KNOWN} FROM {base.id.quoted}"
    return (
        f"SELECT IFNULL(SUM(c.{_CHANGES}), 0) AS changes, COUNT(c.{_CHANGES}) AS `keys`, "
        f"IFNULL(SUM(c.{_DISPUTED}), 0) AS disputed, {unknown} AS below_floor, "
        f"IFNULL(SUM(c.{_TEXT}), 0) AS ordered_by_text, IFNULL(SUM(c.{UNKNOWN_TYPE}), 0) AS unknown_types, "
        f"REGEXP_EXTRACT(MIN(c.{_EXAMPLE}), r'^.([^ ]*)') AS text_example\n"
        f"FROM (\n{indent(per_key, '  ')}\n) AS c"
        + (f"\nLEFT JOIN ({known}) AS b ON {same_key(base, 'b', 'c')}" if with_floor else "")
    )


def snapshot_query(snapshot: TableId, columns: Sequence[Column], base: BaseTable, position: str, rules: TableRules) -> str:
    """Return a query of the rows of a copy of the source in the columns of the base, all with one position.

    Args:
        snapshot: the table with the copy.
        columns: the columns of the copy.
        base: the base table.
        position: the position of every row.
        rules: the settings of the table, for conversions.

    Raises:
        SchemaConflict: the copy has columns that the base does not have or whose values would not fit, or lacks a key.
    """
    known, copied = Schema(base.columns), Schema(columns)
    problems = [
        f"{snapshot}: no version of {base.table} has a column {column.name}; leave it out of the copy"
        for column in copied.minus(known.names)
    ]
    problems += [
        f"{snapshot}: column {column.name} is {column.type}, which does not fit {target.type}; "
        "cast it in the copy, or set the column's type in onefold.yaml"
        for column in copied
        if (target := known.get(column.name)) and not is_at_or_below(column.type, target.type)
    ]
    problems += [f"{snapshot} has no column {key} for the key" for key in base.keys if not copied.has(key)]
    if problems:
        raise SchemaConflict(problems)
    items = _items(copied, base.columns, rules, None)
    return _select([*items, f"{quote_text(position)} AS {POSITION}", f"FALSE AS {DELETED}"], snapshot.quoted)


def repeated_keys_query(base: BaseTable, rows: str) -> str:
    """Return a query that counts the keys that several rows have."""
    by_key = ", ".join(f"r.{quote(key)}" for key in base.keys)
    return f"SELECT COUNT(*) AS found FROM (\n  SELECT 1 FROM (\n{rows}\n  ) AS r GROUP BY {by_key} HAVING COUNT(*) > 1\n)"


def window_sql(
    row: str, since: datetime | None, until: datetime | None = None, type_: Type = _TIMESTAMP, column: str = LANDED_AT
) -> str | None:
    """Return a condition for rows that landed between these times, or without a time; None where there is no bound.

    Args:
        row: the alias of the row with a dot, such as `v.`, or an empty text.
        since: the first time of landing that is read.
        until: the first time of landing that is not read any more.
        type_: the type of the times of landing. A date or a text is read in UTC, as the Spark job does in files.
        column: the column with the time of landing.

    Examples:
        >>> from datetime import UTC
        >>> window_sql("v.", datetime(2024, 1, 1, tzinfo=UTC))
        "v.`_landed_at` >= TIMESTAMP '2024-01-01 00:00:00.000000+00' OR v.`_landed_at` IS NULL"
    """
    landed = f"{row}{quote(column)}"
    time = landed if type_ == _TIMESTAMP else f"CAST({landed} AS TIMESTAMP)"
    bounds = [f"{time} {sign} {time_literal(bound)}" for sign, bound in ((">=", since), ("<", until)) if bound]
    return f"{' AND '.join(bounds)} OR {landed} IS NULL" if bounds else None


def table_window(row: str, source: ChangeTable) -> str | None:
    """Return the condition of `window_sql` for the window of a change table; of a plain one, that of the way it is read.

    Args:
        row: the alias of the row with a dot, or an empty text.
        source: the change table.
    """
    if source.way == "landed" and source.reading and (column := source.reading.landed):
        return window_sql(row, source.since, None, column.type, column.name)
    if source.way:
        return condition_sql(row, source.way, source.since)
    landed_at = source.version.schema.get(LANDED_AT)
    return window_sql(row, source.since, source.until, landed_at.type if landed_at else _TIMESTAMP)


def rows_since(source: ChangeTable, time: datetime) -> str:
    """Return the condition on the rows `v` of a table that tell when they came: at a time or later, or they do not say when.

    Args:
        source: the change table.
        time: the time.
    """
    reading = source.reading
    way: Way | None = None if reading is None else "landed" if reading.landed else "partition"
    return table_window("v.", replace(source, since=time, until=None, way=way)) or "TRUE"


_UNION = "\nUNION ALL\n"


def _branch(source: ChangeTable, columns: Sequence[Column], rules: TableRules, *, with_unknown: bool = False) -> str:
    landed = source.version.schema
    items = [
        *_items(landed, columns, rules, source.version.id),
        f"{position_of('v', landed, source_columns(landed))} AS {POSITION}",
        f"{is_deletion('v')} AS {DELETED}",
        *([f"{is_of_unknown_type('v')} AS {UNKNOWN_TYPE}"] if with_unknown else []),
    ]
    window = table_window("v.", source)
    return _select(items, item_sql(source.id, source.way, source.since)) + (f"\nWHERE {window}" if window else "")


def _items(landed: Schema, columns: Sequence[Column], rules: TableRules, version: str | None) -> Iterator[str]:
    for column in columns:
        found = landed.get(column.name)
        if found:
            value = convert(f"v.{quote(found.name)}", landed_type(found, rules), column.type, rules.time_zone)
        elif version and rules.version_column and fold_case(column.name) == fold_case(rules.version_column):
            value = quote_text(version)
        else:
            value = typed_null(column.type)
        yield f"{value} AS {quote(column.name)}"


def _select(items: Sequence[str], item: str) -> str:
    return f"SELECT\n  {(',' + chr(10) + '  ').join(items)}\nFROM {item} AS v"
