"""The definition of a view, which the embedded BigQuery does not return: it is stored as the view's friendly name."""

from __future__ import annotations

import json
from typing import Any


def definition_of(friendly_name: str | None) -> dict[str, Any]:
    """Return the definition that a view's friendly name holds; nothing for a view that somebody else created."""
    try:
        definition = json.loads(friendly_name or "{}")
    except ValueError:
        return {}
    return definition if isinstance(definition, dict) else {}
