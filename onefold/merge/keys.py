"""The key of a captured table: its versions declare it; where one does not, the rows tell.

A thousand databases share one versioned table, so a row's key is (`source_name`, `database_name`, primary key). Where rows
tell it, the latest change of each tenant does, and all tenants have to agree.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

from onefold.changelog.declared_keys import same_columns, source_key
from onefold.changelog.metadata import CAPTURE_FIELDS, DATABASE_NAME, SOURCE_NAME, metadata_of, metadata_sql
from onefold.changelog.position import sequence_sql
from onefold.core.errors import NotFound, SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.merge.base_table import POSITION
from onefold.merge.change_query import MAX_TABLES, ChangeTable, window_sql
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING

_FIELDS = ("primary_key", "change_sequence_number")
"""What is read of the metadata of a captured row."""
_BY_HAND = "name the columns of the key with --keys, or as `keys` of the table in onefold.yaml"
_SHOWN = 5
"""Of the tenants that have the most common key so many are named, of the others all."""


@dataclass(frozen=True)
class Tenant:
    source: str | None
    database: str | None

    def __str__(self) -> str:
        return f"{self.source}/{self.database}"


PrimaryKeys = Mapping[Tenant, tuple[str, ...]]
"""Of each tenant the key's columns, none where it has no key."""


def captured_keys(
    warehouse: BaseWarehouse, table: TableId, changes: Iterable[ChangeTable], base_keys: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns that identify a row of a captured table; none where the table is not captured.

    Args:
        changes: its versions; where there is a base, in the windows that no merge has read.
        base_keys: those that the base was made with. It keeps them.

    Raises:
        SchemaConflict: names every tenant without a key and all that do not agree, or whose key is not the base's any more;
            or the declared key is not the base's.
        NotFound: no version declares a key, and no row has landed.
    """
    captured = [source for source in changes if is_captured(source.version.columns)]
    if not captured:
        return ()
    declared = _declared_key(warehouse, captured)
    if declared:
        _check_declared(table, base_keys, declared)
        return tuple(base_keys) or (SOURCE_NAME, DATABASE_NAME, *declared)
    found = read_primary_keys(warehouse, captured)
    if not base_keys:
        return (SOURCE_NAME, DATABASE_NAME, *agreed_key(table, found))
    if others_than(base_keys, found):
        # A late change may tell an earlier key: whether it is the latest one, only the whole history knows.
        found = read_primary_keys(warehouse, [replace(source, since=None) for source in captured])
    check_unchanged(table, base_keys, found)
    return tuple(base_keys)


def _declared_key(warehouse: BaseWarehouse, captured: Sequence[ChangeTable]) -> tuple[str, ...]:
    """The primary key that all versions declare; none where they do not agree.

    Versions that declare none are older, or have a key that cannot be declared: what their rows say has to agree, too.
    """
    groups = (captured[start : start + MAX_TABLES] for start in range(0, len(captured), MAX_TABLES))
    found = {id_: key for group in groups for id_, key in warehouse.declared_keys([one.id for one in group]).items()}
    declared = {one.id: key for one in captured if (key := source_key(found.get(one.id, ())))}
    keys = list(declared.values())
    if not keys or not all(same_columns(key, keys[0]) for key in keys):
        return ()
    silent = [one for one in captured if one.id not in declared]
    told = read_primary_keys(warehouse, silent) if silent else {}
    return keys[0] if all(same_columns(key, keys[0]) for key in told.values()) else ()


def _check_declared(table: TableId, base_keys: Sequence[str], declared: Sequence[str]) -> None:
    """Raise SchemaConflict where a base was made with another key than its versions declare."""
    if base_keys and not same_columns(base_keys, (SOURCE_NAME, DATABASE_NAME, *declared)):
        raise SchemaConflict(
            [
                f"{table}: its versions declare the key {', '.join(declared)}, and its base was made with "
                f"{', '.join(base_keys)}: {_anew(table)}"
            ]
        )


def is_captured(columns: Iterable[Column]) -> bool:
    """Whether each row says which tenant it is of, and what its key is."""
    schema = Schema(columns)
    tenant, metadata = schema.only((SOURCE_NAME, DATABASE_NAME)), metadata_of(schema)
    fields = {name: field.type for name in _FIELDS if (field := metadata.get(name))}
    return [column.type for column in tenant] == [STRING, STRING] and fields == {
        name: CAPTURE_FIELDS[name] for name in _FIELDS
    }


def read_primary_keys(warehouse: BaseWarehouse, changes: Sequence[ChangeTable]) -> PrimaryKeys:
    """What the latest change of each tenant says its key is."""
    groups = (changes[start : start + MAX_TABLES] for start in range(0, len(changes), MAX_TABLES))
    return latest_keys(row for group in groups for row in warehouse.fetch(keys_query(group)))


def keys_query(changes: Iterable[ChangeTable]) -> str:
    """Every key that a tenant has had, with the place of the last change that said so. It reads four narrow columns."""
    # Capture's sequence alone is a total order.
    position = sequence_sql("r.change_sequence_number")
    rows = "\nUNION ALL\n".join(map(_branch, changes))
    return (
        f"SELECT p.source_name, p.database_name, p.primary_key, MAX(p.{POSITION}) AS {POSITION}\n"
        "FROM (\n"
        f"  SELECT r.source_name, r.database_name, r.primary_key, {position} AS {POSITION}\n"
        f"  FROM (\n{indent(rows, '    ')}\n  ) AS r\n"
        ") AS p\n"
        "GROUP BY p.source_name, p.database_name, p.primary_key"
    )


def latest_keys(rows: Iterable[Mapping[str, Any]]) -> PrimaryKeys:
    """Rows of `keys_query`, in any order and of any number of queries."""
    latest: dict[Tenant, tuple[str, str]] = {}
    for row in rows:
        tenant, said = Tenant(row["source_name"], row["database_name"]), (row[POSITION], row["primary_key"] or "[]")
        latest[tenant] = max(said, latest.get(tenant, said))
    return {tenant: tuple(json.loads(latest[tenant][1]) or ()) for tenant in sorted(latest, key=str)}


def agreed_key(table: TableId, keys: PrimaryKeys) -> tuple[str, ...]:
    """The one primary key of all tenants: the same columns in any order and spelling.

    Raises:
        SchemaConflict, NotFound: as `captured_keys`.
    """
    if not keys:
        raise NotFound(f"{table}: no row has landed yet that tells its key: wait for the first, or {_BY_HAND}")
    tenants = _by_key(keys)
    keyless = tenants.pop(frozenset(), [])
    problems = [_keyless(table, keyless)] if keyless else []
    if len(tenants) > 1:
        problems.append(_disagreement(table, tenants, keys))
    if problems:
        raise SchemaConflict(problems)
    return next(iter(keys.values()))


def check_unchanged(table: TableId, base_keys: Sequence[str], keys: PrimaryKeys) -> None:
    """Raise SchemaConflict with every tenant whose key is not the one that the base was made with."""
    tenants = _by_key(others_than(base_keys, keys))
    keyless = tenants.pop(frozenset(), [])
    problems = [_keyless(table, keyless)] if keyless else []
    problems += [
        f"{table}: the key is {', '.join(keys[changed[0]])} by now in {_all(changed)}, and its base was made with "
        f"{', '.join(base_keys)}: {_anew(table)}"
        for changed in tenants.values()
    ]
    if problems:
        raise SchemaConflict(problems)


def others_than(base_keys: Sequence[str], keys: PrimaryKeys) -> PrimaryKeys:
    """The tenants whose rows other columns identify."""
    base = _folded(base_keys)
    return {tenant: key for tenant, key in keys.items() if _folded((SOURCE_NAME, DATABASE_NAME, *key)) != base}


def _branch(source: ChangeTable) -> str:
    window = window_sql("v.", source.since, source.until)
    return (
        f"SELECT v.{SOURCE_NAME}, v.{DATABASE_NAME}, TO_JSON_STRING({metadata_sql('v', 'primary_key')}) AS primary_key, "
        f"{metadata_sql('v', 'change_sequence_number')}\n"
        f"FROM {source.id.quoted} AS v" + (f"\nWHERE {window}" if window else "")
    )


def _by_key(keys: PrimaryKeys) -> dict[frozenset[str], list[Tenant]]:
    tenants: defaultdict[frozenset[str], list[Tenant]] = defaultdict(list)
    for tenant, key in keys.items():
        tenants[_folded(key)].append(tenant)
    return dict(tenants)


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(fold_case, names))


def _anew(table: TableId) -> str:
    return f"drop {table}_base, for the next merge to make it anew by the present key; to keep the base's, {_BY_HAND}"


def _keyless(table: TableId, tenants: Sequence[Tenant]) -> str:
    return (
        f"{table}: there is no key in {_all(tenants)}: give the table one there, which its next change tells; or exclude it "
        f"from capture and delete its rows; or {_BY_HAND}"
    )


def _disagreement(table: TableId, tenants: Mapping[frozenset[str], Sequence[Tenant]], keys: PrimaryKeys) -> str:
    most, *others = sorted(tenants.values(), key=len, reverse=True)
    told = [f"{', '.join(keys[most[0]])} in {_some(most)}"]
    told += [f"{', '.join(keys[some[0]])} in {_all(some)}" for some in others]
    return (
        f"{table}: the key is {', but '.join(told)}: give the table the same key everywhere, which the next change tells; "
        f"or exclude some from capture and delete their rows; or {_BY_HAND}"
    )


def _all(tenants: Iterable[Tenant]) -> str:
    return ", ".join(map(str, tenants))


def _some(tenants: Sequence[Tenant]) -> str:
    more = len(tenants) - _SHOWN
    return f"{_all(tenants[:_SHOWN])} and {more} more" if more > 0 else _all(tenants)
