"""Plain change tables: tables that others write under the tables' own names, as Datastream does into BigQuery.

Datastream adds a column `datastream_metadata` to each table. In append-only mode the column has `change_type`; in merge mode
it has `uuid` and `source_timestamp` only, and `is_deleted` where the table has no key at the source (Google Cloud,
"Datastream: BigQuery destination", https://cloud.google.com/datastream/docs/destination-bigquery, 2026-11).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from onefold.changelog.metadata import metadata_of
from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX, problems_of_name
from onefold.core.versioned_names import VersionedNames
from onefold.schema.columns import Column
from onefold.schema.plain_table import PlainMode
from onefold.schema.types import Struct, Type

_OWN_PREFIXES = (TEMPORARY_PREFIX, LEAF_PREFIX)
_OWN_SUFFIXES = ("_base", "_merges")


def plain_modes(
    tables: Collection[str],
    metadata: Mapping[str, Type],
    names: VersionedNames,
    declared: Collection[str] = (),
    of_tools: Collection[str] = (),
) -> dict[str, PlainMode]:
    """Return the plain change tables among the tables of a dataset, by name, with what their rows are.

    A table that Onefold writes is none: neither a base or a log of merges, nor a temporary table, nor a version or what
    looks like one. A table that has versions is none either, nor one that `include` and `exclude` leave out. A copy of rows
    that capture wrote counts only where it is declared.

    Args:
        tables: the names of all tables of the dataset that are not views.
        metadata: the type of `datastream_metadata` in each table that has this column.
        names: the naming of versioned tables, which knows the tables of the dataset.
        declared: the tables whose key onefold.yaml declares.
        of_tools: the tables whose tool onefold.yaml names.

    Examples:
        >>> from onefold.changelog.metadata import METADATA_FIELDS, metadata_type
        >>> metadata = {"orders": metadata_type(METADATA_FIELDS), "customer_v_abc": metadata_type(METADATA_FIELDS)}
        >>> plain_modes(["orders", "orders_base", "customer_v_abc"], metadata, VersionedNames())
        {'orders': 'changes'}
    """
    versioned = {split[0] for table in tables if (split := names.split(table))}
    left_out = {*versioned, *(skipped.table for skipped in names.skipped(tables))}
    found = {}
    for name in sorted(set(tables) - left_out):
        otherwise: PlainMode | None = "tool" if name in of_tools else "direct" if name in declared else None
        mode = _mode(metadata.get(name, Struct(())), otherwise)
        # A base has no change metadata and none of a tool's columns: a table of its name that has them is another's.
        is_ours = name.startswith(_OWN_PREFIXES) or (mode == "direct" and _is_base_or_log(name, tables))
        is_usable = not names.split(name) and not names.exclusion_reason(name) and not problems_of_name("table", name)
        if mode and is_usable and not is_ours:
            found[name] = mode
    return found


def is_current_already(columns: Sequence[Column]) -> bool:
    """Return whether a table has one row for each key, because Datastream's merge mode writes it.

    Examples:
        >>> from onefold.changelog.metadata import METADATA, metadata_type
        >>> from onefold.schema.types import STRING, Scalar
        >>> fields = {"uuid": STRING, "source_timestamp": Scalar("INT64")}
        >>> is_current_already([Column(METADATA, metadata_type(fields))])
        True
    """
    return _mode(metadata_of(columns)) == "current"


def may_be_plain(columns: Sequence[Column], *, declared: bool) -> bool:
    """Return whether a table of these columns may be a plain change table; the names of its dataset decide.

    Args:
        columns: the columns of the table.
        declared: whether onefold.yaml declares the key of the table, or names its tool.
    """
    return _mode(metadata_of(columns), "direct" if declared else None) is not None


def _mode(metadata: Type, otherwise: PlainMode | None = None) -> PlainMode | None:
    fields = {field.name.lower() for field in metadata.fields} if isinstance(metadata, Struct) else set()
    if "change_type" in fields:
        return "changes" if otherwise or "primary_key" not in fields else None
    if {"uuid", "source_timestamp"} <= fields:
        return "current"
    return otherwise


def _is_base_or_log(name: str, tables: Collection[str]) -> bool:
    return any(name.endswith(suffix) and name.removesuffix(suffix) in tables for suffix in _OWN_SUFFIXES)
