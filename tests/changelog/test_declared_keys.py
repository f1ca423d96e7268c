"""The key that a versioned table declares: which keys can be declared, and how declarations are read."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import BadRequest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT
from support.zetasql_judge import Judge, literals

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.declared_keys import declared_keys_query, key_to_declare, same_columns, source_key
from onefold.core.names import TableId
from onefold.landing.table import versioned_table
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

TENANT = ("source_name", "database_name")
# "TABLE_CONSTRAINTS view", limitations: these types and no others.
DECLARABLE = ("BIGNUMERIC", "BOOL", "DATE", "DATETIME", "INT64", "NUMERIC", "STRING", "TIMESTAMP")
OTHERS = ("BYTES", "FLOAT64", "INTERVAL", "JSON", "GEOGRAPHY", "TIME", "ARRAY<INT64>", "STRUCT<a INT64>", "RANGE<DATE>")


def columns(*types: str) -> list[Column]:
    """Those of the tenant, then `c0`, `c1` ... of these types."""
    names = [*TENANT, *(f"c{number}" for number in range(len(types)))]
    return [Column(name, parse_type(type_)) for name, type_ in zip(names, ("STRING", "STRING", *types), strict=True)]


# Which keys are declared.


@pytest.mark.parametrize("type_", [*DECLARABLE, *OTHERS])
def test_a_key_is_declared_with_its_tenant_where_bigquery_accepts_its_types(type_: str) -> None:
    found = key_to_declare(columns("INT64", type_), ["c1", "c0"])
    assert found == ((*TENANT, "c1", "c0") if type_ in DECLARABLE else ())


@pytest.mark.parametrize(("count", "declared"), [(0, False), (1, True), (14, True), (15, False), (16, False)])
def test_a_key_has_at_most_sixteen_columns_tenant_included(count: int, declared: bool) -> None:
    key = [f"c{number}" for number in range(count)]
    assert key_to_declare(columns(*["INT64"] * 16), key) == ((*TENANT, *key) if declared else ())


def test_a_versioned_table_declares_its_key_by_the_names_that_land() -> None:
    text, number = SourceType("varchar", 40), SourceType("int")
    names = {"größe in €": number, "source_name": text, "_partition": number, "2nd": text, "x": text}
    charset = {"varchar": "utf8mb4"}
    structure = Structure(
        "t",
        tuple(SourceColumn(name, type_, charset.get(type_.name)) for name, type_ in names.items()),
        ("2nd", "größe in €", "source_name", "_partition"),
    )
    assert versioned_table(structure).declared_key == (*TENANT, "_2nd", "größe_in__", "source_name_", "source_partition")


@pytest.mark.parametrize(
    ("type_", "declared"),
    [
        (SourceType("binary", 16), False), (SourceType("double"), False), (SourceType("time", 0), False),
        (SourceType("decimal", 65, 0), True), (SourceType("bigint", unsigned=True), True), (SourceType("enum", 1), True),
        (SourceType("timestamp", 6), True), (SourceType("date"), True),
    ],
)  # fmt: skip
def test_a_key_that_bigquery_does_not_accept_is_not_declared(type_: SourceType, declared: bool) -> None:
    columns = (SourceColumn("id", type_, "utf8mb4" if type_.name == "enum" else None),)
    assert versioned_table(Structure("t", columns, ("id",))).declared_key == ((*TENANT, "id") if declared else ())
    assert versioned_table(Structure("t", columns)).declared_key == ()


def test_only_a_declared_key_with_the_tenant_has_a_source_key() -> None:
    assert source_key(("ID", "Source_Name", "code", "DATABASE_NAME")) == ("ID", "code")
    assert source_key(("id", "source_name")) == source_key(("id",)) == source_key(()) == source_key(TENANT) == ()
    assert same_columns(("a", "B"), ("b", "A"))
    assert not same_columns(("a", "b"), ("a",))


# In BigQuery.

CONSTRAINTS = {
    "constraints": [("table_name", "STRING"), ("constraint_name", "STRING"), ("constraint_type", "STRING")],
    "usage": [
        ("table_name", "STRING"),
        ("constraint_name", "STRING"),
        ("column_name", "STRING"),
        ("ordinal_position", "INT64"),
    ],
}


class JudgedConstraints(BigQueryWarehouse):
    """Google's evaluator answers in place of INFORMATION_SCHEMA, with the rows of two of its views."""

    judge: Judge
    rows_of: dict[str, str]

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        schema = f"`{PROJECT}.shop`.INFORMATION_SCHEMA"
        sql = sql.replace(f"{schema}.TABLE_CONSTRAINTS", "constraints").replace(f"{schema}.KEY_COLUMN_USAGE", "usage")
        found = self.judge.rows(sql, CONSTRAINTS, self.rows_of)
        return [{"table_name": name, "columns": columns} for name, columns in found]


def test_the_declared_keys_of_many_tables_are_read_by_one_query(judge: Judge) -> None:
    """Columns in the key's order; foreign keys and other tables are left out."""
    kinds = [
        ("a", "a.pk$", "PRIMARY KEY"),
        ("a", "a.f", "FOREIGN KEY"),
        ("b", "b.pk$", "PRIMARY KEY"),
        ("x", "x.pk$", "PRIMARY KEY"),
    ]
    used = [("a", "a.pk$", "id", 2), ("a", "a.f", "other", 1), ("a", "a.pk$", "source_name", 1), ("b", "b.pk$", "code", 1),
            ("x", "x.pk$", "id", 1)]  # fmt: skip
    warehouse = JudgedConstraints(FakeBigQuery().client())
    warehouse.judge = judge
    warehouse.rows_of = {
        "constraints": literals(CONSTRAINTS["constraints"], [[f"'{cell}'" for cell in row] for row in kinds]),
        "usage": literals(CONSTRAINTS["usage"], [[*(f"'{cell}'" for cell in row[:3]), str(row[3])] for row in used]),
    }
    tables = [TableId(PROJECT, "shop", name) for name in ("a", "b", "silent")]
    assert warehouse.declared_keys(tables) == {tables[0]: ("source_name", "id"), tables[1]: ("code",)}


def test_names_in_the_query_are_quoted() -> None:
    query = declared_keys_query([TableId("my-project", "shop", "a-b_v_1"), TableId("my-project", "shop", "größe_v_2")])
    assert "`my-project.shop`.INFORMATION_SCHEMA.TABLE_CONSTRAINTS" in query
    assert "t.table_name IN ('a-b_v_1', 'größe_v_2')" in query


# In the embedded BigQuery, which forgets constraints unless it is corrected.


@pytest.fixture
def warehouse(dataset: EmulatedDataset) -> EmulatedWarehouse:
    return EmulatedWarehouse(dataset.client)


def test_a_table_declares_the_key_with_which_it_was_created(dataset: EmulatedDataset, warehouse: EmulatedWarehouse) -> None:
    keyed, silent = (TableId(DEFAULT_PROJECT, dataset.name, name) for name in ("keyed", "silent"))
    key = (*TENANT, "c0")
    warehouse.create_table(keyed, columns("INT64", "BYTES"), ("database_name",), None, key)
    warehouse.create_table(silent, columns("INT64"))
    warehouse.create_table(silent, columns("INT64"), primary_key=key)  # it is there already
    found = warehouse.read_table(keyed)
    assert found is not None
    assert (found.primary_key, found.clustering, found.columns) == (
        key,
        ("database_name",),
        tuple(columns("INT64", "BYTES")),
    )
    assert warehouse.declared_keys([keyed, silent]) == {keyed: key}


def test_any_client_sees_the_key_and_other_changes_keep_it(dataset: EmulatedDataset, warehouse: EmulatedWarehouse) -> None:
    id_ = TableId(DEFAULT_PROJECT, dataset.name, "t")
    warehouse.create_table(id_, columns("INT64"), primary_key=(*TENANT, "c0"))
    table = dataset.client.get_table(str(id_))
    assert table.labels == {}
    table.labels, table.description = {"team": "crm"}, "Customers."
    table = dataset.client.update_table(table, ["labels", "description"])
    warehouse.add_columns(id_, [Column("more", parse_type("STRING"))])
    table = dataset.client.get_table(str(id_))
    assert (table.labels, table.description) == ({"team": "crm"}, "Customers.")
    assert table.to_api_repr()["tableConstraints"] == {"primaryKey": {"columns": [*TENANT, "c0"]}}
    table.table_constraints = bigquery.table.TableConstraints(bigquery.table.PrimaryKey(["more"]), None)
    dataset.client.update_table(table, ["table_constraints"])
    assert warehouse.declared_keys([id_]) == {id_: ("more",)}
    table.table_constraints = None
    dataset.client.update_table(table, ["table_constraints"])
    assert warehouse.declared_keys([id_]) == {}


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (["c0"], "c0 is BYTES"),
        (["c1"], "c1 is REPEATED"),
        (["nothing"], "nothing is no column"),
        (["c2"] * 17, "17 columns"),
    ],
)
def test_the_emulator_refuses_the_keys_that_bigquery_refuses(
    dataset: EmulatedDataset, warehouse: EmulatedWarehouse, key: list[str], why: str
) -> None:
    table = bigquery.Table(f"{DEFAULT_PROJECT}.{dataset.name}.t", [
        bigquery.SchemaField("c0", "BYTES"), bigquery.SchemaField("c1", "STRING", mode="REPEATED"),
        bigquery.SchemaField("c2", "INT64"),
    ])  # fmt: skip
    table.table_constraints = bigquery.table.TableConstraints(bigquery.table.PrimaryKey(key), None)
    with pytest.raises(BadRequest, match=f"table t cannot have this primary key: .*{why}"):
        dataset.client.create_table(table)
    assert warehouse.list_tables(dataset.name) == ()
