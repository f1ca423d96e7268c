"""One look-up of a schema in a store of objects, and several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from onefold.core.errors import InvalidInput, Rejected, TryAgain
from onefold.core.text import cut, shortened
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.json_text import is_json
from onefold.events.registry.schema_key import SchemaKey
from onefold.ports.objects import ObjectFinder

READERS = 8
"""The look-ups at the same time."""
_MOST_SHOWN = 500
Key = TypeVar("Key")
Found = TypeVar("Found")


class SchemaFinder(Protocol):
    """Finds one schema, as a `SchemaSource` does."""

    def find(self, key: SchemaKey) -> JsonSchema | None:
        """Return a schema; None where the registry does not have it."""


class UnusableSchema(Rejected):
    """A registry has something under a key that is not the schema of this key."""


class UnreadableSchema(UnusableSchema):
    """A registry answers with what is no JSON: the page of an error, or a part of a schema. It may have the schema."""


def find_each(find: Callable[[Key], Found], keys: Sequence[Key]) -> list[Found]:
    """Return what `find` returns for each key; a store that takes long is asked for some at the same time."""
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(find, keys))


def check_answer(place: str, data: bytes) -> None:
    """Check that a web server answers with JSON where it is known to have some, as a list.

    Raises:
        TryAgain: it is no JSON: a proxy may answer with a page, and status 200, in place of a server that is down.
    """
    if place.startswith("http") and not is_json(data):
        raise TryAgain(f"{place} is answered with what is no JSON: {shortened(data.decode(errors='replace'))}")


def found_schema(objects: ObjectFinder, place: str, key: SchemaKey) -> JsonSchema | None:
    """Return the schema of an object; None where there is no object.

    Args:
        objects: the store.
        place: the address of the object.
        key: the schema that it has to be.

    Raises:
        UnusableSchema: the object is not this schema.
        UnreadableSchema: it is no JSON.
    """
    found = objects.find(place)
    if found is None:
        return None
    try:
        schema = parse_schema(found.data)
    except InvalidInput as error:
        reasons = cut("; ".join(error.problems), _MOST_SHOWN)
        kind = UnusableSchema if is_json(found.data) else UnreadableSchema
        raise kind(f"{place} is not a schema: {reasons}") from error
    if schema.key != key:
        raise UnusableSchema(f"{place} describes itself as {schema.key}: correct `self`, or move it there")
    return schema


def usable_of(source: SchemaFinder, key: SchemaKey) -> JsonSchema | UnusableSchema | None:
    """Return a schema, why it cannot be used, or None where the registry does not have it."""
    try:
        return source.find(key)
    except UnusableSchema as error:
        return error
