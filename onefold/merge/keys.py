"""The key of a captured table: its versions declare the key, or else its rows name it.

A thousand databases share one versioned table, so a row's key is (`source_name`, `database_name`, primary key). Where
versions do not declare the key, the latest change of each tenant names it, and all tenants have to agree. The key of a table
may change while its columns stay, and so its version: a declared key counts only until rows tell the key.
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
from onefold.core.errors import NothingToMerge, SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.merge.base_table import POSITION
from onefold.merge.change_query import MAX_TABLES, table_window
from onefold.merge.change_tables import ChangeTable
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING

_FIELDS = ("primary_key", "change_sequence_number")
"""The fields of a captured row's metadata that tell its key."""
_BY_HAND = "name the columns of the key with --keys, or as `keys` of the table in onefold.yaml"
_SHOWN = 5
"""How many tenants with the most common key an error names. It names all others."""


@dataclass(frozen=True)
class Tenant:
    """A database of a source."""

    source: str | None
    database: str | None

    def __str__(self) -> str:
        return f"{self.source}/{self.database}"


PrimaryKeys = Mapping[Tenant, tuple[str, ...]]
"""The columns of the key of each tenant; no columns for a tenant without a key."""


def captured_keys(
    warehouse: BaseWarehouse, table: TableId, changes: Iterable[ChangeTable], base_keys: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the columns that identify a row of a captured table; none where the table is not captured.

    Args:
        warehouse: where the tables are.
        table: the table, for errors.
        changes: its change tables; where there is a base, in the windows that no merge has read.
        base_keys: the keys of the base, which it keeps; none where there is no base.

    Raises:
        SchemaConflict: tenants have no key, do not agree, or have another key than the base; the error names all of them. Or
            the declared key is not that of the base.
        NothingToMerge: no version declares a key, and no row has landed.
    """
    captured = [one for one in changes if is_captured(one.version.columns) and not one.added]
    if not captured:
        return ()
    declared = _declared_key(warehouse, captured)
    found = read_primary_keys(warehouse, captured)
    if not base_keys:
        return (SOURCE_NAME, DATABASE_NAME, *_present_key(table, declared, found))
    is_declared = same_columns(base_keys, (SOURCE_NAME, DATABASE_NAME, *declared))
    if others_than(base_keys, found) or (declared and not found and not is_declared):
        # A late change may name an earlier key. Only the whole history tells whether it is the latest key.
        found = read_primary_keys(warehouse, [replace(source, since=None) for source in captured])
    if declared and not found and not is_declared:
        raise SchemaConflict([_other_key_is_declared(table, base_keys, declared)])
    check_unchanged(table, base_keys, found)
    return tuple(base_keys)


def still_key(warehouse: BaseWarehouse, changes: Iterable[ChangeTable], keys: Sequence[str]) -> bool:
    """Return whether no version of a captured table declares another key; versions without a declared key say nothing.

    Args:
        warehouse: where the tables are.
        changes: the change tables.
        keys: the columns that were found to be the key, tenant included.
    """
    captured = [one for one in changes if is_captured(one.version.columns) and not one.added]
    return all(same_columns(key, source_key(keys)) for key in _declared(warehouse, captured).values())


def _declared(warehouse: BaseWarehouse, captured: Sequence[ChangeTable]) -> dict[str, tuple[str, ...]]:
    """Return the primary keys that versions declare, by version; versions without one are left out."""
    groups = (captured[start : start + MAX_TABLES] for start in range(0, len(captured), MAX_TABLES))
    found = {id_: key for group in groups for id_, key in warehouse.declared_keys([one.id for one in group]).items()}
    return {one.version.id: key for one in captured if (key := source_key(found.get(one.id, ())))}


def _declared_key(warehouse: BaseWarehouse, captured: Sequence[ChangeTable]) -> tuple[str, ...]:
    """Return the primary key of all versions that declare one; none where they do not agree, or all are silent.

    Versions that declare no key are older, or have a key that cannot be declared.
    """
    declared = list(_declared(warehouse, captured).values())
    return declared[0] if _are_same(declared) else ()


def _present_key(table: TableId, declared: tuple[str, ...], found: PrimaryKeys) -> tuple[str, ...]:
    """Return the key on which all tenants agree, spelled as it is declared; where no row has landed, the declared one.

    Not even one tenant may have another key: its rows would hide each other, or be shown after they were updated.
    """
    if declared and not found:
        return declared
    agreed = agreed_key(table, found)
    return declared if same_columns(declared, agreed) else agreed


def _are_same(keys: Sequence[Sequence[str]]) -> bool:
    """Return whether there are keys, and all of them have the same columns."""
    return bool(keys) and all(same_columns(key, keys[0]) for key in keys)


def _other_key_is_declared(table: TableId, base_keys: Sequence[str], declared: Sequence[str]) -> str:
    return (
        f"{table}: its versions declare the key {shown_list(declared)}, and its base was made with "
        f"{shown_list(base_keys)}: {_other_key_advice(table)}"
    )


def is_captured(columns: Iterable[Column]) -> bool:
    """Return whether each row names its tenant and its key."""
    schema = Schema(columns)
    tenant, metadata = schema.only((SOURCE_NAME, DATABASE_NAME)), metadata_of(schema)
    fields = {name: field.type for name in _FIELDS if (field := metadata.get(name))}
    return [column.type for column in tenant] == [STRING, STRING] and fields == {
        name: CAPTURE_FIELDS[name] for name in _FIELDS
    }


def read_primary_keys(warehouse: BaseWarehouse, changes: Sequence[ChangeTable]) -> PrimaryKeys:
    """Return the key that the latest change of each tenant names."""
    groups = (changes[start : start + MAX_TABLES] for start in range(0, len(changes), MAX_TABLES))
    return latest_keys(row for group in groups for row in warehouse.fetch(keys_query(group)))


def keys_query(changes: Iterable[ChangeTable]) -> str:
    """Return a query of every key that a tenant has had, with the position of the last change that names the key.

    The query reads four narrow columns.
    """
    # The sequence of capture alone is a total order, so the other parts of a position are not needed.
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
    """Return the latest key of each tenant, from rows of `keys_query` in any order.

    Examples:
        >>> row = {"source_name": "s", "database_name": "d"}
        >>> changes = [("2", '["id"]'), ("1", '["no"]')]
        >>> latest_keys(row | {"primary_key": key, "_position": position} for position, key in changes)
        {Tenant(source='s', database='d'): ('id',)}
    """
    latest: dict[Tenant, tuple[str, str]] = {}
    for row in rows:
        tenant, change = Tenant(row["source_name"], row["database_name"]), (row[POSITION], row["primary_key"] or "[]")
        latest[tenant] = max(change, latest.get(tenant, change))
    return {tenant: tuple(json.loads(latest[tenant][1]) or ()) for tenant in sorted(latest, key=str)}


def agreed_key(table: TableId, keys: PrimaryKeys, base_keys: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the one primary key of all tenants: the same columns in any order and spelling.

    Args:
        table: the table, for errors.
        keys: the primary key of each tenant.
        base_keys: the keys of the base, for errors; none where there is no base.

    Raises:
        SchemaConflict: tenants have no key or do not agree; the error names all of them.
        NothingToMerge: no row has landed.

    Examples:
        >>> agreed_key(TableId("p", "d", "customer"), {Tenant("s", "a"): ("id",), Tenant("s", "b"): ("ID",)})
        ('id',)
    """
    if not keys:
        raise NothingToMerge(f"{table}: no row has landed yet that tells its key: wait for the first, or {_BY_HAND}")
    tenants = _by_key(keys)
    keyless = tenants.pop(frozenset(), [])
    problems = [_keyless(table, keyless)] if keyless else []
    if len(tenants) > 1:
        problems.append(_disagreement(table, tenants, keys, base_keys))
    if problems:
        raise SchemaConflict(problems)
    return next(iter(keys.values()))


def check_unchanged(table: TableId, base_keys: Sequence[str], keys: PrimaryKeys) -> None:
    """Check that every tenant still has the key with which the base was made.

    Args:
        table: the table, for errors.
        base_keys: the keys of the base.
        keys: the primary key of each tenant.

    Raises:
        SchemaConflict: names every tenant that has another key, or none.
    """
    if not others_than(base_keys, keys):
        return
    agreed = agreed_key(table, keys, base_keys)
    raise SchemaConflict(
        f"{table}: the key is {shown_list(agreed)} by now in {_all(keys)}, and its base was made with "
        f"{shown_list(base_keys)}: {_other_key_advice(table)}"
    )


def others_than(base_keys: Sequence[str], keys: PrimaryKeys) -> PrimaryKeys:
    """Return the tenants whose rows other columns than the base's keys identify, with their primary keys."""
    base = _folded(base_keys)
    return {tenant: key for tenant, key in keys.items() if _folded((SOURCE_NAME, DATABASE_NAME, *key)) != base}


def _branch(source: ChangeTable) -> str:
    window = table_window("v.", source)
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


def _other_key_advice(table: TableId) -> str:
    return f"drop {table}_base, for the next merge to make it anew by the present key; to keep the base's, {_BY_HAND}"


def _keyless(table: TableId, tenants: Sequence[Tenant]) -> str:
    return (
        f"{table}: there is no key in {_all(tenants)}: give the table one there, which its next change tells; or exclude it "
        f"from capture and delete its rows; or {_BY_HAND}"
    )


def _disagreement(
    table: TableId, tenants: Mapping[frozenset[str], Sequence[Tenant]], keys: PrimaryKeys, base_keys: Sequence[str]
) -> str:
    most, *others = sorted(tenants.values(), key=len, reverse=True)
    parts = [f"{shown_list(keys[most[0]])} in {_some(most)}"]
    parts += [f"{shown_list(keys[some[0]])} in {_all(some)}" for some in others]
    shortest = sorted((keys[some[0]] for some in tenants.values()), key=len)
    together = {fold_case(name): name for key in [(SOURCE_NAME, DATABASE_NAME), *shortest] for name in key}
    return (
        f"{table}: the key is {', but '.join(parts)}: give the table the same key everywhere, which the next change tells; "
        f"or exclude some from capture and delete their rows; or {_by_all(table, tuple(together.values()), base_keys)}"
    )


def _by_all(table: TableId, keys: Sequence[str], base_keys: Sequence[str]) -> str:
    """Return the advice to tell rows apart by the columns of all keys, so that none hides another."""
    first = "" if not base_keys or same_columns(keys, base_keys) else f"drop {table}_base and "
    line = f"keys: {json.dumps(list(keys), ensure_ascii=False)}"
    return f"{first}set `{line}` for {table.table} under `tables` in onefold.yaml, so that no row hides another"


def _all(tenants: Iterable[Tenant]) -> str:
    return shown_list(tenants)


def _some(tenants: Sequence[Tenant]) -> str:
    return shown_list(tenants, _SHOWN)
