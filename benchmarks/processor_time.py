"""Seconds of the processors that this process and its descendants have used, whatever else the machine does."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return the seconds of this process, of all that descend from it, and of those among them that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # the process has just ended
            continue
        number = int(stat.parent.name)
        parents[number] = int(fields[1])
        ticks[number] = sum(map(int, fields[11:15]))  # user and system time, then those of waited-for children
    return sum(used for number, used in ticks.items() if _descends(number, parents)) / _TICKS


def _descends(number: int, parents: dict[int, int]) -> bool:
    while number:
        if number == os.getpid():
            return True
        number = parents.get(number, 0)
    return False
