"""Schemas for tests of registries, and stores that keep them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onefold.adapters.folder_objects import FolderObjects
from onefold.adapters.gcs import GcsObjects
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.kept_orders import Orders, orders_text, parse_orders
from onefold.events.registry.order import Rules, check_addition
from onefold.events.registry.store import RegistryStore
from onefold.ports.objects import ObjectWriter, StoredObject

BUCKET = "gs://bucket/registry"
PROPERTIES = {"größe": {"type": "string", "maxLength": 20}, "id": {"type": "integer"}}


def document(version: str = "1-0-0", name: str = "ad_click", vendor: str = "com.acme", **properties: Any) -> dict[str, Any]:
    own = {"vendor": vendor, "name": name, "format": "jsonschema", "version": version}
    return {"self": own, "type": "object", "properties": {**PROPERTIES, **properties}, "additionalProperties": False}


def schema(version: str = "1-0-0", name: str = "ad_click", vendor: str = "com.acme", **properties: Any) -> JsonSchema:
    return parse_schema(document(version, name, vendor, **properties))


def history(name: str = "ad_click", additions: int = 3, vendor: str = "com.acme") -> Iterator[JsonSchema]:
    """Versions 1-0-0, 1-0-1 and so on; each has one optional property more."""
    for number in range(additions):
        yield schema(f"1-0-{number}", name, vendor, **{f"p{more}": {"type": "string"} for more in range(number)})


def store_of(address: str | Path, objects: ObjectWriter, patches: bool = False) -> RegistryStore:
    # The same pauses, but shorter: the stand-ins take more than one write a second.
    rules = Rules(patches=patches)
    return RegistryStore(
        str(address),
        objects,
        lambda existing, new: check_addition(existing, new, rules),
        patches,
        sleep=lambda pause: time.sleep(pause / 5),
    )


def folder_store(folder: Path, patches: bool = False) -> RegistryStore:
    return store_of(folder, FolderObjects(folder), patches)


def bucket_store(patches: bool = False) -> RegistryStore:
    """A registry in the stand-in of Cloud Storage (the fixture `object_store`)."""
    return store_of(BUCKET, GcsObjects(), patches)


class KeptOrders:
    """The orders of versions that runs have used, kept as text."""

    orders = ""

    def find_orders(self) -> Orders:
        return parse_orders(self.orders, "orders.json") if self.orders else {}

    def save_orders(self, orders: Orders) -> None:
        self.orders = orders_text(orders)


class Killed(BaseException):
    """The process ends; nothing catches it."""


@dataclass
class KilledAt:
    """Objects whose process is killed before, or after, a certain write."""

    objects: ObjectWriter
    number: int
    before: bool
    writes: int = field(default=0, init=False)
    lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def find(self, address: str) -> StoredObject | None:
        return self.objects.find(address)

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        with self.lock:  # an import writes with several threads
            self.writes += 1
            number = self.writes
        if self.before and number == self.number:
            raise Killed
        written = self.objects.write(address, data, generation)
        if not self.before and number == self.number:
            raise Killed
        return written
