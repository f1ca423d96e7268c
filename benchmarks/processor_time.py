"""Seconds of the processors that this process and its descendants have used, whatever else the machine does."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
"""Ticks of a second, in which the system counts the time of processes."""
_SET_CHILD_SUBREAPER = 36
"""From linux/prctl.h; see https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html, 2024-06-02."""


@dataclass(frozen=True)
class Stat:
    """A process: its number, that of its parent, and its ticks with those of its children that have ended."""

    number: int
    parent: int
    ticks: int


def stats() -> Iterator[Stat]:
    """Yield all processes of the machine."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # the process has just ended
            continue
        # User and system time of the process, then those of children it has waited for.
        yield Stat(int(stat.parent.name), int(fields[1]), sum(map(int, fields[11:15])))


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends before it, as the JVM of a job that outlives its Python.

    The system would give it to the first process, so that its time would seem to be that of others. What it has used remains
    known after its end too, because nobody waits for it here.

    Raises:
        OSError: the system refused it.
    """
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "expected to become the parent of orphans")


def own_and_others() -> tuple[list[Stat], list[Stat]]:
    """Return this process and all that descend from it, and all other processes."""
    found = {one.number: one for one in stats()}
    own = {number for number, one in found.items() if _descends(one, found)}
    return [found[number] for number in own], [one for number, one in found.items() if number not in own]


def processor_seconds() -> float:
    """Return the seconds of this process, of all that descend from it, and of those among them that have ended."""
    return sum(one.ticks for one in own_and_others()[0]) / TICKS


def _descends(stat: Stat | None, found: Mapping[int, Stat]) -> bool:
    while stat:
        if stat.number == os.getpid():
            return True
        stat = found.get(stat.parent)
    return False
