"""The prices of `onefold cost`, in USD: list prices with their region and month, and those that replace them."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onefold.core.errors import InvalidInput
from onefold.settings.schema_check import load_schema, problems_of
from onefold.settings.yaml_loader import load_yaml

GB, TIB = 10**9, 2**40
SCHEMA = "cost/prices.schema.json"
"""The JSON Schema of a file of prices: its path within the library. It says what each price is for."""


@dataclass(frozen=True)
class Prices:
    """Prices in USD; `prices.schema.json` says for what each one is."""

    region: str
    read: str
    query_tib: float
    active_gb: float
    long_term_gb: float
    active_physical_gb: float
    long_term_physical_gb: float
    write_gb: float
    pubsub_tib: float
    cpu_second: float
    gib_second: float
    always_cpu_second: float
    always_gib_second: float
    million_requests: float
    log_gib: float
    dcu_hour: float
    disk_gb: float
    file_gb: float
    million_writes: float
    schedule: float

    def query(self, size: float) -> float:
        """Return the price of queries that bill so many bytes."""
        return size / TIB * self.query_tib


def list_prices() -> Prices:
    """Return the list prices."""
    return Prices(**_listed())


def read_prices(path: Path | None) -> Prices:
    """Return the prices of a file, and list prices for what the file does not name; all list prices without a file.

    Raises:
        InvalidInput: the file cannot be read, or is no file of prices; the error lists all problems.
    """
    return Prices(**{**_listed(), **(read_form(path, SCHEMA) if path else {})})


def read_form(path: Path, schema: str) -> Mapping[str, Any]:
    """Return the content of a file in YAML or JSON that fits a schema of the library.

    Args:
        path: the file.
        schema: the path of the schema within the library.

    Raises:
        InvalidInput: as `read_prices`.
    """
    document = load_yaml(path)
    if found := problems_of(document, load_schema(schema), lambda _: ()):
        raise InvalidInput("\n".join(map(str, found)))
    content: Mapping[str, Any] = document.content
    return content


def _listed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pkgutil.get_data("onefold", "cost/prices.json") or "")
    return found
