"""What the text of a view reads: versions, by their tables or by its comment, and leaves."""

from __future__ import annotations

import re

from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames

COVERS = "-- versions: "
"""The start of the comment with which a view over leaves notes the versions that its leaves read."""


def covered_versions(query: str, base: str, names: VersionedNames = DEFAULT_NAMES) -> frozenset[str]:
    """Return the versions of `base` that a view's text reads, itself or through its leaves.

    Args:
        query: the text of the view.
        base: the base name of the versions.
        names: the form of the names of versions.

    Examples:
        >>> sorted(covered_versions("SELECT `customer_v_no` FROM `p.shop.customer_v_a1` AS v", "customer"))
        ['a1']
    """
    read = (names.version_of(base, table) for table in tables_read(query))
    return frozenset(version for version in read if version) | noted_versions(query)


def tables_read(query: str) -> frozenset[str]:
    """Return the names of the tables and leaves that a view's text reads, without project and dataset.

    Examples:
        >>> sorted(tables_read("SELECT `b` FROM `p.shop.customer_v_a1` AS v"))
        ['customer_v_a1']
    """
    return frozenset(id_.table for id_ in ids_read(query))


def ids_read(query: str) -> frozenset[TableId]:
    """Return the tables and leaves that a view's text reads, with project and dataset as far as the text has them.

    Examples:
        >>> [str(id_) for id_ in ids_read("SELECT `b` FROM `p.shop.customer_v_a1` AS v")]
        ['p.shop.customer_v_a1']
    """
    # Only names after FROM are tables: a column may be named like a table. A project may have dots (example.com:p).
    found = (name.rpartition(".") for name in re.findall(r"\bFROM `([^`]+)`", query))
    places = ((place.rpartition("."), table) for place, _, table in found)
    return frozenset(TableId(project or None, dataset or None, table) for (project, _, dataset), table in places if table)


def noted_versions(query: str) -> frozenset[str]:
    """Return the versions that the text of a view over leaves notes in its comment."""
    lines = (line[len(COVERS) :] for line in query.splitlines() if line.startswith(COVERS))
    return frozenset(version for line in lines for version in line.split())
