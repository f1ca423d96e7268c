"""What a clean view remembers of the structs that landed in a column that is shown as a whole value.

The rows of a version that was dropped live on in the base: as text or JSON, they still hold the fields of its structs. So
the view notes these structs in a comment of its text, and each of their fields needs a policy as long as the view is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile

from onefold.core.errors import InvalidType
from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.treatment import landed_types
from onefold.schema.types import Struct, Type, element_of, parse_type

_LANDED = "-- landed as structs: "
Landed = Mapping[str, Sequence[Type]]
"""The types of each column, by its name in the form by which names are compared."""


def all_landed(columns: Sequence[Column], versions: Sequence[Sequence[Column]], query: str) -> Landed:
    """Return the types in which columns landed: in the versions that are there, and as the text of the clean view notes.

    Args:
        columns: those of the view that is read.
        versions: the columns of the versions that are there.
        query: the text of the clean view; empty where there is none.

    Examples:
        >>> noted = '-- landed as structs: {"a": ["STRUCT<b INT64>"]}'
        >>> [str(type_) for type_ in all_landed([Column("a", parse_type("JSON"))], [], noted)["a"]]
        ['STRUCT<b INT64>']
    """
    noted, types = _noted(query), landed_types(versions)
    names = [fold_case(column.name) for column in columns]
    return {name: list(dict.fromkeys([*types.get(name, ()), *noted.get(name, ())])) for name in names}


def landed_note(columns: Sequence[Column], landed: Landed) -> str:
    """Return the comment, a line; empty where every struct is shown as a struct.

    Args:
        columns: those of the view that is read.
        landed: the types in which they landed.
    """
    held = {
        name: sorted(str(type_) for type_ in types if isinstance(element_of(type_), Struct))
        for column in columns
        if _holds_structs(column.type, types := landed[name := fold_case(column.name)])
    }
    # A backtick is escaped because the tables that a view reads are found in its text by their backticks.
    return f"{_LANDED}{json.dumps(held)}\n".replace("`", "\\u0060") if held else ""


def _noted(query: str) -> dict[str, list[Type]]:
    head = takewhile(lambda line: line.startswith("-- "), query.splitlines())
    noted = next((line.removeprefix(_LANDED) for line in head if line.startswith(_LANDED)), "{}")
    try:
        return {name: [parse_type(text) for text in texts] for name, texts in json.loads(noted).items()}
    except (ValueError, TypeError, AttributeError, InvalidType):  # somebody edited the text
        return {}


def _holds_structs(type_: Type, landed: Sequence[Type]) -> bool:
    """Return whether a value that has no fields any more, here or below, landed as a struct."""
    structs = [one for one in map(element_of, landed) if isinstance(one, Struct)]
    element = element_of(type_)
    if not isinstance(element, Struct):
        return bool(structs)
    return any(
        _holds_structs(field.type, [found.type for one in structs if (found := one.get(field.name))])
        for field in element.fields
    )
