"""The limits of BigQuery that a unified view may pass, besides the length of its text."""

from __future__ import annotations

from collections.abc import Iterable

from onefold.refresh.built_view import BuiltView
from onefold.schema.bigquery import MAX_COLUMNS, MAX_RESOLVED_TEXT, MAX_TABLES, WARN_TABLES
from onefold.schema.columns import Column
from onefold.schema.types import Array, Struct, Type

_RETIRE = "Copy old versions into one table of their own version, or set `retire` for them in onefold.yaml"
_SPLIT = "The current view can read a base into which they are merged, or several entries of `unite` can share the datasets"


def limit_problems(view: BuiltView) -> list[str]:
    """Return a problem for each limit of BigQuery that a view passes, besides the length of its text."""
    problems = []
    if view.tables > MAX_TABLES:
        most = len(view.versions) - (view.tables - MAX_TABLES)
        noun, advice = ("tables", _SPLIT) if view.names.united else ("versions", _RETIRE)
        problems.append(
            f"{view.id}: {len(view.versions)} {noun}, {_others(view)} and the view itself make "
            f"{view.tables} tables, and BigQuery allows {MAX_TABLES} in a query: at most {most} {noun} fit. {advice}"
        )
    if (count := _count_columns(view.columns)) > MAX_COLUMNS:
        problems.append(f"{view.id}: {count} columns, nested ones counted, and BigQuery allows {MAX_COLUMNS}")
    if (size := len(view.query) + sum(len(leaf.query) for leaf in view.leaves)) > MAX_RESOLVED_TEXT:
        problems.append(f"{view.id}: {size} characters with all leaves, and BigQuery allows 12 MB once views are expanded")
    return problems


def limit_warnings(view: BuiltView) -> list[str]:
    """Return a warning where a view takes half or more of the tables that BigQuery allows in a query."""
    if view.tables < WARN_TABLES:
        return []
    return [f"{view.id}: {view.tables} of the {MAX_TABLES} tables that BigQuery allows in a query; consider `retire`"]


def _others(view: BuiltView) -> str:
    """Return what a view reads besides versions: leaves, and a base with the log of its merges."""
    others = view.tables - 1 - len(view.versions) - len(view.leaves)
    return f"{len(view.leaves)} leaf views" + (f", {others} other tables" if others else "")


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
