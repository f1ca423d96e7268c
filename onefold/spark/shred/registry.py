"""The registry of a run, read once, at its start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onefold.adapters.objects_at import objects_at
from onefold.core.errors import InvalidInput
from onefold.events.registry.adopted import read_adopted
from onefold.events.registry.folder import read_folder
from onefold.events.registry.registry import Registry
from onefold.events.registry.sources import ServerSource, StaticSource, open_source, read_all
from onefold.spark.shred.places import plain_address


def read_registry(address: str, api_key: str | None) -> Registry:
    """Return all schemas of a registry.

    Args:
        address: a folder, gs://, s3://, https://HOST/PATH of static files with an index, or https://HOST/api of a server.
        api_key: the key for a server.

    Raises:
        InvalidInput: there is no such folder, or the registry has no schemas.
        OnefoldError: the registry does not answer or refuses, or its schemas cannot be listed.
    """
    place = plain_address(address).removeprefix("file:") if address.startswith("file:/") else plain_address(address)
    place = f"/{place.lstrip('/')}" if address.startswith("file:/") else place
    objects = objects_at(place, api_key)
    source = open_source(place, objects)
    is_folder = isinstance(source, StaticSource) and "://" not in place
    registry = read_folder(Path(place)) if is_folder else read_all(source, place)
    if not registry.models:
        raise InvalidInput(f"{address}: expected a registry, got no schema: add one with `onefold schema add`")
    # Another server has no settings to read.
    return registry if isinstance(source, ServerSource) else replace(registry, adopted=read_adopted(place, objects))
