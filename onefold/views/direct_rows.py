"""The latest row of each key where services write rows themselves, without change metadata.

Such rows do not say which of them is the latest. The greatest values of the columns that the settings name decide
(`order_by`), then the later version, then a digest of the row, so that every query shows the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from onefold.changelog.digest import digest_sql
from onefold.changelog.key_columns import key_problems
from onefold.changelog.metadata import LANDED_AT, source_columns
from onefold.changelog.position import natural_sql
from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case, quote
from onefold.core.text import shown_list
from onefold.merge.base_table import free_name
from onefold.merge.change_tables import ChangeTable, key_is_missing
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Array, Struct, Type
from onefold.schema.versions import Version
from onefold.views.current_text import keys_comment
from onefold.views.united_tools import tool_problems

_NOT_ORDERED = frozenset({"GEOGRAPHY", "JSON"})
"""GoogleSQL, "Orderable data types": all others, except ARRAY and STRUCT."""
_VERSION = "_onefold_version"
_DIGITS = re.compile("[0-9]+")
"""Versions that differ in nothing but numbers, such as dates, have an order. Hashes differ in letters, too."""


def with_version(rules: TableRules, versions: Iterable[Version]) -> TableRules:
    """Return the rules with a column for the version of each row, which the order needs.

    Args:
        rules: the settings of the table, which may name such a column themselves.
        versions: the versions, whose columns have other names.
    """
    if rules.version_column:
        return rules
    # Hundreds of versions may have hundreds of columns each, which need not be in one list.
    columns = (column for version in versions for column in version.columns)
    taken = [column for column in columns if fold_case(column.name).startswith(_VERSION)]
    return replace(rules, version_column=free_name(_VERSION, taken))


def check_direct(
    table: TableId, columns: Sequence[Column], changes: Iterable[ChangeTable], keys: Sequence[str], order_by: Sequence[str]
) -> None:
    """Check that the rows of direct writers have a latest one for each key.

    Args:
        table: the base name, for errors.
        columns: the unified columns.
        changes: the tables.
        keys: the columns of the key.
        order_by: the columns that say which row is the latest.

    Raises:
        SchemaConflict: everything that keeps the rows from having it.
    """
    changes = list(changes)
    problems = [*key_problems(str(table), columns, keys), *order_problems(table, columns, order_by)]
    problems += version_problems(table, [one.version.id for one in changes], order_by)
    problems += (problem for one in changes for problem in key_is_missing(one, keys))
    alone = [one.version.schema for one in changes if not one.version.id and not order_by]
    problems += (problem for columns in alone for problem in tool_problems(table, columns))
    if problems:
        raise SchemaConflict(problems)


def no_order(table: TableId, order_by: Sequence[str]) -> tuple[str, ...]:
    """Return the warning about a table without versions whose rows have no order; none where columns give one."""
    warning = (
        f"{table}: no `order_by` in onefold.yaml says which row of a key is the latest: where a key has several rows, the "
        "view shows any one of them, always the same"
    )
    return () if order_by else (warning,)


def order_problems(table: TableId, columns: Sequence[Column], order_by: Sequence[str]) -> Iterator[str]:
    """Yield the reasons why rows cannot be ordered by some columns.

    Args:
        table: the base name, for the texts.
        columns: the unified columns.
        order_by: the columns that say which row is the latest.

    Examples:
        >>> list(order_problems(TableId("p", "d", "t"), [Column("at", Struct(()))], ["at", "no"]))[1]
        'p.d.t has no column no for `order_by`; it has at: correct `order_by` in onefold.yaml'
    """
    for name in order_by:
        column = Schema(columns).get(name)
        if column is None:
            shown = shown_list(source_columns(columns).names)
            yield f"{table} has no column {name} for `order_by`; it has {shown}: correct `order_by` in onefold.yaml"
        elif not _has_order(column.type):
            yield f"{table}: `order_by` names {name}, and {column.type} has no order: name another column in onefold.yaml"


def version_problems(table: TableId, versions: Sequence[str], order_by: Sequence[str]) -> Iterator[str]:
    """Yield a problem where nothing says which of several versions is the later one.

    Args:
        table: the base name, for the text.
        versions: the versions in use.
        order_by: the columns that say which row is the latest.

    Examples:
        >>> list(version_problems(TableId("p", "d", "t"), ["9", "10"], []))
        []
        >>> list(version_problems(TableId("p", "d", "t"), ["5b6ffe5fb", "0f3a9c21d"], ["at"]))
        []
        >>> next(version_problems(TableId("p", "d", "t"), ["5b6ffe5fb", "0f3a9c21d"], [])).partition(": ")[0]
        'p.d.t'
    """
    if not order_by and len({_DIGITS.sub("0", version) for version in versions}) > 1:
        yield (
            f"{table}: expected versions that are numbers or dates, got {shown_list(versions)}, which have no order "
            "in time: declare the columns that say which row of a key is the latest as `order_by` in onefold.yaml"
        )


def latest_row_query(
    rows: TableId | str,
    columns: Sequence[Column],
    keys: Sequence[str],
    order_by: Sequence[str],
    version: str | None,
    without: Sequence[str],
) -> str:
    """Return a query of the latest row of each key. Keys that are NULL are one key, as in GROUP BY.

    Args:
        rows: a table, or a query of the rows of all versions.
        columns: its columns.
        keys: the columns whose values identify a row.
        order_by: the columns whose greatest value is the latest, most significant first; NULL is the lowest.
        version: the column with the version of a row; None where there are no versions.
        without: columns that people do not read.
    """
    rank = quote(free_name("_rank", columns))
    by_key = ", ".join(f"c.{quote(key)}" for key in keys)
    parts = [f"c.{quote(name)}" for name in order_by]
    if version:
        # 9 comes before 10, 20260503 before 20260504, and 2026_5_30 before 2026_12_1.
        parts.append(natural_sql(f"c.{quote(version)}"))
    parts.append(digest_sql("c", source_columns(columns).minus([version] if version else [])))
    order = ",\n      ".join(f"{part} DESC" for part in parts)
    item = rows.quoted if isinstance(rows, TableId) else f"(\n{rows}\n)"
    left_out = ", ".join([*map(quote, Schema(columns).only([LANDED_AT, *without]).names), rank])
    return (
        f"SELECT w.* EXCEPT ({left_out})\n"
        "FROM (\n"
        f"  SELECT c.*, ROW_NUMBER() OVER (\n    PARTITION BY {by_key}\n    ORDER BY\n      {order}\n  ) AS {rank}\n"
        f"  FROM {item} AS c\n"
        ") AS w\n"
        f"WHERE w.{rank} = 1"
    )


@dataclass(frozen=True)
class DirectText:
    """The text of a current view around the text of the versions of direct writers.

    Attributes:
        keys: the columns of the key.
        columns: the unified columns, that of the version included.
        order_by: the columns that say which row is the latest.
        version: the column with the version; None where there are no versions.
        without: columns that people do not read.
    """

    keys: tuple[str, ...]
    columns: tuple[Column, ...]
    order_by: tuple[str, ...]
    version: str | None
    without: tuple[str, ...] = ()

    def around(self, changes: TableId | str) -> str:
        """Return the text of the view.

        Args:
            changes: the table, or the text of all versions.
        """
        query = latest_row_query(changes, self.columns, self.keys, self.order_by, self.version, self.without)
        return keys_comment(self.keys) + query


def _has_order(type_: Type) -> bool:
    return not isinstance(type_, Array | Struct) and getattr(type_, "name", "") not in _NOT_ORDERED
