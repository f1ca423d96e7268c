"""Registries to read, wherever they are: with an index, as another server, or as static files without an index."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from onefold.core.errors import InvalidInput, InvalidName, NotFound, Rejected
from onefold.core.text import shortened, shown_list
from onefold.events.registry.found_models import Found, registry_of
from onefold.events.registry.index import INDEX_PATH, schema_path
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.lookup import READERS, UnusableSchema, check_answer, find_each, found_schema, usable_of
from onefold.events.registry.reader import SchemaReader
from onefold.events.registry.registry import Registry, certain_order, check_no_order, in_order
from onefold.events.registry.resolver import is_server
from onefold.events.registry.schema_key import URI_PREFIX, ModelKey, SchemaKey, SchemaVer, part_problems
from onefold.ports.objects import ObjectFinder

_MAX_VERSIONS = 10_000
"""Versions of a model that are asked for one by one; a server that answers every path would never end."""
_MAX_UNUSABLE = 20
"""Versions of a model that cannot be used; a server that answers every path with a page is no registry."""


class SchemaSource(Protocol):
    """A registry to read. Every method may raise errors of the store that holds it."""

    def list_keys(self, below: Sequence[str] = ()) -> tuple[SchemaKey, ...]:
        """Return the schemas of a vendor, a name and a format in the order of addition; all of them by default."""

    def versions(self, model: ModelKey) -> tuple[SchemaKey, ...]:
        """Return the versions of a model in the order of addition."""

    def find(self, key: SchemaKey) -> JsonSchema | None:
        """Return a schema; None where the registry does not have it."""

    def find_all(self, keys: Sequence[SchemaKey]) -> list[JsonSchema | None]:
        """Return several schemas; None for each that the registry does not have."""


class ServerSource:
    """Another server with Iglu's API, such as the function schema_registry."""

    def __init__(self, address: str, objects: ObjectFinder) -> None:
        self._address = address.rstrip("/")
        self._objects = objects

    def list_keys(self, below: Sequence[str] = ()) -> tuple[SchemaKey, ...]:
        # A server answers alike where a key is missing and where there is nothing, unless it is asked for one vendor.
        return tuple(key for key in self._keys("/".join(("schemas", *below))) if key.is_below(below))

    def versions(self, model: ModelKey) -> tuple[SchemaKey, ...]:
        found = self._keys(f"schemas/{model.vendor}/{model.name}/{model.format}")
        return tuple(key for key in found if key.model_key == model)

    def find(self, key: SchemaKey) -> JsonSchema | None:
        return found_schema(self._objects, f"{self._address}/{schema_path(key)}", key)

    def find_all(self, keys: Sequence[SchemaKey]) -> list[JsonSchema | None]:
        return find_each(self.find, keys)

    def _keys(self, path: str) -> tuple[SchemaKey, ...]:
        """Return the schemas that the server lists; none where it does not know the path.

        Raises:
            Rejected: the answer is not a list of schemas.
            TryAgain: it is no JSON, as the page that a proxy answers in place of a server that is down.
        """
        place = f"{self._address}/{path}?repr=uri"
        answer = self._objects.find(place)
        if answer:
            check_answer(place, answer.data)
        try:
            listed = json.loads(answer.data) if answer else []
            return tuple(dict.fromkeys(SchemaKey.parse(uri) for uri in listed))
        except (ValueError, TypeError, AttributeError, RecursionError, InvalidName) as error:
            raise Rejected(f"{place}: expected a list of schemas as iglu: URIs: {error}") from error


class StaticSource:
    """Static files without an index, which a web server or a bucket does not list: versions are asked for one by one.

    Numbers have no gaps. So the versions of a model end where the next number is missing.
    """

    def __init__(
        self, address: str, objects: ObjectFinder, order: Sequence[SchemaVer] = (), *, by_number: bool = False
    ) -> None:
        """Take static files.

        Args:
            address: their address.
            objects: the objects below the address.
            order: the versions of the one model that will be read, in the order of addition.
            by_number: whether the order of numbers is that of addition, where nothing else says it.
        """
        self._by_number = by_number
        self._address = address.rstrip("/")
        self._objects = objects
        self._order = order

    def list_keys(self, below: Sequence[str] = ()) -> tuple[SchemaKey, ...]:  # noqa: ARG002 as the other sources
        """Refuse to list.

        Raises:
            InvalidInput: static files without an index cannot be listed.
        """
        raise InvalidInput(
            f"{self._address}/{INDEX_PATH} does not exist, and without an index schemas cannot be listed: name a schema, or "
            "make a registry with an index by `onefold schema export`"
        )

    def versions(self, model: ModelKey) -> tuple[SchemaKey, ...]:
        """Return the versions of a model in the order of addition.

        Raises:
            InvalidInput: the order is not certain, or the given one does not name each version once.
            OnefoldError: the store does not answer, or refuses.
        """
        schemas = list(self._schemas(model))
        if not schemas:
            return ()
        if self._by_number:
            return tuple(sorted(schema.key for schema in schemas))
        ordered = in_order(schemas, self._order) if self._order else certain_order(schemas)
        return tuple(schema.key for schema in ordered)

    def find(self, key: SchemaKey) -> JsonSchema | None:
        return found_schema(self._objects, f"{self._address}/{schema_path(key)}", key)

    def find_all(self, keys: Sequence[SchemaKey]) -> list[JsonSchema | None]:
        return find_each(self.find, keys)

    def read_models(self, keys: Collection[SchemaKey]) -> Registry:
        """Return all versions of the models of some schemas, and these schemas, by their numbers.

        Where no index says in which order versions were added, it is that of their numbers. What cannot be used is left out
        by name; a model with a version that is no JSON is left out as a whole, because without it columns could move.

        Raises:
            OnefoldError: the store does not answer, or refuses.
        """
        models: defaultdict[ModelKey, list[SchemaKey]] = defaultdict(list)
        for key in keys:
            models[key.model_key].append(key)
        with ThreadPoolExecutor(READERS) as pool:
            found = dict(zip(models, pool.map(self._versions_with, models, models.values()), strict=True))
        return registry_of(found, self._address)

    def _versions_with(self, model: ModelKey, keys: Sequence[SchemaKey]) -> dict[SchemaKey, Found]:
        """Return the versions of a model, or why one cannot be used; the given ones are asked for in any case."""
        found = dict(self._numbered(model))
        for key in keys:
            if key not in found and (one := usable_of(self, key)) is not None:
                found[key] = one
        return dict(sorted(found.items(), key=lambda one: one[0]))

    def _schemas(self, model: ModelKey) -> Iterator[JsonSchema]:
        for _, found in self._numbered(model):
            if isinstance(found, UnusableSchema):
                raise found
            yield found

    def _numbered(self, model: ModelKey) -> Iterator[tuple[SchemaKey, Found]]:
        """Yield the versions of a model, or why one cannot be used, as far as their numbers have no gap.

        Raises:
            Rejected: too many versions cannot be used.
        """
        asked = unusable = 0
        revision = addition = 0
        while asked < _MAX_VERSIONS:
            asked += 1
            key = model.at(SchemaVer(model.model, revision, addition))
            found = usable_of(self, key)
            unusable += isinstance(found, UnusableSchema)
            if unusable > _MAX_UNUSABLE:
                raise Rejected(f"{self._address}: no version of {model} can be used: correct the address ({found})")
            if found is not None:
                yield key, found
                addition += 1
            elif addition:
                revision, addition = revision + 1, 0
            else:
                return


def open_source(address: str, objects: ObjectFinder, order: Sequence[SchemaVer] = ()) -> SchemaSource:
    """Return the registry at an address.

    Args:
        address: the address; a URL that ends with /api is another server.
        objects: the objects below the address.
        order: the versions of the one model that will be read, in the order of addition, where no index says so.

    Raises:
        InvalidInput: the order is given, and the registry has it.
        OnefoldError: the store does not answer, or refuses.
    """
    if is_server(address):
        source: SchemaSource = ServerSource(address, objects)
    else:
        reader = SchemaReader(address, objects)
        if objects.find(reader.place(INDEX_PATH)) is None:
            return StaticSource(address, objects, order)
        source = reader
    check_no_order(order, address)
    return source


def read_model(source: SchemaSource, model: ModelKey, place: str) -> Registry:
    """Return the versions of one model.

    Args:
        source: the registry.
        model: the model.
        place: the address of the registry, for errors.

    Raises:
        NotFound: the registry does not have the model.
        OnefoldError: the store does not answer, or refuses.
    """
    keys = source.versions(model)
    if not keys:
        raise NotFound(f"{place} has no schema {model}: correct the name")
    found = source.find_all(keys)
    missing = [key for key, schema in zip(keys, found, strict=True) if schema is None]
    if missing:
        raise NotFound(f"{place} lists {missing[0]}, and does not have it: restore it")
    return Registry({model: tuple(schema for schema in found if schema)}, place)


def read_all(source: SchemaSource, place: str) -> Registry:
    """Return all schemas of a registry in the order of its list. What it lists and cannot be used is left out by name.

    Args:
        source: the registry.
        place: its address, for errors.

    Raises:
        NotFound: the registry lists schemas that it does not have.
        OnefoldError: the store does not answer or refuses, or cannot list schemas.
    """
    keys = source.list_keys()
    found = _all_of(source, keys)
    missing = [str(key) for key, schema in zip(keys, found, strict=True) if schema is None]
    if missing:
        raise NotFound(f"{place} lists {shown_list(missing)}, and does not have them: restore them")
    models: defaultdict[ModelKey, dict[SchemaKey, Found]] = defaultdict(dict)
    for key, one in zip(keys, found, strict=True):
        if one is not None:
            models[key.model_key][key] = one
    return registry_of(models, place)


def _all_of(source: SchemaSource, keys: Sequence[SchemaKey]) -> Sequence[Found | None]:
    """Return each schema, why it cannot be used, or None where the registry does not have it."""
    try:
        return source.find_all(keys)
    except UnusableSchema:
        return find_each(lambda key: usable_of(source, key), keys)


def keys_below(source: SchemaSource, prefix: str) -> tuple[SchemaKey, ...]:
    """Return the schemas of a vendor, a name, a format or a model, in the order of addition.

    Args:
        source: the registry.
        prefix: `vendor`, `vendor/name`, `vendor/name/format`, `vendor/name/format/model`, or nothing for all schemas.

    Raises:
        InvalidName: the prefix is not valid; the error lists all problems.
        NotFound: the registry has no such schemas.
        OnefoldError: the store does not answer, or refuses.
    """
    parts = tuple(prefix.removeprefix(URI_PREFIX).strip("/").split("/")) if prefix else ()
    kinds = ("vendor", "name", "format", "model")
    problems = [problem for kind, part in zip(kinds, parts, strict=False) for problem in part_problems(kind, part)]
    if problems or len(parts) > len(kinds):
        raise InvalidName(problems or f"{shortened(prefix)}: expected at most {'/'.join(kinds)}")
    is_model = len(parts) == len(kinds)
    keys = source.versions(ModelKey.parse("/".join(parts))) if is_model else source.list_keys(parts)
    if parts and not keys:
        raise NotFound(f"the registry has no schemas of {prefix}: correct the name")
    return keys
