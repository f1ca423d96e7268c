"""How bad rows are shredded again: as the runs of their folder were, whose loader takes no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from onefold.core.errors import InvalidInput
from onefold.core.shred_options import MOST_DAYS, FileFormat, Layout, Warehouse, usual_format
from onefold.events.load.bad_files import BadFile
from onefold.events.shred.runs import RunForm, start_of


@dataclass(frozen=True)
class RetryOptions:
    """What somebody asks for; None: as the runs of the folder.

    Attributes:
        warehouse: the warehouse that takes the rows.
        format: the format of the files.
        layout: where the entities of events go.
        window_days: the days over which duplicates are looked for.
    """

    warehouse: Warehouse | None = None
    format: FileFormat | None = None
    layout: Layout | None = None
    window_days: int | None = None

    def arguments(self, forms: Sequence[RunForm], files: Sequence[BadFile], now: datetime) -> tuple[str, ...]:
        """Return the arguments of the job that reads files of bad rows.

        Args:
            forms: those of the finished runs of the folder, the oldest first.
            files: the files.
            now: the time.

        Raises:
            InvalidInput: no run of the folder is for the warehouse, so that its loader would refuse the rows.
        """
        return tuple(f"--{name}={value}" for name, value in self._chosen(forms, files, now) if value)

    def _chosen(self, forms: Sequence[RunForm], files: Sequence[BadFile], now: datetime) -> Iterator[tuple[str, object]]:
        warehouse = self.warehouse or (forms[-1].warehouse if forms else None)
        if forms and warehouse not in {form.warehouse for form in forms}:
            raise InvalidInput(
                f"--warehouse {warehouse}: the runs of the folder are for {forms[-1].warehouse}, whose loader takes no "
                "others: leave the option out"
            )
        former = [form.format for form in forms if form.warehouse == warehouse]
        format_ = self.format or (former[-1] if former else None)
        yield "warehouse", warehouse
        yield "format", None if warehouse and format_ == usual_format(warehouse) else format_
        yield "layout", "wide" if self._is_wide(forms) else None
        yield "duplicates-window", self._window(forms, files, now)

    def _is_wide(self, forms: Sequence[RunForm]) -> bool:
        return self.layout == "wide" or (self.layout is None and any(form.is_wide for form in forms))

    def _window(self, forms: Sequence[RunForm], files: Sequence[BadFile], now: datetime) -> int:
        """Return the longest window of the runs, from the oldest file on: other copies of its events were loaded then."""
        if self.window_days is not None:
            return self.window_days
        longest = max((form.window_days for form in forms), default=0)
        oldest = min((start_of(file.run.removeprefix("run=")) for file in files), default=now)
        return min(longest + max((now - oldest).days + 1, 0), MOST_DAYS) if longest else 0
