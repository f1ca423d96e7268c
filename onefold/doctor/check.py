"""The result of one check, and how an error becomes a problem of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from onefold.core.errors import InvalidInput, OnefoldError

State = Literal["ok", "problem", "not checked"]


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

    @property
    def state(self) -> State:
        """The result in a word. What was not checked is never ok."""
        if self.problems:
            return "problem"
        return "not checked" if self.left_out else "ok"

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        is_ok = {"ok": True, "problem": False, "not checked": None}[self.state]
        return {
            "name": self.name, "state": self.state, "ok": is_ok, "problems": list(self.problems), "note": self.note,
        }  # fmt: skip


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
