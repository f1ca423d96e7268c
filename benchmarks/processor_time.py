"""Seconds of the processors that this process and its descendants have used, whatever else the machine does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
"""Ticks of a second, in which the system counts the time of processes."""


@dataclass(frozen=True)
class Stat:
    """A process: its number, that of its parent, and its ticks without and with those of its children that have ended."""

    number: int
    parent: int
    own_ticks: int
    ticks: int


def stats() -> Iterator[Stat]:
    """Yield all processes of the machine."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # the process has just ended
            continue
        user_and_system = list(map(int, fields[11:15]))  # those of the process, then those of children it has waited for
        yield Stat(int(stat.parent.name), int(fields[1]), sum(user_and_system[:2]), sum(user_and_system))


def processor_seconds() -> float:
    """Return the seconds of this process, of all that descend from it, and of those among them that have ended."""
    found = {one.number: one for one in stats()}
    return sum(one.ticks for one in found.values() if _descends(one, found)) / TICKS


def _descends(stat: Stat | None, found: Mapping[int, Stat]) -> bool:
    while stat:
        if stat.number == os.getpid():
            return True
        stat = found.get(stat.parent)
    return False
