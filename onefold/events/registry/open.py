"""A registry with the rules that the settings name."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.core.errors import Violation
from onefold.events.registry.contract import contract_violations
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.order import Rules, check_addition
from onefold.events.registry.store import RegistryStore
from onefold.ports.objects import ObjectWriter
from onefold.schema.contract_rules import NO_CONTRACTS, Contracts
from onefold.settings.registry import RegistrySettings


def open_registry_store(
    address: str, objects: ObjectWriter, settings: RegistrySettings, contracts: Contracts = NO_CONTRACTS
) -> RegistryStore:
    """Return a registry to read and to add to.

    Args:
        address: where it is.
        objects: the objects below the address.
        settings: the order of versions, whether patches are allowed, and the warehouses that get the data.
        contracts: those of the installation, which may refuse new columns and changed types.
    """
    rules = Rules(order=settings.order, patches=settings.patches, warehouses=settings.warehouses)

    def check(existing: Sequence[JsonSchema], new: JsonSchema) -> Sequence[Violation]:
        return [*check_addition(existing, new, rules), *contract_violations(existing, new, contracts)]

    return RegistryStore(address, objects, check, settings.patches)
