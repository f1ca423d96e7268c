"""The text of a view under a contract: the text without one, and around it what is left out, and what keeps its type.

The outermost SELECT does all, so it is the same for every kind and every form of a view, and rows are joined, ordered and
merged by all columns in their full types. A comment at the head notes what is held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onefold.core.names import fold_case, quote
from onefold.refresh.built_view import BuiltView
from onefold.refresh.held_note import HeldNote, head_and_body
from onefold.schema.fit import fit
from onefold.schema.held import Held
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, casts
from onefold.schema.view_items import null_item


def held_view(view: BuiltView, held: Held, versions: Sequence[Version], rules: TableRules) -> BuiltView:
    """Return a view that shows what a contract lets it show.

    Args:
        view: the view as it was built, with the columns `held.full`.
        held: what is shown.
        versions: those that the view reads.
        rules: those of the table.
    """
    if not held.hidden and not held.types:
        return view
    head, body = head_and_body(view.query)
    note = HeldNote(held.hidden, {column.name: full for column, full in held.types})
    query = f"{head}{note.line}{_select(view, held, rules.time_zone)}\nFROM (\n{body}\n) AS o"
    kept = [cast for cast in view.casts if fold_case(cast.column) not in _names(held)]
    changed = casts(versions, [column for column, _ in held.types], rules)
    return replace(view, columns=held.columns, casts=(*kept, *changed), query=query)


def _select(view: BuiltView, held: Held, zone: str) -> str:
    full = {fold_case(column.name): column.type for column in view.columns}
    if not any(fold_case(column.name) in full for column in held.columns):
        return f"SELECT\n  {f',{chr(10)}  '.join(map(null_item, held.columns))}"
    hidden = ", ".join(map(quote, held.hidden))
    types = [
        f"{fit(f'o.{quote(column.name)}', landed, column.type, zone)} AS {quote(column.name)}"
        for column, _ in held.types
        if (landed := full[fold_case(column.name)]) != column.type
    ]
    shown = f"SELECT o.*{f' EXCEPT ({hidden})' if hidden else ''}"
    return f"{shown} REPLACE (\n  {f',{chr(10)}  '.join(types)}\n)" if types else shown


def _names(held: Held) -> frozenset[str]:
    return frozenset(map(fold_case, (*held.hidden, *(column.name for column, _ in held.types))))
