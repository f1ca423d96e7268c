"""A registry with the rules that the settings name."""

from __future__ import annotations

from onefold.events.registry.order import Rules, check_addition
from onefold.events.registry.store import RegistryStore
from onefold.ports.objects import ObjectWriter
from onefold.settings.registry import RegistrySettings


def open_registry_store(address: str, objects: ObjectWriter, settings: RegistrySettings) -> RegistryStore:
    """Return a registry to read and to add to.

    Args:
        address: where it is.
        objects: the objects below the address.
        settings: the order of versions, whether patches are allowed, and the warehouses that get the data.
    """
    rules = Rules(order=settings.order, patches=settings.patches, warehouses=settings.warehouses)
    return RegistryStore(address, objects, lambda existing, new: check_addition(existing, new, rules), settings.patches)
