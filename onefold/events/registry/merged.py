"""Several registries as one: the first that has a schema gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.resolver import ListedRegistry, RegistryList
from onefold.events.registry.schema_key import ModelKey, SchemaKey
from onefold.events.registry.sources import SchemaSource


def merged_order(orders: Iterable[Sequence[SchemaKey]]) -> tuple[SchemaKey, ...]:
    """Return the versions of a model that several registries have, in one order of addition.

    What only a later registry has follows the version after which it was added there; what all have is in the order of the
    first one. A version that is added to either registry afterwards leaves the order of all others as it is, and may come
    between them: runs keep the order that they have used, see `kept_orders.kept_order`.

    Args:
        orders: the versions of each registry in the order of addition; the registry that wins is the first one.

    Examples:
        >>> keys = [SchemaKey.parse(f"com.acme/a/jsonschema/{version}") for version in ("1-0-0", "1-0-1", "1-0-2")]
        >>> [str(key.version) for key in merged_order([[keys[0], keys[2]], [keys[0], keys[1]]])]
        ['1-0-0', '1-0-1', '1-0-2']
    """
    found: list[SchemaKey] = []
    for order in orders:
        place = 0
        for key in order:
            if key not in found:
                found.insert(place, key)
            place = found.index(key) + 1
    return tuple(found)


class MergedSource:
    """Several registries, to read as one."""

    def __init__(self, registries: RegistryList, sources: Mapping[ListedRegistry, SchemaSource]) -> None:
        self._registries = registries
        self._sources = sources

    @property
    def unusable(self) -> dict[str, str]:
        """What was found so far and cannot be used, with the reasons."""
        found = (getattr(source, "unusable", {}) for source in self._sources.values())
        return {name: reason for one in found for name, reason in one.items()}

    def list_keys(self, below: Sequence[str] = ()) -> tuple[SchemaKey, ...]:
        """Return the schemas of all registries, by model; see `SchemaSource.list_keys`.

        Raises:
            InvalidInput: one of them cannot be listed.
        """
        lists = {one: self._sources[one].list_keys(below) for one in self._registries.registries}
        models = dict.fromkeys(key.model_key for keys in lists.values() for key in keys)
        return tuple(
            key
            for model in models
            for key in merged_order(
                [one for one in lists[registry] if one.model_key == model]
                for registry in self._registries.for_vendor(model.vendor)
            )
        )

    def versions(self, model: ModelKey) -> tuple[SchemaKey, ...]:
        return merged_order(source.versions(model) for source in self._for_vendor(model.vendor))

    def find(self, key: SchemaKey) -> JsonSchema | None:
        found = (source.find(key) for source in self._for_vendor(key.vendor))
        return next((schema for schema in found if schema), None)

    def find_all(self, keys: Sequence[SchemaKey]) -> list[JsonSchema | None]:
        found: dict[SchemaKey, JsonSchema] = {}
        for vendor in dict.fromkeys(key.vendor for key in keys):
            for source in self._for_vendor(vendor):
                missing = [key for key in keys if key.vendor == vendor and key not in found]
                found |= {one.key: one for one in source.find_all(missing) if one} if missing else {}
        return [found.get(key) for key in keys]

    def _for_vendor(self, vendor: str) -> list[SchemaSource]:
        return [self._sources[one] for one in self._registries.for_vendor(vendor)]
