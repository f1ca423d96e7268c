"""What a message about a new version reports of the change: the object `change` of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from onefold.changes.versions import ReportedChange
from onefold.messages.envelope import time_of
from onefold.mysql.ddl.masked import masked

_ORIGINS = ("capture", "pull", "registry")
_TEXTS = ("tenant", "statement", "version_before")
_QUOTES = frozenset("'\"")
"""What begins a literal that has no end, so that nobody can tell where it does."""


def reported_change(content: object) -> ReportedChange:
    """Return what the object `change` of a message reports.

    A field that is missing or has another form is left out: a hint that reports less is a hint all the same, and its table
    needs its views.

    Examples:
        >>> reported_change({"origin": "capture", "tenant": "shop_1", "changed_at": "2026-01-01T00:00:00Z"}).tenant
        'shop_1'
        >>> reported_change("unknown").origin
        'discovered'
    """
    if not isinstance(content, dict) or content.get("origin") not in _ORIGINS:
        return ReportedChange("discovered")
    texts = {name: content[name] for name in _TEXTS if isinstance(content.get(name), str)}
    if "statement" in texts:  # whoever published it: no literal gets into the ledger and onto a page
        statement = masked(texts["statement"])
        texts["statement"] = "" if set(statement) & _QUOTES else statement
    return ReportedChange(content["origin"], changed_at=time_of(content.get("changed_at")), **texts)


def change_content(reported: ReportedChange) -> dict[str, str]:
    """Return the object `change` of a message.

    Examples:
        >>> change_content(ReportedChange("capture", "shop_1", version_before="abc"))
        {'origin': 'capture', 'tenant': 'shop_1', 'version_before': 'abc'}
    """
    return {"origin": reported.origin, **dict(_filled(reported))}


def _filled(reported: ReportedChange) -> Iterator[tuple[str, str]]:
    texts: Mapping[str, Any] = {name: getattr(reported, name) for name in _TEXTS}
    yield from ((name, value) for name, value in texts.items() if value)
    if isinstance(reported.changed_at, datetime):
        yield "changed_at", reported.changed_at.isoformat()
