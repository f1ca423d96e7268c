"""The schemas of a registry with an index, to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.core.errors import Rejected, SchemaInvalid
from onefold.events.registry.index import INDEX_PATH, Index, IndexEntry, digest_of, parse_index, schema_path
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.lookup import check_answer, find_each
from onefold.events.registry.schema_key import ModelKey, SchemaKey
from onefold.ports.objects import NEW, ObjectFinder

_MAX_KNOWN = 5_000
"""Schemas that are kept parsed; a model of 500 columns has some 100 KB."""


@dataclass(frozen=True)
class State:
    """The index as it was read, and its generation, on which its replacement depends."""

    index: Index
    generation: int


class SchemaReader:
    """The schemas of a registry with an index, to read."""

    def __init__(self, address: str, objects: ObjectFinder) -> None:
        self.address = address.rstrip("/")
        self._objects = objects
        self._known: dict[str, JsonSchema] = {}

    def index(self) -> Index:
        """Return the index; an empty one where the registry has none.

        Raises:
            InvalidInput: the index is not valid.
            OnefoldError: the store does not answer, or refuses.
        """
        return self.state().index

    def schema(self, entry: IndexEntry, index: Index) -> JsonSchema:
        """Return a schema.

        Args:
            entry: an entry of the index.
            index: the index, which may hold the text of a schema whose object is not written yet.

        Raises:
            Rejected: the object is missing, or is not the schema that was added.
            OnefoldError: the store does not answer, or refuses.
        """
        known = self._known.get(entry.digest)
        if known is not None and known.key == entry.key:
            return known
        schema = self._read(entry, index)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[entry.digest] = schema
        return schema

    def schemas(self, entries: Sequence[IndexEntry], index: Index) -> list[JsonSchema]:
        """Return several schemas; a store that takes long for each is asked for some at the same time.

        Args:
            entries: entries of the index.
            index: the index.

        Raises:
            OnefoldError: as `schema`.
        """
        return find_each(lambda entry: self.schema(entry, index), entries)

    def find(self, key: SchemaKey) -> JsonSchema | None:
        """Return a schema; None where the registry does not have it.

        Raises:
            OnefoldError: as `schema`.
        """
        return self.find_in(self.index(), key)

    def find_in(self, index: Index, key: SchemaKey) -> JsonSchema | None:
        """Return a schema of an index that was read; None where the index does not have it.

        Args:
            index: the index.
            key: the schema.

        Raises:
            OnefoldError: as `schema`.
        """
        entry = index.find(key)
        return self.schema(entry, index) if entry else None

    def find_all(self, keys: Sequence[SchemaKey]) -> list[JsonSchema | None]:
        """Return several schemas; None for each that the registry does not have.

        Raises:
            OnefoldError: as `schema`.
        """
        index = self.index()
        by_key = {entry.key: entry for entry in index.entries}
        found = self.schemas([by_key[key] for key in keys if key in by_key], index)
        schemas = {schema.key: schema for schema in found}
        return [schemas.get(key) for key in keys]

    def list_keys(self, below: Sequence[str] = ()) -> tuple[SchemaKey, ...]:
        """Return the schemas of a vendor, a name and a format in the order of addition; all of them by default.

        Raises:
            OnefoldError: as `index`.
        """
        return tuple(key for key in self.index().keys if key.is_below(below))

    def versions(self, model: ModelKey) -> tuple[SchemaKey, ...]:
        """Return the versions of a model in the order of addition.

        Raises:
            OnefoldError: as `index`.
        """
        return tuple(key for key in self.list_keys() if key.model_key == model)

    def place(self, path: str) -> str:
        """Return the address of an object of the registry."""
        return f"{self.address}/{path}"

    def state(self) -> State:
        """Return the index with its generation.

        Raises:
            OnefoldError: as `index`.
        """
        place = self.place(INDEX_PATH)
        found = self._objects.find(place)
        if found:
            check_answer(place, found.data)
        return State(parse_index(found.data, place), found.generation) if found else State(Index(), NEW)

    def _read(self, entry: IndexEntry, index: Index) -> JsonSchema:
        place = self.place(schema_path(entry.key))
        text: str | bytes | None = index.pending_text(entry.key)
        if text is None:
            found = self._objects.find(place)
            text = found.data if found else None
            if found:
                check_answer(place, found.data)
        if text is None:
            raise Rejected(f"{place} is missing, and the index has it: restore it, schemas are never deleted")
        try:
            schema = parse_schema(text)
        except SchemaInvalid as error:
            raise Rejected(f"{place} is not the schema that was added: {error}; restore it") from error
        if (schema.key, digest_of(schema)) != (entry.key, entry.digest):
            raise Rejected(f"{place} is not the schema that was added: restore it, and change a schema by a new version")
        return schema
