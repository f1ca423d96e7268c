"""The limits of BigQuery that a unified view may pass, besides the length of its text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from onefold.core.errors import LimitExceeded
from onefold.core.names import TableId
from onefold.schema.bigquery import MAX_COLUMNS, MAX_RESOLVED_TEXT, MAX_TABLES, WARN_TABLES
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Array, Struct, Type
from onefold.schema.versions import Version
from onefold.views.unified_view import UnifiedView, build_view


def build_within_limits(
    id_: TableId,
    base: TableId,
    versions: Sequence[Version],
    rules: TableRules,
    reserved: int = 0,
    former: Sequence[Column] = (),
) -> UnifiedView:
    """Return the view over the versions, as `build_view` does, if BigQuery would take it.

    Args:
        id_: the name of the view.
        base: the base name of the versioned tables.
        versions: in order, at least one.
        rules: the settings of the table.
        reserved: as for `build_view`.
        former: as for `build_view`.

    Raises:
        SchemaConflict: the versions cannot be one view.
        LimitExceeded: each limit that the view passes, how many versions fit, and what to do.
    """
    view, problems = _built(id_, base, versions, rules, reserved, former)
    if view is None or problems:
        # A suffix of the versions fits if a longer one does, so the longest is found by bisection.
        counts = range(1, len(versions))
        most = bisect_left(
            counts, True, key=lambda count: bool(_built(id_, base, versions[-count:], rules, reserved, former)[1])
        )
        raise LimitExceeded([*problems, _advice(base, len(versions), most)])
    return view


def _built(
    id_: TableId,
    base: TableId,
    versions: Sequence[Version],
    rules: TableRules,
    reserved: int,
    former: Sequence[Column],
) -> tuple[UnifiedView | None, Sequence[str]]:
    """Return the view, if it can be written at all, and a problem for each limit that it passes."""
    try:
        view = build_view(id_, base, versions, rules, reserved, former)
    except LimitExceeded as error:
        return None, error.problems
    return view, limit_problems(view)


def _advice(base: TableId, count: int, most: int) -> str:
    if not most:
        return f"{base}: not even the newest version fits: set plain target types for its nested columns in onefold.yaml"
    return (
        f"{base}: the newest {most:,} of {count:,} versions fit: set `retire` for the oldest {count - most:,} in "
        "onefold.yaml, or copy their rows into one table of a version of its own"
    )


def limit_problems(view: UnifiedView) -> list[str]:
    """Return a problem for each limit of BigQuery that a view passes, besides the length of its text."""
    problems = []
    if view.tables > MAX_TABLES:
        most = MAX_TABLES - 1 - len(view.leaves)
        problems.append(
            f"{view.id}: {len(view.versions)} versions, {len(view.leaves)} leaf views and the view itself make "
            f"{view.tables} tables, and BigQuery allows {MAX_TABLES} in a query: at most {most} versions fit. "
            "Copy old versions into one table of their own version, or set `retire` for them in onefold.yaml"
        )
    if (count := _count_columns(view.columns)) > MAX_COLUMNS:
        problems.append(f"{view.id}: {count} columns, nested ones counted, and BigQuery allows {MAX_COLUMNS}")
    if (size := len(view.query) + sum(len(leaf.query) for leaf in view.leaves)) > MAX_RESOLVED_TEXT:
        problems.append(f"{view.id}: {size} characters with all leaves, and BigQuery allows 12 MB once views are expanded")
    return problems


def limit_warnings(view: UnifiedView) -> list[str]:
    """Return a warning where a view takes half or more of the tables that BigQuery allows in a query."""
    if view.tables < WARN_TABLES:
        return []
    return [f"{view.id}: {view.tables} of the {MAX_TABLES} tables that BigQuery allows in a query; consider `retire`"]


def _count_columns(columns: Iterable[Column]) -> int:
    return sum(_count_fields(column.type) for column in columns)


def _count_fields(type_: Type) -> int:
    """Return how many columns and fields a column or field has, itself included."""
    match type_:
        case Array(element):
            return _count_fields(element)
        case Struct(fields):
            return 1 + sum(_count_fields(field.type) for field in fields)
        case _:
            return 1
