"""What a message about a new version tells of the change: `change` beside the name of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from onefold.changes.versions import ToldChange
from onefold.messages.envelope import time_of

_ORIGINS = ("capture", "pull", "registry")
_TEXTS = ("tenant", "statement", "version_before")


def told_change(content: object) -> ToldChange:
    """Return what the object `change` of a message tells.

    A field that is missing or has another form is left out: a hint that tells less is a hint all the same, and its table
    needs its views.

    Examples:
        >>> told_change({"origin": "capture", "tenant": "shop_1", "changed_at": "2026-01-01T00:00:00Z"}).tenant
        'shop_1'
        >>> told_change("unknown").origin
        'discovered'
    """
    if not isinstance(content, dict) or content.get("origin") not in _ORIGINS:
        return ToldChange("discovered")
    texts = {name: content[name] for name in _TEXTS if isinstance(content.get(name), str)}
    return ToldChange(content["origin"], changed_at=time_of(content.get("changed_at")), **texts)


def change_content(told: ToldChange) -> dict[str, str]:
    """Return the object `change` of a message.

    Examples:
        >>> change_content(ToldChange("capture", "shop_1", version_before="abc"))
        {'origin': 'capture', 'tenant': 'shop_1', 'version_before': 'abc'}
    """
    return {"origin": told.origin, **dict(_filled(told))}


def _filled(told: ToldChange) -> Iterator[tuple[str, str]]:
    texts: Mapping[str, Any] = {name: getattr(told, name) for name in _TEXTS}
    yield from ((name, value) for name, value in texts.items() if value)
    if isinstance(told.changed_at, datetime):
        yield "changed_at", told.changed_at.isoformat()
