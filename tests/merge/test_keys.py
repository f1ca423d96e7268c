"""The keys of captured tables: every tenant's latest change says them, and all tenants have to agree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE
from support.cli import Run
from support.merge_shop import now
from support.tenants import CODE, ID, NAME, ONE, TWO, create, land, row, version
from support.zetasql_judge import Judge, literals

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT, EmulatedWarehouse
from onefold.capture.versioned_table import VersionedTable
from onefold.changelog.metadata import METADATA
from onefold.core.errors import NotFound, SchemaConflict
from onefold.core.names import TableId
from onefold.merge.change_tables import ChangeTable
from onefold.merge.keys import (
    PrimaryKeys,
    Tenant,
    agreed_key,
    captured_keys,
    check_unchanged,
    is_captured,
    keys_query,
    latest_keys,
)
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.schema.versions import Version

GOLDEN = Path(__file__).parents[1] / "golden" / "captured" / "keys.sql"
TABLE = TableId("my-project", "shop", "customer")
SINCE = datetime(2024, 5, 1, tzinfo=UTC)
CHANGES = (
    ChangeTable(TABLE.sibling("customer_v_one"), Version("one", ONE.columns), SINCE),
    ChangeTable(TABLE.sibling("customer_v_two"), Version("two", TWO.columns)),
)
TABLES = {str(source.id): [(column.name, str(column.type)) for column in source.version.columns] for source in CHANGES}
TENANT = ("source_name", "database_name")


def keys(**of: tuple[str, ...]) -> PrimaryKeys:
    """What the databases of one source say."""
    return {Tenant("eu", database): key for database, key in of.items()}


# What is read


def test_the_text_of_the_query_is_as_it_was_read() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(keys_query(CHANGES) + "\n", encoding="utf-8")
    assert keys_query(CHANGES) + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_of_each_tenant_and_key_the_last_position_is_read_numbers_as_numbers(judge: Judge) -> None:
    rows = (
        ("eu", "a", "['id']", "9"),
        ("eu", "a", "['id']", "10/1"),
        ("eu", "a", "['code', 'id']", "B"),
        ("us", "a", "[]", "1"),
    )
    content = {str(source.id): literal_rows(source, rows[at::2]) for at, source in enumerate(CHANGES)}
    found = judge.rows(keys_query(CHANGES), TABLES, content)
    positions = {(source, database, key): position for source, database, key, position in found}
    assert set(positions) == {("eu", "a", '["id"]'), ("eu", "a", '["code","id"]'), ("us", "a", "[]")}
    assert positions["eu", "a", '["id"]'] > positions["eu", "a", '["code","id"]']


def literal_rows(source: ChangeTable, rows: tuple[tuple[str, ...], ...]) -> str:
    """Rows as literals: tenant, key and sequence; all else NULL."""
    columns = TABLES[str(source.id)]
    metadata = dict(columns)[METADATA]
    cells = []
    for source_name, database_name, key, sequence in rows:
        known = {
            "source_name": f"'{source_name}'",
            "database_name": f"'{database_name}'",
            METADATA: f"STRUCT('', 1, '{sequence}', 'INSERT', NULL, 'BINLOG', CAST({key} AS ARRAY<STRING>))",
        }
        assert metadata.endswith("primary_key ARRAY<STRING>>")
        cells.append([known.get(name, "NULL") for name, _ in columns])
    return literals(columns, cells)


def test_the_latest_change_of_a_tenant_says_its_key_in_whichever_version_it_landed() -> None:
    rows = [
        said("eu", "a", '["id"]', "5"),
        said("eu", "a", '["code"]', "7"),
        said("eu", "a", '["name"]', "6"),
        said("us", "a", "[]"),
    ]
    assert latest_keys(rows) == latest_keys(reversed(rows)) == {Tenant("eu", "a"): ("code",), Tenant("us", "a"): ()}


def said(source: str, database: str, key: str, position: str = "1") -> Mapping[str, Any]:
    return {"source_name": source, "database_name": database, "primary_key": key, "_position": position}


# What they have to agree on


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        (keys(a=("id",), b=("id",)), ("id",)),
        (keys(a=("id",), b=("ID",)), ("id",)),
        (keys(a=("shop", "id"), b=("Id", "Shop")), ("shop", "id")),
    ],
    ids=["the same", "in another case", "in another order"],
)
def test_tenants_that_agree_have_a_key(declared: PrimaryKeys, key: tuple[str, ...]) -> None:
    assert agreed_key(TABLE, declared) == key


def test_tenants_without_a_key_and_those_that_disagree_are_named_in_one_error() -> None:
    many = {f"t{number}": ("id",) for number in range(9)}
    with pytest.raises(SchemaConflict) as raised:
        agreed_key(TABLE, keys(x=(), y=(), p=("code",), q=("CODE",), r=("id", "code"), **many))
    keyless, different = raised.value.problems
    assert keyless.startswith("my-project.shop.customer: there is no key in eu/x, eu/y: give the table one there")
    assert "the key is id in eu/t0, eu/t1, eu/t2, eu/t3, eu/t4 and 4 more, but code in eu/p, eu/q, but id, " in different
    assert all("--keys" in problem and "onefold.yaml" in problem for problem in raised.value.problems)


def test_where_nothing_has_landed_nothing_says_the_key() -> None:
    with pytest.raises(NotFound, match="no row has landed yet"):
        agreed_key(TABLE, {})


def test_a_base_keeps_its_keys_and_tenants_that_have_others_by_now_are_named() -> None:
    made_with = ("Source_Name", "database_name", "ID")
    check_unchanged(TABLE, made_with, keys(a=("id",), b=("Id",)))
    check_unchanged(TABLE, made_with, {})
    with pytest.raises(SchemaConflict) as raised:
        check_unchanged(TABLE, made_with, keys(a=("id",), b=("code",), c=("Code",), d=(), e=("id", "code")))
    keyless, code, both = raised.value.problems
    assert "no key in eu/d" in keyless
    assert "the key is code by now in eu/b, eu/c, and its base was made with Source_Name, database_name, ID: drop " in code
    assert "the key is id, code by now in eu/e" in both


@pytest.mark.parametrize(
    "columns",
    [
        {"id": "INT64", METADATA: METADATA_TYPE},
        {"source_name": "STRING", "database_name": "STRING", METADATA: METADATA_TYPE},
        {"source_name": "STRING", "database_name": "STRING"},
        {"database_name": "STRING", METADATA: str(ONE.columns[-1].type)},
        {"source_name": "INT64", "database_name": "INT64", METADATA: str(ONE.columns[-1].type)},
        {"source_name": "STRING", "database_name": "STRING", METADATA: "STRING"},
    ],
)
def test_a_table_whose_rows_do_not_tell_tenant_and_key_is_not_captured(columns: dict[str, str]) -> None:
    assert not is_captured([Column(name, parse_type(type_)) for name, type_ in columns.items()])
    assert is_captured(ONE.columns)


# What versions declare


class WithoutRows(EmulatedWarehouse):
    """Answers no query: what is known without one shows."""

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        raise AssertionError(sql)


def declare(dataset: EmulatedDataset, declared: Mapping[VersionedTable, tuple[str, ...]]) -> EmulatedWarehouse:
    """Versions that are created with the key that each declares."""
    warehouse = EmulatedWarehouse(dataset.client)
    for table, key in declared.items():
        warehouse.create_table(customer(dataset).sibling(table.name), table.columns, primary_key=key)
    return warehouse


def test_a_declared_key_is_known_before_a_row_has_landed_and_without_a_query(dataset: EmulatedDataset) -> None:
    declare(dataset, {ONE: (*TENANT, "id", "code"), TWO: (*TENANT, "Code", "ID")})
    table = customer(dataset)
    changes = [ChangeTable(table.sibling(found.name), Version(found.version, found.columns)) for found in (ONE, TWO)]
    for base_keys in [(), (*TENANT, "id", "code"), ("CODE", "Database_Name", "id", "source_name")]:
        found = captured_keys(WithoutRows(dataset.client), table, changes, base_keys)
        assert found == (base_keys or (*TENANT, "id", "code"))
    with pytest.raises(SchemaConflict) as raised:
        captured_keys(WithoutRows(dataset.client), table, changes, (*TENANT, "id"))
    (problem,) = raised.value.problems
    assert (
        "its versions declare the key id, code, and its base was made with source_name, database_name, id: drop " in problem
    )


def test_rows_of_a_tenant_with_another_key_change_nothing_where_a_key_is_declared(dataset: EmulatedDataset) -> None:
    """Capture reports such a tenant when it is first seen."""
    declare(dataset, {ONE: (*TENANT, "id"), TWO: (*TENANT, "id")})
    land(dataset, ONE, row("eu/a", "1", ("code",)), row("eu/b", "1", ()))
    assert read(dataset) == (*TENANT, "id")


def test_an_older_version_tells_its_key_by_its_rows_and_has_to_agree(dataset: EmulatedDataset) -> None:
    create(dataset, ONE)
    declare(dataset, {TWO: (*TENANT, "id")})
    assert read(dataset) == (*TENANT, "id")
    land(dataset, ONE, row("eu/a", "1", ("ID",)))
    assert read(dataset) == (*TENANT, "id")
    # Where it does not agree, the latest change of each tenant decides, of all versions.
    land(dataset, ONE, row("eu/a", "2", ("code",)), row("eu/b", "1", ("code",)))
    with pytest.raises(SchemaConflict, match="the key is code by now in eu/a, eu/b"):
        read(dataset, *TENANT, "id")
    assert read(dataset) == (*TENANT, "code")
    land(dataset, TWO, row("eu/a", "3"), row("eu/b", "3"))
    assert read(dataset) == (*TENANT, "id")


@pytest.mark.parametrize(
    "declared",
    [{ONE: (*TENANT, "id"), TWO: (*TENANT, "code")}, {ONE: ("id",), TWO: ("id", "database_name")}, {ONE: (), TWO: ()}],
    ids=["versions disagree", "without the tenant", "none"],
)
def test_where_no_one_key_is_declared_the_rows_tell_it(
    dataset: EmulatedDataset, declared: Mapping[VersionedTable, tuple[str, ...]]
) -> None:
    declare(dataset, declared)
    with pytest.raises(NotFound, match="no row has landed yet"):
        read(dataset)
    land(dataset, ONE, row("eu/a", "1", ("name",)))
    assert read(dataset) == (*TENANT, "name")


def test_a_declared_key_makes_the_view_and_the_base(run: Run, dataset: EmulatedDataset) -> None:
    declare(dataset, {ONE: (*TENANT, "code")})
    land(dataset, ONE, row("eu/a", "1", id=1, code=7, name="a"), row("eu/a", "2", id=2, code=7, name="b"))
    assert run("current", dataset.name, "customer").code == 0
    assert current(dataset) == [("eu", "a", 2, "b")]
    merged = run("merge", dataset.name, "customer", "--json")
    assert (merged.result["key"], merged.result["written"]) == ([*TENANT, "code"], 1)
    assert current(dataset) == [("eu", "a", 2, "b")]


# In the warehouse


def customer(dataset: EmulatedDataset) -> TableId:
    return TableId(DEFAULT_PROJECT, dataset.name, "customer")


def read(dataset: EmulatedDataset, *base_keys: str, since: datetime | None = None) -> tuple[str, ...]:
    table = customer(dataset)
    changes = [ChangeTable(table.sibling(found.name), Version(found.version, found.columns), since) for found in (ONE, TWO)]
    return captured_keys(EmulatedWarehouse(dataset.client), table, changes, base_keys)


def test_the_key_is_read_from_what_has_landed_and_checked_in_the_window(dataset: EmulatedDataset) -> None:
    create(dataset, ONE, TWO)
    land(dataset, ONE, row("eu/a", "9", ("code",)), row("us/a", "1", ("ID",)))
    land(dataset, TWO, row("eu/a", "10"), row("eu/b", "3"))
    assert read(dataset) == (*TENANT, "id")
    base_keys = (*TENANT, "id")
    # A late change tells an earlier key.
    land(dataset, ONE, row("eu/a", "8", ("code",), landed_at="2024-05-02 00:00:00"))
    assert read(dataset, *base_keys, since=SINCE) == base_keys
    land(dataset, ONE, row("eu/a", "11", ("code",), landed_at="2024-05-02 00:00:00"))
    with pytest.raises(SchemaConflict, match="the key is code by now in eu/a, and its base was made with"):
        read(dataset, *base_keys, since=SINCE)
    with pytest.raises(SchemaConflict, match="but code in eu/a"):
        read(dataset)


def test_each_tenant_has_its_rows(run: Run, dataset: EmulatedDataset) -> None:
    """Two databases and two sources, the same primary keys in all of them, in two versions."""
    create(dataset, ONE, TWO)
    land(
        dataset,
        ONE,
        row("eu/a", "1", id=1, name="anna"),
        row("eu/b", "2", id=1, name="bert"),
        row("us/a", "1", id=1, name="cleo"),
        row("eu/a", "3", id=2, name="gone"),
    )
    land(dataset, TWO, row("eu/a", "4", id=2, kind="DELETE"), row("eu/b", "5", ("ID",), id=2, name="dora", mail="d@x"))

    assert run("current", dataset.name, "customer").code == 0
    expected = [("eu", "a", 1, "anna"), ("eu", "b", 1, "bert"), ("eu", "b", 2, "dora"), ("us", "a", 1, "cleo")]
    assert current(dataset) == expected
    merged = run("merge", dataset.name, "customer", "--json")
    assert (merged.result["key"], merged.result["written"]) == ([*TENANT, "id"], 5)
    assert current(dataset) == expected

    land(dataset, TWO, row("eu/b", "6", kind="UPDATE-INSERT", id=1, name="berta", landed_at=now()))
    expected[1] = ("eu", "b", 1, "berta")
    assert current(dataset) == expected


def current(dataset: EmulatedDataset) -> list[tuple[object, ...]]:
    names = "source_name, database_name, id, name"
    return dataset.run(f"SELECT {names} FROM {dataset.quoted('customer_current')} ORDER BY {names}")


def test_tenants_without_a_key_have_neither_view_nor_base_unless_it_is_named_by_hand(
    run: Run, dataset: EmulatedDataset
) -> None:
    create(dataset, ONE)
    land(dataset, ONE, row("eu/a", "1", id=1, name="a"), row("eu/b", "1", (), id=1, name="b"), row("eu/c", "1", ()))
    for command in ("current", "merge"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "there is no key in eu/b, eu/c: give the table one there" in refused.err
    assert tables(dataset) == {ONE.name}
    shown = run("merge", dataset.name, "customer", "--show", "--keys", ",".join((*TENANT, "code")))
    assert "PARTITION BY r.`source_name`, r.`database_name`, r.`code` ORDER BY" in shown.out


def tables(dataset: EmulatedDataset) -> set[str]:
    return {item.table_id for item in dataset.client.list_tables(dataset.name)} - {"customer_unified"}


def test_a_key_that_changed_since_is_reported_and_a_base_that_is_made_anew_has_it(
    run: Run, dataset: EmulatedDataset
) -> None:
    create(dataset, ONE)
    land(dataset, ONE, row("eu/a", "1", id=1, code=7, name="a"), row("eu/b", "1", id=1, code=7, name="b"))
    assert run("merge", dataset.name, "customer").code == 0
    land(dataset, ONE, *(row(f"eu/{name}", "2", ("code",), id=1, code=8, name=name, landed_at=now()) for name in "ab"))
    for command in ("merge", "current"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "the key is code by now in eu/a, eu/b" in refused.err
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    shown = run("merge", dataset.name, "customer", "--show")
    assert "PARTITION BY r.`source_name`, r.`database_name`, r.`code` ORDER BY" in shown.out


def test_a_version_without_the_key_s_column_is_named(run: Run, dataset: EmulatedDataset) -> None:
    other = version(CODE, NAME)
    create(dataset, version(ID, NAME), other)
    land(dataset, other, row("eu/a", "1", ("code",), code=1, name="a"))
    land(dataset, version(ID, NAME), row("eu/a", "2", id=1, name="a"))
    refused = run("merge", dataset.name, "customer")
    assert f"customer_v_{other.version} has no column id for the key; `retire` the version" in refused.err
