"""What a manifest says about the schemas of a run. The manifest knows no schema: loaders run without a validator."""

from __future__ import annotations

from collections.abc import Collection

from onefold.events.registry.index import digest_of
from onefold.events.registry.registry import Registry
from onefold.events.shred.manifest import UsedSchema


def used_schemas(registry: Registry, uris: Collection[str]) -> tuple[UsedSchema, ...]:
    """Return what a manifest says about some schemas of a registry, by URI."""
    schemas = (schema for versions in registry.models.values() for schema in versions if schema.key.uri in uris)
    used = (UsedSchema(one.key.uri, digest_of(one), registry.origins.get(one.key, registry.place)) for one in schemas)
    return tuple(sorted(used, key=lambda one: one.uri))
