"""A problem of something that people write, such as a file of settings: what is wrong, where, and what to do.

A function that checks is a generator of problems: it yields each one, and its caller collects and prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

Path = tuple[object, ...]
"""The place of a value in a file: the keys of mappings, and the indexes of lists, from the top of the file."""


@dataclass(frozen=True)
class Problem:
    """One problem; its text is for the person who has to act.

    Attributes:
        text: what was expected, what was found, and what to do.
        path: the key; empty for the file as a whole.
        file: the file, or what else holds the value, such as a variable; empty where there is none.
        line: the line of the file, from 1; None where it is not known.

    Examples:
        >>> print(Problem("expected a list of columns, got a text", ("tables", "shop.customer", "keys"), "onefold.yaml", 7))
        onefold.yaml:7: tables.shop.customer.keys: expected a list of columns, got a text
    """

    text: str
    path: Path = ()
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return ": ".join(part for part in (place, shown_path(self.path), self.text) if part)


def shown_path(path: Path) -> str:
    """Return a path as people read it.

    Examples:
        >>> shown_path(("tables", "customer", "retire", 0))
        'tables.customer.retire[0]'
    """
    first, *others = path or ("",)
    return f"{first}" + "".join(f"[{part}]" if type(part) is int else f".{part}" for part in others)
