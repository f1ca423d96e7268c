"""Records in the ledger what a command changes: views, as the functions do, and the schemas of a registry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from onefold.changes.entry import Entry
from onefold.changes.ledger import Ledger
from onefold.changes.table import row_of
from onefold.cli.common import say
from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.log import LogSeverity
from onefold.core.text import shown_list
from onefold.ports.rows import Row
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.events.registry.json_schema import JsonSchema
    from onefold.events.registry.schema_key import ModelKey
    from onefold.events.registry.store import AdditionOutcome, RegistryStore
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


def _say(severity: LogSeverity, text: str, event: str, row: Row) -> None:  # noqa: ARG001
    say("yellow", f"Warning: {text}")


@dataclass(frozen=True)
class SchemaRecording:
    """Records schemas before a registry gets them.

    Attributes:
        store: the registry.
        ledger: where entries are appended; None where none is set, or nothing is added.
    """

    store: RegistryStore
    ledger: Ledger | None = None

    def add(self, schema: JsonSchema) -> AdditionOutcome:
        """Add a schema as the registry does, and record it before.

        Raises:
            SchemaInvalid: the schema breaks rules.
            TryAgain: an error that may pass; nothing was added.
            OnefoldError: the registry does not answer, or refuses.
        """
        if self.ledger:
            self.store.check(schema)  # what is refused is no change
            self.record([schema])
        return self.store.add(schema)

    def record(self, schemas: Sequence[JsonSchema]) -> None:
        """Append the entries of schemas that are about to be added, in their order; those that are there have none.

        Who may not append to the ledger is told so, and the schemas are added.

        Raises:
            TryAgain: an error that may pass.
            OnefoldError: the registry does not answer, or refuses.
        """
        if self.ledger is None:
            return
        rows = [row_of(entry) for entry in self._entries(schemas)]
        try:
            self.ledger.append(rows)
        except TryAgain:
            raise
        except OnefoldError as error:
            named = shown_list(sorted({f"{row['dataset']}/{row['table']}" for row in rows}))
            say("yellow", f"Warning: a change of {named} is not recorded: {error}")

    def _entries(self, schemas: Sequence[JsonSchema]) -> Iterator[Entry]:
        from onefold.events.registry.ledger_entries import schema_entry

        known: dict[ModelKey, list[JsonSchema]] = {}
        for schema in schemas:
            model = schema.key.model_key
            if model not in known:
                known[model] = [one for one in self.store.find_all(self.store.versions(model)) if one]
            if all(one.json != schema.json for one in known[model] if one.key == schema.key):
                yield schema_entry(known[model], schema, self.store.address, datetime.now(UTC))
                known[model].append(schema)


def schema_recording(store: RegistryStore, settings: Settings, dry_run: bool) -> SchemaRecording:
    """Return what records the schemas that a command adds.

    Args:
        store: the registry.
        settings: those of the installation.
        dry_run: whether nothing is added.
    """
    if dry_run or not settings.changes_dataset:
        return SchemaRecording(store)
    from onefold.adapters.connect import connect

    return SchemaRecording(store, Ledger(connect(settings.project), settings.changes_dataset))
