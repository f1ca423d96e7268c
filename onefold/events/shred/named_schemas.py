"""The schemas that records name, for registries that cannot be listed: they are asked for these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onefold.core.errors import InvalidName
from onefold.events.registry.json_schema import FORMAT
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.bad_entity import parse_bad_entity
from onefold.events.shred.bad_rows import BadEvent, original_of

if TYPE_CHECKING:
    from onefold.events.shred.shredder import EventReader


def schemas_named_by(reader: EventReader, records: Iterable[str]) -> set[str]:
    """Return the URIs of the schemas of all entities; a record that is no event names none.

    Args:
        reader: reads records of the form of the input.
        records: the records, each one line without its end.
    """
    found: set[str] = set()
    for record in records:
        original = original_of(record)
        try:
            bad = parse_bad_entity(original)
            found |= {one.uri for one in ([bad.entity] if bad else reader.read(original).entities)}
        except BadEvent:
            continue
    return found


def keys_of(uris: Iterable[str]) -> frozenset[SchemaKey]:
    """Return the schemas that URIs name; what is not a URI of a JSON Schema is in no registry.

    Examples:
        >>> [str(key) for key in keys_of(["iglu:com.acme/a/jsonschema/1-0-0", "iglu:com.acme/a/avro/1-0-0", "a"])]
        ['iglu:com.acme/a/jsonschema/1-0-0']
    """
    found = set()
    for uri in uris:
        try:
            key = SchemaKey.parse(uri)
        except InvalidName:
            continue
        if key.format == FORMAT and key.uri == uri:
            found.add(key)
    return frozenset(found)
