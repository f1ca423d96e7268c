"""What a checkpoint tells about its capture, without a connection to the source or to the process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.status import lag_seconds


@dataclass(frozen=True)
class CheckpointReport:
    """A checkpoint at a time, and whether its capture needs somebody."""

    checkpoint: Checkpoint
    now: float
    """Seconds since 1970."""
    max_lag: int
    """The most seconds by which the captured data may be out of date."""

    @property
    def lag_seconds(self) -> int | None:
        """Return the lag when the checkpoint was saved; None if it is unknown."""
        saved_at = self.checkpoint.saved_at
        return None if saved_at is None else lag_seconds(self.checkpoint.reached.as_of, saved_at)

    @property
    def saved_seconds_ago(self) -> int | None:
        """Return the age of the checkpoint; None if it is unknown."""
        return lag_seconds(self.checkpoint.saved_at, self.now)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is wrong, each with what to do."""
        return (*self._lag_problems(), *self._quarantine_problems())

    def _lag_problems(self) -> Iterator[str]:
        out_of_date = lag_seconds(self.checkpoint.reached.as_of, self.now)
        ahead = max(self.checkpoint.saved_at or 0, self.checkpoint.reached.as_of or 0) - int(self.now)
        age = self.saved_seconds_ago
        if out_of_date is None or age is None:
            yield "the lag is unknown: capture has not read the log since this checkpoint was made; start it, or see its log"
        elif ahead > self.max_lag:
            yield (
                f"the times of the checkpoint are {ahead:,} s ahead of the clock of this machine, so the lag is unknown: "
                "set the clocks of this machine, of capture and of the source"
            )
        elif age > self.max_lag:
            yield f"no process has saved the checkpoint for {age:,} s: start capture, or see its log"
        elif out_of_date > self.max_lag:
            yield (
                f"the captured data is {out_of_date:,} s behind the source, more than {self.max_lag:,} s: look for "
                "source_lost and publish_again in the log of capture"
            )

    def _quarantine_problems(self) -> Iterator[str]:
        for entry in self.checkpoint.quarantine:
            problem = entry.problem
            if entry.until is None:
                yield f"{entry.table} is in quarantine ({problem.kind}): {problem.reason}; {problem.remedy}"

    def to_json(self) -> dict[str, Any]:
        """Return the report as docs/reference/capture-status.md specifies it."""
        found = self.checkpoint
        position = found.reached.position
        return {
            "ok": not self.problems,
            "source": found.source,
            "dataset": found.dataset,
            "epoch": found.epoch,
            "file": position and position.file,
            "offset": position and position.offset,
            "gtids": str(found.reached.executed) or None,
            "captured_until": _time(found.reached.as_of),
            "saved_at": _time(found.saved_at),
            "saved_seconds_ago": self.saved_seconds_ago,
            "lag_seconds": self.lag_seconds,
            "copies_waiting": [str(request.table) for request in found.copy_requests],
            "copies_running": [{"table": f"{copy.database}.{copy.table}", "rows": copy.rows} for copy in found.copies],
            "delete_scans": [f"{scan.copy.database}.{scan.copy.table}" for scan in found.delete_scans],
            "quarantine": [
                {"database": one.table.database, "table": one.table.table, "kind": one.problem.kind,
                 "reason": one.problem.reason, "remedy": one.problem.remedy}
                for one in found.quarantine if one.until is None
            ],
            "problems": list(self.problems),
        }  # fmt: skip


def _time(seconds: int | None) -> str | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):  # in the order of the size of the number
        return None
