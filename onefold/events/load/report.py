"""What became of runs of the shredder, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from onefold.core.errors import OnefoldError, TryAgain
from onefold.events.load.plan import Action

TableState = Literal["loaded", "loaded before", "to load", "running", "failed"]
RunState = Literal["loaded", "to load", "unfinished", "refused"]


@dataclass(frozen=True)
class EventTableReport:
    """What became of the rows of a run for one table.

    Attributes:
        table: the name of the table.
        version: its version: a recovery table has one that begins with `1r`.
        state: what became of the rows; `running` also where a repetition may succeed.
        rows: the rows of the run.
        action: what was done to the table, or is to be done.
        added: the columns that it got, and those whose type grew.
        is_news: whether no rows were loaded before with the columns of the table.
        job: the job or statement that loaded the rows.
        error: why the rows are not loaded; None where they are.
        described: the wide columns that the table had without a description, and that got the one of their schema.
        undescribed: the wide columns without a description that got none, since their schema is not certain.
    """

    table: str
    version: str
    state: TableState
    rows: int
    action: Action = "none"
    added: tuple[str, ...] = ()
    is_news: bool = False
    job: str = ""
    error: OnefoldError | None = None
    described: tuple[str, ...] = ()
    undescribed: tuple[str, ...] = ()

    @property
    def is_new_recovery(self) -> bool:
        """Whether a version that does not fit into the table of its model gets this table: somebody should know."""
        return self.is_news and "r" in self.version

    def as_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            "table": self.table,
            "version": self.version,
            "state": self.state,
            "rows": self.rows,
            "action": self.action,
            "added": list(self.added),
            "described": list(self.described),
            "undescribed": list(self.undescribed),
            "job": self.job or None,
            "error": str(self.error) if self.error else None,
        }


@dataclass(frozen=True)
class RunReport:
    """What became of a run.

    Attributes:
        run: the address of its folder.
        tables: its tables.
        bad: the events that the shredder could not take.
        error: why the whole run is refused; None where it is not.
        dry: whether this says what is to be done.
    """

    run: str
    tables: tuple[EventTableReport, ...] = ()
    bad: int = 0
    error: OnefoldError | None = None
    dry: bool = False

    @property
    def state(self) -> RunState:
        """What became of the run: it is unfinished where a table is not loaded."""
        if self.error:
            return "unfinished" if isinstance(self.error, TryAgain) else "refused"
        if any(table.error for table in self.tables):
            return "unfinished"
        return "to load" if self.dry else "loaded"

    @property
    def errors(self) -> tuple[OnefoldError, ...]:
        """Every error of the run and of its tables."""
        own = (self.error,) if self.error else ()
        return (*own, *(table.error for table in self.tables if table.error))

    def as_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            "run": self.run,
            "state": self.state,
            "bad": self.bad,
            "error": str(self.error) if self.error else None,
            "tables": [table.as_dict() for table in self.tables],
        }
