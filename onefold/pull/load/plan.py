"""What a load does with the files of a pull: which of them are appended, and which replace the rows of a day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from onefold.core.errors import InvalidInput
from onefold.core.text import shown_list
from onefold.pull.read.part import FILE_DAYS
from onefold.pull.read.pulled import PulledFile, PulledFiles

MAX_DAYS = FILE_DAYS
"""Days of one job."""


@dataclass(frozen=True)
class DayFiles:
    """A day whose rows are replaced, and the files with its new rows."""

    day: date
    files: tuple[PulledFile, ...]


@dataclass(frozen=True)
class LoadPlan:
    """The steps of a load.

    Attributes:
        appends: the files of each job that appends, in order.
        replacements: the days that are replaced afterwards, in order: the newest first, so that a row that has moved to a
            later day is there before it goes from the earlier one; rows without a watermark last.
    """

    appends: tuple[tuple[PulledFile, ...], ...] = ()
    replacements: tuple[DayFiles, ...] = ()


def replaced_days(pulled: PulledFiles) -> tuple[date, ...]:
    """Return the days that a daily load replaces, the newest first; rows without a watermark come with each daily load."""
    return tuple(sorted(pulled.plan.replaced_days, reverse=True))


def plan_load(pulled: PulledFiles) -> LoadPlan:
    """Return the steps of a load of a table with a watermark.

    Raises:
        InvalidInput: files of days that are replaced hold rows of other days, too; the error names all of them.
    """
    replaced = replaced_days(pulled)
    if problems := list(_mixed(pulled.files, replaced)):
        raise InvalidInput(problems)
    by_day = {day: tuple(file for file in pulled.files if _days(file) == {day}) for day in replaced}
    others = [file for file in pulled.files if not _days(file) & set(replaced)]
    return LoadPlan(tuple(in_jobs(others)), tuple(DayFiles(day, files) for day, files in by_day.items()))


def in_jobs(files: Iterable[PulledFile], most: int = MAX_DAYS) -> Iterator[tuple[PulledFile, ...]]:
    """Yield groups of files, each of a limited number of days; which no file exceeds.

    Args:
        files: the files, in any order.
        most: the most days of a group.

    Examples:
        >>> one = PulledFile("a", 1, 1, "x", ((date(2026, 5, 3), 1),))
        >>> two = PulledFile("b", 1, 1, "x", ((date(2026, 5, 4), 1),))
        >>> [[file.name for file in group] for group in in_jobs([two, one], most=1)]
        [['a'], ['b']]
    """
    group: list[PulledFile] = []
    days: set[date] = set()
    for file in sorted(files, key=lambda file: (file.days, file.name)):
        if group and len(days | _days(file)) > most:
            yield tuple(group)
            group, days = [], set()
        group.append(file)
        days |= _days(file)
    if group:
        yield tuple(group)


def _mixed(files: Iterable[PulledFile], replaced: Sequence[date]) -> Iterator[str]:
    for file in files:
        own = _days(file)
        if len(own) > 1 and own & set(replaced):
            days = shown_list(map(str, sorted(own)))
            yield f"{file.name}: expected the rows of one day that is replaced, got rows of {days}: pull the table again"


def _days(file: PulledFile) -> set[date]:
    return {day for day, _ in file.days}
