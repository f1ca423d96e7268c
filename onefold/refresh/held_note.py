"""The comment at the head of a view's text that notes what a contract holds back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from onefold.schema.types import Type, parse_type

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

    @property
    def line(self) -> str:
        """The line of the text."""
        content = {"hidden": list(self.hidden), "types": {name: str(full) for name, full in self.types.items()}}
        # A backtick is escaped because the tables that a view reads are found in its text by their backticks.
        return f"{_HELD}{json.dumps(content)}\n".replace("`", "\\u0060")


def read_held_note(query: str) -> HeldNote:
    r"""Return what the text of a view notes of its contract; nothing where it notes nothing.

    Examples:
        >>> read_held_note('-- held by the contract: {"hidden": ["zip"], "types": {}}\nSELECT 1').hidden
        ('zip',)
    """
    head, _ = head_and_body(query)
    noted = next((line.removeprefix(_HELD) for line in head.splitlines() if line.startswith(_HELD)), "{}")
    try:
        found = json.loads(noted)
        return HeldNote(tuple(found["hidden"]), {name: parse_type(type_) for name, type_ in found["types"].items()})
    except (ValueError, KeyError, TypeError, AttributeError):  # there is none, or somebody edited the text
        return HeldNote()


def head_and_body(query: str) -> tuple[str, str]:
    """Return the comments at the head of a text, and the rest of it."""
    head = "".join(takewhile(lambda line: line.startswith("--"), query.splitlines(keepends=True)))
    return head, query[len(head) :]
