"""Records the schemas that a registry gets in the ledger of changes, before it has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from onefold.changes.entry import Entry
from onefold.changes.ledger import Ledger
from onefold.changes.table import row_of
from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.log import LogSeverity
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.ledger_entries import schema_entry
from onefold.events.registry.schema_key import ModelKey
from onefold.events.registry.store import AdditionOutcome, RegistryStore
from onefold.ports.rows import Row


@dataclass(frozen=True)
class SchemaRecording:
    """Records schemas before a registry gets them.

    Attributes:
        store: the registry.
        say: called with the severity, the text and the event of a line of the log, and a row that could not be appended.
        ledger: where entries are appended; None where none is set, or nothing is added.
    """

    store: RegistryStore
    say: Callable[[LogSeverity, str, str, Row], None]
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
            for row in {(row["dataset"], row["table"]): row for row in rows}.values():
                what = f"a change of {row['dataset']}/{row['table']} is not recorded: {error}"
                self.say("ERROR", what, "unrecorded", row)

    def _entries(self, schemas: Sequence[JsonSchema]) -> Iterator[Entry]:
        known: dict[ModelKey, list[JsonSchema]] = {}
        for schema in schemas:
            model = schema.key.model_key
            if model not in known:
                known[model] = [one for one in self.store.find_all(self.store.versions(model)) if one]
            if all(one.json != schema.json for one in known[model] if one.key == schema.key):
                yield schema_entry(known[model], schema, self.store.address, datetime.now(UTC))
                known[model].append(schema)
