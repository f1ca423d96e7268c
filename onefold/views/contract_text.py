"""The text of a view under a contract: the text without one, and around it what is left out, and what keeps its type.

The outermost SELECT does all, so it is the same for every kind and every form of a view, and rows are joined, ordered and
merged by all columns in their full types. A comment at the head notes what is held back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from onefold.core.names import fold_case, quote
from onefold.refresh.built_view import BuiltView
from onefold.schema.contracts import Held
from onefold.schema.fit import fit
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Type, parse_type
from onefold.schema.versions import Version, casts

_HELD = "-- held by the contract: "


@dataclass(frozen=True)
class HeldNote:
    """What the text of a view notes of its contract.

    Attributes:
        hidden: the columns that are not shown.
        types: the columns that keep a type, each with the type that they would have.
    """

    hidden: tuple[str, ...] = ()
    types: Mapping[str, Type] = field(default_factory=dict)


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
    head, body = _split(view.query)
    query = f"{head}{_note(held)}{_select(view, held, rules.time_zone)}\nFROM (\n{body}\n) AS o"
    kept = [cast for cast in view.casts if fold_case(cast.column) not in _names(held)]
    changed = casts(versions, [column for column, _ in held.types], rules)
    return replace(view, columns=held.columns, casts=(*kept, *changed), query=query)


def read_held_note(query: str) -> HeldNote:
    r"""Return what the text of a view notes of its contract; nothing where it notes nothing.

    Examples:
        >>> read_held_note('-- held by the contract: {"hidden": ["zip"], "types": {}}\nSELECT 1').hidden
        ('zip',)
    """
    head, _ = _split(query)
    noted = next((line.removeprefix(_HELD) for line in head.splitlines() if line.startswith(_HELD)), "{}")
    try:
        found = json.loads(noted)
        return HeldNote(tuple(found["hidden"]), {name: parse_type(type_) for name, type_ in found["types"].items()})
    except (ValueError, KeyError, TypeError, AttributeError):  # there is none, or somebody edited the text
        return HeldNote()


def _note(held: Held) -> str:
    content = {"hidden": list(held.hidden), "types": {column.name: str(full) for column, full in held.types}}
    # A backtick is escaped because the tables that a view reads are found in its text by their backticks.
    return f"{_HELD}{json.dumps(content)}\n".replace("`", "\\u0060")


def _select(view: BuiltView, held: Held, zone: str) -> str:
    full = {fold_case(column.name): column.type for column in view.columns}
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


def _split(query: str) -> tuple[str, str]:
    """Return the comments at the head of a text, and the rest of it."""
    head = "".join(takewhile(lambda line: line.startswith("--"), query.splitlines(keepends=True)))
    return head, query[len(head) :]
