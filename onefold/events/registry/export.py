"""The export of a registry: a copy as static files with the order of addition, or a registry of its own from then on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from onefold.core.errors import NotFound, Rejected
from onefold.events.registry.index import INDEX_PATH, Index, IndexEntry, digest_of, parse_index, schema_path, schema_text
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.reader import SchemaReader
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.registry.sources import SchemaSource
from onefold.ports.objects import NEW, ObjectWriter


def export(source: SchemaSource, keys: Sequence[SchemaKey], target: str, objects: ObjectWriter) -> Index:
    """Write schemas as static files, and then their index. An export that was interrupted is repeated as a whole.

    Args:
        source: the registry.
        keys: the schemas in the order of addition.
        target: the address of the files.
        objects: the objects below the target.

    Raises:
        NotFound: the registry lists a schema, and does not have it.
        Rejected: the target holds other schemas, or the same ones in another order.
        OnefoldError: a store does not answer, or refuses.
    """
    place = f"{target}/{INDEX_PATH}"
    old = objects.find(place)
    schemas = _schemas(source, keys)
    index = Index(tuple(_entries(source, schemas)))
    if old:
        _check_continues(parse_index(old.data, place), index, target)
    for schema in schemas:
        objects.write(f"{target}/{schema_path(schema.key)}", schema_text(schema).encode())
    # The index comes last: files without it are no export yet.
    objects.write(place, index.to_json(), old.generation if old else NEW)
    return index


def _schemas(source: SchemaSource, keys: Sequence[SchemaKey]) -> list[JsonSchema]:
    """Return the schemas of a registry.

    Raises:
        NotFound: the registry lists a schema, and does not have it.
        OnefoldError: as `find_all`.
    """
    found = source.find_all(keys)
    missing = [key for key, schema in zip(keys, found, strict=True) if schema is None]
    if missing:
        raise NotFound(f"the registry lists {missing[0]}, and does not have it: restore it")
    return [schema for schema in found if schema]


def _entries(source: SchemaSource, schemas: Sequence[JsonSchema]) -> list[IndexEntry]:
    entries = {entry.key: entry for entry in source.index().entries} if isinstance(source, SchemaReader) else {}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    new = (IndexEntry(schema.key, digest_of(schema), now) for schema in schemas)
    return [replace(entries.get(one.key, one), digest=one.digest) for one in new]


def _check_continues(old: Index, new: Index, target: str) -> None:
    """Check that an export continues an earlier one: no schema disappears, and none changes its place or its content.

    Raises:
        Rejected: it does not.
    """
    before = [(entry.key, entry.digest) for entry in old.entries]
    known = set(before)
    kept = [(entry.key, entry.digest) for entry in new.entries if (entry.key, entry.digest) in known]
    for number, one in enumerate(before):
        if kept[number : number + 1] != [one]:
            raise Rejected(
                f"{target} holds {one[0]}, and the registry has it no longer, or elsewhere: export to a new folder"
            )
