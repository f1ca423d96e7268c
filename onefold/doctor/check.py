"""The result of one check, and how an error becomes a problem of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidInput, OnefoldError


@dataclass(frozen=True)
class Check:
    """The result of one check. Without problems, what was checked is in order.

    Attributes:
        name: what was checked.
        problems: one sentence each, with the command that fixes it.
        note: what the check found, or why it was left out.
        left_out: True where nothing was checked, so that nobody knows whether it is in order.
    """

    name: str
    problems: tuple[str, ...] = ()
    note: str = ""
    left_out: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        is_ok = None if self.left_out else not self.problems
        return {"name": self.name, "ok": is_ok, "problems": list(self.problems), "note": self.note}


def not_checked(name: str, why: str) -> Check:
    """Return the result of a check that was left out.

    Args:
        name: what is not checked.
        why: the reason.
    """
    return Check(name, note=why, left_out=True)


def checked(name: str, work: Callable[[], Iterable[str]], note: str = "") -> Check:
    """Run a check. An error of Onefold is a problem like any other, so that the next checks go on.

    Args:
        name: what is checked.
        work: returns the problems.
        note: the note of the result.
    """
    try:
        return Check(name, tuple(work()), note)
    except OnefoldError as error:
        return Check(name, error.problems if isinstance(error, InvalidInput) else (str(error),), note)
