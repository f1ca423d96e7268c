"""The settings of a schema registry: where it is, who may read it, and by which rules schemas are added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from onefold.core.errors import InvalidSettings
from onefold.core.problems import Problem
from onefold.core.shred_options import Warehouse as Warehouse
from onefold.core.text import shortened
from onefold.settings.batches import FOLDER

VARIABLES = {
    "ONEFOLD_REGISTRY": "the address of the schema registry: a gs:// folder, or a folder of this machine",
    "ONEFOLD_REGISTRY_ORDER": "`by-addition`: versions in the order in which they were added; or `sequential`: a version "
    "whose number would come before another one is refused; default: by-addition",
    "ONEFOLD_REGISTRY_PATCHES": "`allowed`: a schema may be replaced under its key, for development; default: it may not",
    "ONEFOLD_REGISTRY_WAREHOUSES": "the warehouses that get the data, separated by commas: a change of a schema is judged "
    "by the columns of each; default: bigquery,redshift",
    "ONEFOLD_REGISTRY_KEYS": "the file of the keys of the function schema_registry; default: none, only public schemas are "
    "read, and none is added",
    "ONEFOLD_REGISTRY_PUBLIC": "vendors whose schemas everybody may read, as prefixes separated by commas; `*`: all; "
    "default: none",
    "ONEFOLD_REGISTRY_APIKEY": "the key that is sent to a registry that is another server",
}
WAREHOUSES: tuple[Warehouse, ...] = get_args(Warehouse)
Order = Literal["by-addition", "sequential"]
_ORDERS: dict[str, Order] = {"by-addition": "by-addition", "sequential": "sequential"}
_VENDOR = re.compile(r"\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


@dataclass(frozen=True)
class RegistrySettings:
    """The settings of a schema registry; None where a variable is not set.

    Attributes:
        address: where the registry is.
        order: `by-addition` or `sequential`.
        patches: True where a schema may be replaced under its key.
        keys: the path of the file with the keys of the API.
        public: prefixes of vendors whose schemas everybody may read.
        api_key: the key for another server.
        warehouses: those that get the data, by whose columns a change is judged.
    """

    address: str | None = None
    order: Order = "by-addition"
    patches: bool = False
    keys: str | None = None
    public: tuple[str, ...] = ()
    api_key: str | None = None
    warehouses: tuple[Warehouse, ...] = WAREHOUSES

    def require_address(self) -> str:
        """Return the address of the registry of the function.

        Raises:
            InvalidSettings: the settings name no registry.
        """
        if self.address is None:
            raise InvalidSettings("ONEFOLD_REGISTRY is not set: name the registry, as gs://bucket/folder")
        return self.address


def registry_problems(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the variables."""
    address = environ.get("ONEFOLD_REGISTRY", "").rstrip("/")
    order, patches = environ.get("ONEFOLD_REGISTRY_ORDER") or "by-addition", environ.get("ONEFOLD_REGISTRY_PATCHES", "")
    if address.startswith("gs:") and (not FOLDER.fullmatch(address) or ".." in address.split("/")):
        yield Problem(f"ONEFOLD_REGISTRY {shortened(address)} is not a folder of a bucket: write gs://bucket/folder")
    if order not in _ORDERS:
        yield Problem(f"ONEFOLD_REGISTRY_ORDER {shortened(order)}: expected {' or '.join(_ORDERS)}, or no value")
    if patches not in ("", "allowed"):
        yield Problem(f"ONEFOLD_REGISTRY_PATCHES {shortened(patches)}: expected allowed, or no value")
    for name in _listed(environ.get("ONEFOLD_REGISTRY_WAREHOUSES", "")):
        if name not in WAREHOUSES:
            text = f"{shortened(name)}: expected {' or '.join(WAREHOUSES)}, or both with a comma"
            yield Problem(text, file="ONEFOLD_REGISTRY_WAREHOUSES")
    for name in _listed(environ.get("ONEFOLD_REGISTRY_PUBLIC", "")):
        if not _VENDOR.fullmatch(name):
            text = f"{shortened(name)} is not a vendor: write com.acme, or * for all"
            yield Problem(text, file="ONEFOLD_REGISTRY_PUBLIC")


def read_registry_settings(environ: Mapping[str, str]) -> RegistrySettings:
    """Return the settings of the variables, which `registry_problems` checks."""
    served = _listed(environ.get("ONEFOLD_REGISTRY_WAREHOUSES", "")) or WAREHOUSES
    return RegistrySettings(
        environ.get("ONEFOLD_REGISTRY", "").rstrip("/") or None,
        _ORDERS[environ.get("ONEFOLD_REGISTRY_ORDER") or "by-addition"],
        environ.get("ONEFOLD_REGISTRY_PATCHES") == "allowed",
        environ.get("ONEFOLD_REGISTRY_KEYS") or None,
        _listed(environ.get("ONEFOLD_REGISTRY_PUBLIC", "")),
        environ.get("ONEFOLD_REGISTRY_APIKEY") or None,
        tuple(known for known in WAREHOUSES if known in served),
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
