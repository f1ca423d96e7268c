"""The order in which a base is clustered: by the database first where tenants share the table, as its versions are."""

from __future__ import annotations

import pytest

from onefold.core.names import TableId
from onefold.landing.table import VersionedTable, versioned_table
from onefold.merge.base_table import BaseTable, base_of
from onefold.mysql.table import SourceColumn, SourceType, Structure

TABLE = TableId("my-project", "shop", "customer")
TENANT = ("source_name", "database_name")


def base(*primary_key: str) -> BaseTable:
    """The base of a captured table with these columns as its primary key."""
    return base_of(TABLE, captured(*primary_key).columns, [*TENANT, *primary_key])


def captured(*primary_key: str) -> VersionedTable:
    columns = tuple(SourceColumn(key, SourceType("int")) for key in primary_key)
    return versioned_table(Structure("customer", columns, primary_key))


@pytest.mark.parametrize("primary_key", [("id",), ("a", "b"), tuple("abcde")])
def test_a_captured_base_is_clustered_as_its_versions_are(primary_key: tuple[str, ...]) -> None:
    """One filter of a tenant prunes both: BigQuery skips blocks by a filter on the first columns alone."""
    clustering = base(*primary_key).clustering
    assert clustering == captured(*primary_key).clustering
    assert (clustering[0], len(clustering) <= 4) == ("database_name", True)


def test_a_base_whose_key_names_no_tenant_is_clustered_in_the_order_of_its_key() -> None:
    columns = captured("id").columns
    assert base_of(TABLE, columns, ["id", "database_name"]).clustering == ("id", "database_name")
