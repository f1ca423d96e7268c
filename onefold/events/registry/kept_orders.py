"""The order in which runs have used models and their versions, kept from run to run: names and columns follow from it.

A registry tells the order in which its own versions were added. Of several registries, none tells which version came first:
what a run has used stays as it is, and what is found later comes at the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from onefold.core.errors import InvalidInput, InvalidName
from onefold.core.text import shortened
from onefold.events.registry.merged import merged_order
from onefold.events.registry.schema_key import ModelKey, SchemaKey, SchemaVer

_FORM = 1
_REMEDY = "bring it back from a copy; or remove it, and the loader refuses the tables whose order follows from it alone"

Orders = Mapping[ModelKey, tuple[SchemaKey, ...]]
"""The versions of each model in the order in which runs have used them, those included that no registry has any more.

The models are in the order in which runs have found them: of two that want one name of a table, the first one has it.
"""


def kept_order(before: Sequence[SchemaKey], orders: Sequence[Sequence[SchemaKey]]) -> tuple[SchemaKey, ...]:
    """Return the versions of a model in the order of earlier runs, and what is new at the end.

    Args:
        before: the order of earlier runs; empty where there is none.
        orders: the versions of each registry in the order of addition; the registry that wins is the first one.

    Examples:
        >>> a, b, c = (SchemaKey.parse(f"com.acme/a/jsonschema/{version}") for version in ("1-0-0", "1-0-1", "1-1-0"))
        >>> [str(key.version) for key in kept_order([a, b], [[a, b], [a, c]])]
        ['1-0-0', '1-0-1', '1-1-0']
    """
    return tuple(dict.fromkeys((*before, *merged_order(orders))))


def orders_text(orders: Orders) -> str:
    """Return orders as their file holds them."""
    rows = {model.path: [str(key.version) for key in keys] for model, keys in orders.items()}
    return json.dumps({"form": _FORM, "orders": rows}) + "\n"


def parse_orders(text: str, place: str) -> Orders:
    """Return the orders that a file holds.

    Args:
        text: its content.
        place: the file, for errors.

    Raises:
        InvalidInput: the content is damaged, or of a later release. Without the orders, tables might change their columns.
    """
    try:
        found = json.loads(text)
        if found["form"] == _FORM:
            rows = {ModelKey.parse(path): versions for path, versions in found["orders"].items()}
            return {model: tuple(model.at(SchemaVer.parse(one)) for one in versions) for model, versions in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidName) as error:
        raise InvalidInput(f"{place}: expected the orders of schemas, got {shortened(text)}: {_REMEDY}") from error
    raise InvalidInput(f"{place} has the form {shortened(str(found['form']))} of a later release: run that release")
