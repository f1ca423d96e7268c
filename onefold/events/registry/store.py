"""A registry as objects: an index, and one object for each schema; in a folder or a bucket.

An addition reads the index, checks the schema against all earlier versions, and writes the index if nobody else has
written it since. So of two additions at once one is repeated on the state that the other left: none is lost, and none swaps
places.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from onefold.core.errors import OnefoldError, Rejected, SchemaInvalid, TryAgain, Violation
from onefold.core.retry import Backoff
from onefold.events.registry.adopted import read_adopted
from onefold.events.registry.ddl import Target
from onefold.events.registry.import_plan import ImportPlan, KnownSchemas, plan_import
from onefold.events.registry.index import INDEX_PATH, Index, digest_of, schema_path, schema_text
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.published import Published
from onefold.events.registry.reader import SchemaReader
from onefold.events.registry.references import reference_violations
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.registry.table_names import name_violations
from onefold.ports.objects import NEW, ObjectChanged, ObjectWriter

_TRIES = 30
_CONFLICT_BACKOFF = Backoff(first=0.05, longest=4.0, jitter=True)
"""An object of Cloud Storage takes one write a second (Cloud Storage, "Quotas & limits", 2025-11)."""
_WRITERS = 8
Result = TypeVar("Result")

AdditionCheck = Callable[[Sequence[JsonSchema], JsonSchema], Sequence[Violation]]
"""Takes all versions of a schema in the order of addition, and a new one or a patch; returns what the latter violates."""


class SchemaExists(Rejected):
    """The registry has another schema under this key."""


class AdditionOutcome(StrEnum):
    """What became of an addition."""

    ADDED = "added"
    UNCHANGED = "unchanged"
    PATCHED = "patched"


class RegistryStore(SchemaReader):
    """The schemas of a registry, to read and to add to."""

    def __init__(
        self,
        address: str,
        objects: ObjectWriter,
        check: AdditionCheck,
        patches: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(address, objects)
        self._writable = objects
        self._check_addition = check
        self._patches = patches
        self._sleep = sleep
        self._now = now

    def check(self, schema: JsonSchema) -> AdditionOutcome:
        """Return what an addition would do, without adding anything.

        Raises:
            SchemaExists: another schema has the key, and patches are not allowed.
            SchemaInvalid: the schema breaks rules; the error lists all violations.
            OnefoldError: the store does not answer, or refuses.
        """
        return self._checked(schema, self.state().index)

    def add(self, schema: JsonSchema) -> AdditionOutcome:
        """Add a schema at the end of the order. It may be repeated: what is there already is left as it is.

        Raises:
            SchemaExists: another schema has the key, and patches are not allowed.
            SchemaInvalid: the schema breaks rules; the error lists all violations.
            TryAgain: others wrote the index during all tries, or the store does not answer.
            OnefoldError: the store refuses.
        """
        return self._retried(str(schema.key), lambda: self._add(schema))

    def _retried(self, what: str, work: Callable[[], Result]) -> Result:
        """Repeat work that depends on the index until nobody else has written the index meanwhile.

        Raises:
            TryAgain: others wrote the index during all tries.
        """
        pauses = _CONFLICT_BACKOFF.pauses()
        last: OnefoldError | None = None
        for attempt in range(_TRIES):
            if attempt:
                self._sleep(next(pauses))
            try:
                return work()
            except ObjectChanged as error:
                last = error
        raise TryAgain(f"{what}: others added schemas during each of {_TRIES} tries; try again ({last})") from last

    def import_all(self, published: Published, warehouses: Collection[Target]) -> ImportPlan:
        """Add what another registry has published, as it is, at the end of the order, and return what became of it.

        Objects are written first, and one write of the index adds them all. It may be repeated, also after a crash.

        Args:
            published: the schemas.
            warehouses: those by whose columns changes are judged.

        Raises:
            TryAgain: others wrote the index during all tries, or the store does not answer.
            OnefoldError: the store refuses.
        """
        return self._retried("the import", lambda: self._import(published, warehouses))

    def _import(self, published: Published, warehouses: Collection[Target]) -> ImportPlan:
        state = self.state()
        self._publish(state.index)
        names = {schema.key.model_key.schema for schema in published.schemas}
        same = [entry for entry in state.index.entries if entry.key.model_key.schema in names]
        existing = self.schemas(same, state.index)
        known = KnownSchemas(state.index, existing, lambda key: self.find_in(state.index, key), warehouses)
        plan = plan_import(known, published, self._time())
        with ThreadPoolExecutor(_WRITERS) as pool:
            reasons = dict(zip((one.key for one in plan.added), pool.map(self._put, plan.added), strict=True))
        if taken := {key: reason for key, reason in reasons.items() if reason}:
            return self._import(published.without(taken), warehouses)
        if plan.added:
            self._writable.write(self.place(INDEX_PATH), plan.index.to_json(), state.generation)
        return plan

    def _put(self, schema: JsonSchema) -> str | None:
        """Write the object of a schema that is not in the index yet; return why it cannot be: another one is there."""
        place = self.place(schema_path(schema.key))
        try:
            self._writable.write(place, schema_text(schema).encode(), NEW)
        except ObjectChanged:
            found = self._writable.find(place)
            if not found or not _holds(found.data, schema):
                return f"{place} holds another schema, which the index does not have: move it elsewhere"
        return None

    def _time(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def _add(self, schema: JsonSchema) -> AdditionOutcome:
        state = self.state()
        # What an earlier process left is finished first: the index holds the text of one schema only.
        self._publish(state.index)
        outcome = self._checked(schema, state.index)
        if outcome is AdditionOutcome.ADDED:
            self._check_place(schema)
        if outcome is not AdditionOutcome.UNCHANGED:
            new = state.index.with_schema(schema, self._time())
            self._writable.write(self.place(INDEX_PATH), new.to_json(), state.generation)
            self._publish(new)
        return outcome

    def _checked(self, schema: JsonSchema, index: Index) -> AdditionOutcome:
        entry = index.find(schema.key)
        if entry and entry.digest == digest_of(schema):
            return AdditionOutcome.UNCHANGED
        if entry and not self._patches:
            raise SchemaExists(
                f"{schema.key}: the registry has another schema under this key: add the change as a new version, "
                "or allow patches in a registry for development"
            )
        same = [entry for entry in index.entries if _is_of_same_name(entry.key, schema.key)]
        existing = self.schemas(same, index)
        adopted = read_adopted(self.address, self._objects)
        violations = [*name_violations(index.keys, schema.key, adopted), *self._check_addition(existing, schema)]
        violations += reference_violations(schema, lambda key: schema if key == schema.key else self.find_in(index, key))
        if violations:
            raise SchemaInvalid(violations)
        return AdditionOutcome.PATCHED if entry else AdditionOutcome.ADDED

    def _check_place(self, schema: JsonSchema) -> None:
        """Check that no other schema is where a new one will be written: somebody put it there without the index.

        Raises:
            SchemaExists: there is one.
            ObjectChanged: there is one, since somebody has just added it.
            OnefoldError: the store does not answer, or refuses.
        """
        place = self.place(schema_path(schema.key))
        found = self._objects.find(place)
        if found and not _holds(found.data, schema):
            if self.index().find(schema.key):
                raise ObjectChanged(f"{schema.key}: somebody else has just added it")
            raise SchemaExists(
                f"{place} holds another schema, which the index does not have: add that one instead, or move it elsewhere"
            )

    def _publish(self, index: Index) -> None:
        """Write the object of the last schema of an index, if it is still the last one.

        The object's generation is read before the index: where somebody replaces the schema after that, the object has
        another generation by then, and this older text is not written.

        Raises:
            OnefoldError: the store does not answer, or refuses.
        """
        while index.pending:
            key, text = index.pending
            place = self.place(schema_path(key))
            found = self._objects.find(place)
            if found and found.data == text.encode():
                return
            index = self.state().index
            if index.pending != (key, text):
                return
            try:
                self._writable.write(place, text.encode(), found.generation if found else NEW)
            except ObjectChanged:
                continue


def _holds(data: bytes, schema: JsonSchema) -> bool:
    try:
        return parse_schema(data).canonical == schema.canonical
    except SchemaInvalid:
        return False


def _is_of_same_name(one: SchemaKey, other: SchemaKey) -> bool:
    return (one.vendor, one.name, one.format) == (other.vendor, other.name, other.format)
