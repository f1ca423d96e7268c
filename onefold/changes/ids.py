"""Identifiers of the ledger's entries: digests of what changed, so that a message that comes twice names one change."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from onefold.core.names import TableId, fold_case


def version_change_id(
    base: TableId, version_before: str, version_after: str, tenant: str = "", changed_at: datetime | None = None
) -> str:
    """Return the identifier of the change from one version of a table to the next: 32 hexadecimal digits.

    Args:
        base: the base name of the versioned tables, with project and dataset.
        version_before: the version before the change; empty for the first version of a table.
        version_after: the version after the change.
        tenant: the database whose table changed; empty for the change itself, which all tenants share.
        changed_at: when the table of a tenant changed: it may change back, and once more.

    Examples:
        >>> shop = TableId("p", "shop", "customer")
        >>> len(version_change_id(shop, "abc", "def"))
        32
        >>> version_change_id(shop, "abc", "def") == version_change_id(shop, "abc", "def", "shop_1")
        False
    """
    parts = (base.project or "", base.dataset or "", base.table, version_before, version_after, tenant)
    return digest("version", *parts, *([changed_at.isoformat()] if changed_at else []))


def version_entry_id(base: TableId, version: str, created: datetime | None) -> str:
    """Return the identifier of the entry about a version: 32 hexadecimal digits.

    It does not name the version before, which is another one for a message that comes again once that one is dropped.

    Args:
        base: the base name of the versioned tables, with project and dataset.
        version: the version.
        created: when its table was created; None where that is unknown. A table that was dropped and came again is another
            entry.

    Examples:
        >>> shop, noon = TableId("p", "shop", "customer"), datetime(2026, 1, 1, 12)
        >>> version_entry_id(shop, "abc", noon) == version_entry_id(shop, "abc", None)
        False
    """
    time = created.isoformat(timespec="milliseconds") if created else ""  # as exact as BigQuery's list of tables
    return digest("of version", base.project or "", base.dataset or "", base.table, version, time)


def version_id(base: TableId, version: str) -> str:
    """Return the identifier of what a version brings, whatever version comes before it: 32 hexadecimal digits.

    Decisions about columns are kept under it, too: it stays where the version before is dropped or retired.

    Args:
        base: the base name of the versioned tables, with project and dataset.
        version: the version.

    Examples:
        >>> shop = TableId("p", "shop", "customer")
        >>> version_id(shop, "abc") == version_change_id(shop, "", "abc")
        False
    """
    return digest("brought", base.project or "", base.dataset or "", base.table, version)


def column_change_id(base: TableId, path: str, type_: str) -> str:
    """Return the identifier of a column or field that came to a table in place: 32 hexadecimal digits.

    It is the same whatever other columns the table gains, and whichever of the tables of a united table has it.

    Args:
        base: the base name of the tables, with project and dataset.
        path: the column, or a field in the form `address.street`.
        type_: its type there: another type is another change.

    Examples:
        >>> shop = TableId("p", "shop", "customer")
        >>> column_change_id(shop, "Zip", "STRING") == column_change_id(shop, "zip", "STRING")
        True
    """
    return digest("column", base.project or "", base.dataset or "", base.table, fold_case(path), type_)


def new_columns_id(base: TableId) -> str:
    """Return the identifier of the new columns and fields of a table, whichever version brought them: 32 digits.

    A decision about one is kept under it, too: a column that was rejected stays so when that version is gone.

    Args:
        base: the base name of the tables, with project and dataset.
    """
    return digest("new columns", base.project or "", base.dataset or "", base.table)


def digest(kind: str, *parts: str) -> str:
    """Return 32 hexadecimal digits for some texts: equal for equal texts only.

    Args:
        kind: the kind of the entry, so that entries of two kinds never have one identifier.
        parts: what the entry is about.

    Examples:
        >>> digest("view", "ab", "c") == digest("view", "a", "bc")
        False
    """
    return hashlib.sha256(json.dumps([kind, *parts]).encode()).hexdigest()[:32]
