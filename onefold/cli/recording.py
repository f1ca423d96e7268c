"""Records in the ledger what a command changes: views, as the functions do, and the schemas of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onefold.changes.ledger import Ledger
from onefold.cli.common import say
from onefold.core.log import LogSeverity
from onefold.ports.rows import Row
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.events.registry.recording import SchemaRecording
    from onefold.events.registry.store import RegistryStore
    from onefold.refresh.kind import Record


def recording(warehouse: Any, settings: Settings) -> Record:
    """Return what records the changes of a view before it is written; nothing where no ledger is set.

    Who may not append to the ledger is told so, and the view is written: it keeps the rows for the next refresh.
    """
    from onefold.views.recorder import Recorder

    if not settings.changes_dataset:
        return lambda _: None
    recorder = Recorder(Ledger(warehouse, settings.changes_dataset), _say)
    return lambda kind: lambda plan: recorder.record(kind, plan)


def _say(severity: LogSeverity, text: str, event: str, row: Row) -> None:  # noqa: ARG001 nobody reads these in a terminal
    say("yellow", f"Warning: {text}")


def schema_recording(store: RegistryStore, settings: Settings, dry_run: bool) -> SchemaRecording:
    """Return what records the schemas that a command adds.

    Args:
        store: the registry.
        settings: those of the installation.
        dry_run: whether nothing is added.
    """
    from onefold.events.registry.recording import SchemaRecording

    if dry_run or not settings.changes_dataset:
        return SchemaRecording(store, _say)
    from onefold.adapters.connect import connect

    return SchemaRecording(store, _say, Ledger(connect(settings.project), settings.changes_dataset))
