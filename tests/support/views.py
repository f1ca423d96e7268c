"""What the tests of a view share: versions from short texts, forms by force, and what the judge makes of a view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from support.zetasql_judge import Judge

import onefold.views.unified_view
from onefold.core.names import TableId, fold_case, quote
from onefold.refresh.built_view import BuiltView, Form, Leaf
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Array, Struct, Type, parse_type, render_type
from onefold.schema.versions import Version
from onefold.views.unified_view import build_view

BASE = TableId("my-project", "shop", "customer")
VIEW = TableId("my-project", "shop", "customer_unified")
PLAIN = TableRules()
FORMS: tuple[Form, ...] = ("spelled", "compact", "two-level")

Rows = Mapping[str, Sequence[Sequence[str]]]
"""Rows of each version, each cell an expression."""


def version(id_: str, *columns: str) -> Version:
    """A version of columns such as `id INT64`."""
    pairs = (column.rsplit("|", 1) if "|" in column else column.split(" ", 1) for column in columns)
    return Version(id_, tuple(Column(name, parse_type(kind)) for name, kind in pairs))


@contextmanager
def forced(form: Form, per_leaf: int = 2) -> Iterator[None]:
    """Build views in one form, however small they are; in two levels, with so many versions to a leaf."""

    def fitting(id_: TableId, writer: Any, versions: Sequence[Version], reserved: int) -> tuple[str, Form, tuple[Leaf, ...]]:
        if form == "spelled":
            return writer.spelled(versions, MAX_TEXT - reserved), form, ()
        if form == "compact":
            return writer.compact(versions), form, ()
        groups = [versions[at : at + per_leaf] for at in range(0, len(versions), per_leaf)]
        whole = writer.of_all_rows()
        leaves = tuple(onefold.views.unified_view._leaf(id_, whole.compact(group)) for group in groups)
        return writer.top(leaves, groups), form, leaves

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onefold.views.unified_view, "_fitting_form", fitting)
        yield


def build(versions: Sequence[Version], rules: TableRules = PLAIN, form: Form | None = None) -> BuiltView:
    if form is None:
        return build_view(VIEW, BASE, versions, rules)
    with forced(form):
        return build_view(VIEW, BASE, versions, rules)


def inlined(view: BuiltView) -> str:
    """Return the query with the names of leaf views replaced by their queries: the judge knows tables, not views."""
    query = view.query
    for leaf in view.leaves:
        query = query.replace(leaf.id.quoted, f"(\n{leaf.query}\n)")
    return query


def tables(versions: Sequence[Version]) -> dict[str, list[tuple[str, str]]]:
    return {table(v): [(column.name, render_type(column.type)) for column in v.columns] for v in versions}


def table(version_: Version) -> str:
    return str(BASE.sibling(f"customer_v_{version_.id}"))


def accept(judge: Judge, view: BuiltView, versions: Sequence[Version]) -> None:
    """The analyzer gives the view exactly the columns that the library says it has."""
    expected = [(column.name, column.type) for column in view.columns]
    assert [(name, parse_type(kind)) for name, kind in judge.columns(inlined(view), tables(versions))] == expected
    for leaf in view.leaves:
        assert [(name, parse_type(kind)) for name, kind in judge.columns(leaf.query, tables(versions))] == expected


def rows(judge: Judge, view: BuiltView, versions: Sequence[Version], landed: Rows) -> list[dict[str, Any]]:
    content = {table(v): landed_content(v, landed[v.id]) for v in versions if landed.get(v.id)}
    found = judge.rows(inlined(view), tables(versions), content)
    return [{fold_case(c.name): _named(cell, c.type) for c, cell in zip(view.columns, row, strict=True)} for row in found]


def landed_content(version_: Version, landed: Sequence[Sequence[str]]) -> str:
    return "\nUNION ALL ".join(
        "SELECT "
        + ", ".join(
            f"CAST({cell} AS {render_type(column.type)}) AS {quote(column.name)}"
            for cell, column in zip(row, version_.columns, strict=True)
        )
        for row in landed
    )


def _named(value: Any, type_: Type) -> Any:
    """A struct as its fields by name, so that the order in which versions came does not matter."""
    if value is None:
        return None
    match type_:
        case Array(element):
            return [_named(item, element) for item in value]
        case Struct(fields):
            parts = ((fold_case(f.name), _named(item, f.type)) for f, item in zip(fields, value, strict=True))
            return dict(sorted(parts, key=lambda part: part[0]))
        case _:
            return value


def multiset(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in found)


ABC = version("abc", "id INT64", "first_name STRING", "last_name STRING", "full_name STRING")
DEF = version("def", "id STRING", "first_name STRING", "last_name STRING", "email STRING")
ARTICLE = (ABC, DEF)
ARTICLE_ROWS = {
    "abc": [("1", "'Ada'", "'Lovelace'", "'Ada Lovelace'"), ("2", "'Alan'", "'Turing'", "NULL")],
    "def": [("'3'", "'Grace'", "'Hopper'", "'grace@example.org'"), ("'x-4'", "'Edsger'", "'Dijkstra'", "NULL")],
}

NESTED = (
    version("1a", "id INT64", "address STRUCT<street STRING, zip INT64>", "tags ARRAY<INT64>", "seen DATE"),
    version("2b", "Address STRUCT<zip STRING, street STRING, city STRING>", "ID NUMERIC", "tags STRING", "seen TIMESTAMP"),
    version("3c", "id BOOL", "payload JSON", "seen DATETIME"),
)

MIXED = (
    version("a1", "id INT64", "at DATE", "s STRUCT<a INT64, b BOOL>", "l ARRAY<DATE>", "only_a FLOAT64"),
    version("b2", "at TIMESTAMP", "ID STRING", "S STRUCT<B INT64, c STRING>", "l TIMESTAMP"),
    version("c3", "at DATETIME", "id NUMERIC", "l ARRAY<DATETIME>", "s STRUCT<c BYTES, a NUMERIC>"),
)
