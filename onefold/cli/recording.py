"""Records what a command changes in the ledger, as the functions do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from onefold.changes.ledger import Ledger
from onefold.cli.common import say
from onefold.core.log import LogSeverity
from onefold.ports.rows import Row
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.refresh.kind import ViewKind
    from onefold.refresh.plan import Announce


def recording(warehouse: Any, settings: Settings) -> Callable[[ViewKind], Announce | None]:
    """Return what records the changes of a view before it is written; nothing where no ledger is set.

    Who may not append to the ledger is told so, and the view is written: it keeps the rows for the next refresh.
    """
    from onefold.views.recorder import Recorder

    if not settings.changes_dataset:
        return lambda _: None
    recorder = Recorder(Ledger(warehouse, settings.changes_dataset), _say)
    return lambda kind: lambda plan: recorder.record(kind, plan)


def _say(severity: LogSeverity, text: str, event: str, row: Row) -> None:  # noqa: ARG001
    say("yellow", f"Warning: {text}")
