"""The registries of a run, read once, at its start, and their copies in the output folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from onefold.adapters.objects_at import objects_at
from onefold.adapters.secrets import key_or_text
from onefold.core.errors import InvalidInput
from onefold.events.registry.copies import Copies, RegistryCopy, parse_copy
from onefold.events.registry.frozen import Wanted, freeze
from onefold.events.registry.kept_orders import Orders, orders_text, parse_orders
from onefold.events.registry.reading import PatientObjects, RegistryAt
from onefold.events.registry.registry import Registry
from onefold.events.registry.resolver import ListedRegistry, read_list
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.places import plain_address

COPIES = "_registries"
_ORDERS = f"{COPIES}/orders.json"
_NEXT_ORDERS = f"{COPIES}/orders.next.json"
"""Written before the other one, which a run that is killed on a plain disk may leave in part."""


class FolderCopies:
    """Copies of registries in the output folder, `_registries/3f0c....json`, and `orders.json`. A dry run keeps none."""

    def __init__(self, output: Folder, *, dry_run: bool) -> None:
        self._output = output
        self._dry_run = dry_run

    def find(self, registry: str) -> RegistryCopy | None:
        """Return the copy of a registry; None where there is none."""
        path = _path(registry)
        return parse_copy(self._output.read(path)) if self._output.has(path) else None

    def save(self, copy: RegistryCopy) -> None:
        if not self._dry_run:
            self._output.write(_path(copy.registry), copy.to_json())

    def find_orders(self) -> Orders:
        """Return the orders that earlier runs have used; none where there is no file of them.

        Raises:
            InvalidInput: the file is damaged, or of a later release.
        """
        if not self._output.has(_ORDERS):
            return {}
        try:
            return self._parsed(_ORDERS)
        except InvalidInput:
            if not self._output.has(_NEXT_ORDERS):
                raise
        return self._parsed(_NEXT_ORDERS)

    def _parsed(self, path: str) -> Orders:
        return parse_orders(self._output.read(path), f"{self._output.uri}/{path}")

    def save_orders(self, orders: Orders) -> None:
        for path in () if self._dry_run else (_NEXT_ORDERS, _ORDERS):
            self._output.write(path, orders_text(orders))


def _path(registry: str) -> str:
    return f"{COPIES}/{hashlib.sha256(registry.encode()).hexdigest()[:32]}.json"


def read_registry(addresses: Sequence[str], api_key: str | None, wanted: Wanted, copies: Copies) -> Registry:
    """Return the schemas of an ordered list of registries.

    Args:
        addresses: folders, gs://, s3://, https://HOST/PATH of static files or https://HOST/api of servers, in the order in
            which they are asked; or the file of a resolver's configuration.
        api_key: the key for the one server.
        wanted: the schemas that the input names, for registries that cannot be listed.
        copies: the copies of earlier runs.

    Raises:
        InvalidInput: there is no such folder, the list is not valid, or the registries have no schemas.
        OnefoldError: a registry does not answer, or refuses.
    """
    registries = read_list([_place(address) for address in addresses], api_key, objects_at, key_or_text)
    return freeze(registries, _opened, wanted, copies, datetime.now(UTC))


def _opened(one: ListedRegistry) -> RegistryAt:
    return RegistryAt(one.address, PatientObjects(objects_at(one.address, one.api_key)))


def _place(address: str) -> str:
    place = plain_address(address)
    return f"/{place.removeprefix('file:').lstrip('/')}" if address.startswith("file:/") else place
