"""Parts that the commands on a registry share: the option `--registry`, and the registry that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import read_settings, say
from onefold.core.errors import InvalidInput, NotFound
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.events.registry.json_schema import JsonSchema
    from onefold.events.registry.published import Listing
    from onefold.events.registry.registry import Registry
    from onefold.events.registry.schema_key import ModelKey, SchemaKey, SchemaVer
    from onefold.events.registry.sources import SchemaSource
    from onefold.events.registry.store import RegistryStore
    from onefold.ports.objects import ObjectWriter

REGISTRY_HELP = (
    "A folder, gs://BUCKET/FOLDER, s3://BUCKET/FOLDER, https://HOST/PATH with static files, https://HOST/api, a "
    "server; or, to read, the file of Iglu's resolver, resolver.json.  [default: ONEFOLD_REGISTRY]"
)
registry_option = click.option("--registry", metavar="ADDRESS", help=REGISTRY_HELP)
registries_option = click.option("--registry", "registries", metavar="ADDRESS", multiple=True, help=REGISTRY_HELP)
_KEY = "onefold.registry_key"


def _note_key(context: click.Context, parameter: click.Parameter, value: str | None) -> None:  # noqa: ARG001
    context.meta[_KEY] = value


key_option = click.option(
    "--password-from",
    metavar="REF",
    expose_value=False,
    callback=_note_key,
    help="Where the key of a server is: env:NAME, file:PATH, projects/P/secrets/S.  [default: env:ONEFOLD_REGISTRY_APIKEY]",
)
order_option = click.option(
    "--order",
    metavar="VERSIONS",
    help="The versions of the schema in the order of their addition, for static files without an index: 1-0-0,1-1-0,1-0-1.",
)


def reads_registry(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the options `--registry` and `--password-from`; `open_registry` uses the latter."""
    return registry_option(key_option(command))


def address_of(settings: Settings, registry: str | None) -> str:
    """Return the address of the registry, without a slash at its end.

    Raises:
        UsageError: neither the option nor the settings name one.
    """
    address = (registry or settings.registry.address or "").rstrip("/")
    if not address:
        raise click.UsageError("Expected --registry ADDRESS, or ONEFOLD_REGISTRY: name a registry.")
    return address


def writable_address(settings: Settings, registry: str | None) -> str:
    """Return the address of the one registry that a command writes to; see `address_of`.

    Raises:
        InvalidInput: several registries are named.
    """
    from onefold.events.registry.resolver import is_resolver

    address = address_of(settings, registry)
    if is_resolver(address):
        raise InvalidInput(f"{address} is a resolver's configuration, which is read only: name the registry to add to")
    return address


def parse_order(order: str | None) -> tuple[SchemaVer, ...]:
    """Return the versions of the option `--order`; none where it was not given."""
    from onefold.events.registry.schema_key import SchemaVer

    return tuple(SchemaVer.parse(text.strip()) for text in order.split(",")) if order else ()


def open_registry(context: click.Context, registry: str | None, order: Sequence[SchemaVer] = ()) -> SchemaSource:
    """Return the registry that a command reads.

    Args:
        context: holds the path of `--config`.
        registry: the option `--registry`.
        order: the option `--order`.

    Raises:
        NotFound: there is no such folder.
        InvalidInput: the order is given for several registries.
        OnefoldError: the registry cannot be read.
    """
    from onefold.events.registry.resolver import is_resolver

    settings = read_settings(context)
    address, key = address_of(settings, registry), _api_key(context, settings)
    if not is_resolver(address):
        return _open_at(address, key, order)
    if order:
        raise InvalidInput(f"{address} names several registries: leave --order out, or name one registry")
    return _open_list([address], key)


def open_registries(context: click.Context, registries: Sequence[str]) -> SchemaSource:
    """Return the registries that a command reads as one, in the order in which they are asked.

    Args:
        context: holds the path of `--config`.
        registries: the options `--registry`; none for that of the settings.

    Raises:
        InvalidInput: one is named twice, or the file of a resolver with others.
        OnefoldError: a registry cannot be read.
    """
    if len(registries) < 2:
        return open_registry(context, next(iter(registries), None))
    return _open_list(registries, _api_key(context, read_settings(context)))


def _open_list(addresses: Sequence[str], key: str | None) -> SchemaSource:
    from onefold.adapters.objects_at import objects_at
    from onefold.adapters.secrets import key_or_text
    from onefold.events.registry.merged import MergedSource
    from onefold.events.registry.resolver import read_list

    registries = read_list(addresses, key, objects_at, key_or_text)
    opened = {one: _open_at(one.address, one.api_key, is_one_of_many=True) for one in registries.registries}
    return MergedSource(registries, opened)


def _open_at(
    address: str, api_key: str | None, order: Sequence[SchemaVer] = (), *, is_one_of_many: bool = False
) -> SchemaSource:
    from onefold.adapters.objects_at import objects_at
    from onefold.events.registry.sources import StaticSource, open_source

    objects = objects_at(address, api_key)
    source = open_source(address, objects, order)
    if not isinstance(source, StaticSource):
        return source
    if "://" not in address:
        return _FolderSource(Path(address), order)
    return StaticSource(address, objects, by_number=True) if is_one_of_many else source  # as the shredder reads them


def warn_of_unusable(source: SchemaSource | Registry) -> None:
    """Name on the standard error what a registry that was read holds and cannot be used."""
    for name, reason in getattr(source, "unusable", {}).items():
        say("yellow", f"Warning: {name} cannot be used, and is left out: {reason}")


def open_published(context: click.Context, address: str, named: Listing | None = None) -> tuple[SchemaSource, Listing]:
    """Return a registry of others, and what it lists, in its order of addition as far as that is known.

    Args:
        context: holds the path of `--config`.
        address: as of the option `--registry`.
        named: the schemas that are read of it; None for all that it lists.

    Raises:
        InvalidInput: the registry cannot be listed, or the address is the file of several registries.
        OnefoldError: the registry cannot be read.
    """
    from onefold.adapters.objects_at import listed_files_at, objects_at
    from onefold.events.registry.published import list_source, list_tree
    from onefold.events.registry.resolver import is_resolver
    from onefold.events.registry.sources import StaticSource, open_source

    address = address.rstrip("/")
    if is_resolver(address):
        raise InvalidInput(f"{address} names several registries: import each of them by its address")
    source = open_source(address, objects_at(address, _api_key(context, read_settings(context))))
    files = listed_files_at(address) if isinstance(source, StaticSource) else None
    if named and isinstance(source, StaticSource) and not files:
        return source, named
    listing = list_tree(address, files) if files else list_source(source)
    return source, listing.of_named(named) if named else listing


def _api_key(context: click.Context, settings: Settings) -> str | None:
    """Return the key for a registry that is another server; None where none is named.

    Raises:
        OnefoldError: `--password-from` names one that cannot be read.
    """
    from onefold.adapters.secrets import read_secret

    reference = context.meta.get(_KEY)
    return read_secret(reference, os.environ, "key of the registry") if reference else settings.registry.api_key


def table_name(source: SchemaSource, key: ModelKey) -> str | None:
    """Return the name of a model's table; None where the registry cannot be listed, so that no other model is known."""
    from onefold.events.registry.table_names import table_names

    names = table_names(listed_models(source))
    return names[key].table if key in names else None


def listed_models(source: SchemaSource) -> list[ModelKey]:
    """Return the models of a registry; none where it cannot be listed."""
    try:
        return list(dict.fromkeys(one.model_key for one in source.list_keys()))
    except InvalidInput:
        return []


def objects_of(address: str, dry_run: bool) -> ObjectWriter:
    """Return the objects below an address, to read and to write; a dry run keeps what it writes in memory."""
    from onefold.adapters.objects_at import writable_objects_at
    from onefold.adapters.unwritten_objects import UnwrittenObjects

    objects = writable_objects_at(address)
    return UnwrittenObjects(objects) if dry_run else objects


def open_store(context: click.Context, registry: str | None, dry_run: bool = False) -> RegistryStore:
    """Return the registry that a command adds to.

    Args:
        context: holds the path of `--config`.
        registry: the option `--registry`.
        dry_run: keep what is added in memory.

    Raises:
        NotFound: the folder holds schemas without an index.
        InvalidInput: several registries are named.
        OnefoldError: the registry cannot be written.
    """
    from onefold.events.registry.index import INDEX_PATH
    from onefold.events.registry.open import open_registry_store

    settings = read_settings(context)
    address = writable_address(settings, registry)
    store = open_registry_store(address, objects_of(address, dry_run), settings.registry, settings.contracts)
    folder = Path(address)
    if "://" not in address and not (folder / INDEX_PATH).exists() and any(folder.glob("schemas/*/*/*/*")):
        raise NotFound(
            f"{folder} holds schemas without an index of their order: make a registry of them first, by "
            f"`onefold schema export --registry {folder} --into FOLDER`"
        )
    return store


class _FolderSource:
    """A folder without an index, which can be listed, unlike other static files."""

    def __init__(self, folder: Path, order: Sequence[SchemaVer]) -> None:
        self._folder = folder
        self._order = order
        self.unusable: dict[str, str] = {}

    def list_keys(self, below: Sequence[str] = ()) -> tuple[SchemaKey, ...]:
        return tuple(schema.key for schemas in self._read(below).models.values() for schema in schemas)

    def versions(self, model: ModelKey) -> tuple[SchemaKey, ...]:
        return tuple(schema.key for schema in self._read(model.parts).models.get(model, ()))

    def find(self, key: SchemaKey) -> JsonSchema | None:
        from onefold.adapters.folder_objects import FolderObjects
        from onefold.events.registry.sources import StaticSource

        return StaticSource(str(self._folder), FolderObjects(self._folder)).find(key)

    def find_all(self, keys: Sequence[SchemaKey]) -> list[JsonSchema | None]:
        return [self.find(key) for key in keys]

    def _read(self, below: Sequence[str]) -> Registry:
        from onefold.events.registry.folder import read_folder

        registry = read_folder(self._folder, below, self._order)
        self.unusable |= registry.unusable
        return registry
