"""The keys of captured tables: the latest change of each tenant names one, and all tenants have to agree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.changelogs import METADATA_TYPE
from support.tenants import ONE, SINCE, TWO
from support.zetasql_judge import Judge, literals

from onefold.changelog.metadata import METADATA
from onefold.core.errors import NotFound, SchemaConflict
from onefold.core.names import TableId
from onefold.merge.change_tables import ChangeTable
from onefold.merge.keys import (
    PrimaryKeys,
    Tenant,
    agreed_key,
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
CHANGES = (
    ChangeTable(TABLE.sibling("customer_v_one"), Version("one", ONE.columns), SINCE),
    ChangeTable(TABLE.sibling("customer_v_two"), Version("two", TWO.columns)),
)
TABLES = {str(source.id): [(column.name, str(column.type)) for column in source.version.columns] for source in CHANGES}


def keys(**by_database: tuple[str, ...]) -> PrimaryKeys:
    """Return the keys that the databases of one source have."""
    return {Tenant("eu", database): key for database, key in by_database.items()}


def test_the_query_equals_its_golden_file() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(keys_query(CHANGES) + "\n", encoding="utf-8")
    assert keys_query(CHANGES) + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_the_query_returns_the_last_position_of_each_tenant_and_key(judge: Judge) -> None:
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
    """Return rows of tenant, key and sequence as SQL literals; all other columns are NULL."""
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


def test_the_latest_change_of_a_tenant_decides_its_key_in_any_version() -> None:
    rows = [
        landed_key("eu", "a", '["id"]', "5"),
        landed_key("eu", "a", '["code"]', "7"),
        landed_key("eu", "a", '["name"]', "6"),
        landed_key("us", "a", "[]"),
    ]
    assert latest_keys(rows) == latest_keys(reversed(rows)) == {Tenant("eu", "a"): ("code",), Tenant("us", "a"): ()}


def landed_key(source: str, database: str, key: str, position: str = "1") -> Mapping[str, Any]:
    return {"source_name": source, "database_name": database, "primary_key": key, "_position": position}


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
    assert all("onefold.yaml" in problem for problem in raised.value.problems)
    assert 'set `keys: ["source_name", "database_name", "code", "id"]` for customer under `tables`' in different


@pytest.mark.parametrize(("count", "rest"), [(5, ", but"), (6, " and 1 more, but")])
def test_five_tenants_of_a_key_are_named_and_the_rest_is_counted(count: int, rest: str) -> None:
    many = {f"t{number}": ("id",) for number in range(count)}
    with pytest.raises(SchemaConflict) as raised:
        agreed_key(TABLE, keys(other=("code",), **many))
    assert f"the key is id in eu/t0, eu/t1, eu/t2, eu/t3, eu/t4{rest} code in eu/other" in str(raised.value)


def test_without_landed_rows_no_key_is_known() -> None:
    with pytest.raises(NotFound, match="no row has landed yet"):
        agreed_key(TABLE, {})


def test_tenants_whose_key_differs_from_that_of_the_base_are_named() -> None:
    made_with = ("Source_Name", "database_name", "ID")
    check_unchanged(TABLE, made_with, keys(a=("id",), b=("Id",)))
    check_unchanged(TABLE, made_with, {})
    with pytest.raises(SchemaConflict) as raised:
        check_unchanged(TABLE, made_with, keys(a=("id",), b=("code",), c=("Code",), d=(), e=("id", "code")))
    keyless, different = raised.value.problems
    assert "no key in eu/d" in keyless
    assert "the key is code in eu/b, eu/c, but id in eu/a, but id, code in eu/e: " in different
    assert "drop my-project.shop.customer_base and set `keys: " in different


def test_a_key_that_all_tenants_have_changed_asks_for_a_new_base() -> None:
    with pytest.raises(SchemaConflict, match=r"the key is code by now in eu/a, eu/b, and its base was made with .*: drop "):
        check_unchanged(TABLE, ("source_name", "database_name", "id"), keys(a=("code",), b=("Code",)))


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
def test_a_table_without_columns_for_tenant_and_key_is_not_captured(columns: dict[str, str]) -> None:
    assert not is_captured([Column(name, parse_type(type_)) for name, type_ in columns.items()])
    assert is_captured(ONE.columns)
