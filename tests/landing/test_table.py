"""The versioned table of a structure: its columns, its name, and what is renamed."""

from __future__ import annotations

import pytest

from onefold.changelog.metadata import metadata_problems
from onefold.core.errors import SchemaConflict
from onefold.core.names import problems_of_name, table_name
from onefold.landing.table import ADDED, RenamedColumn, column_name, versioned_table
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.schema.types import parse_type, render_type

INT = SourceType("int")


def structure(*names: str, key: tuple[str, ...] = ()) -> Structure:
    return Structure("customer", tuple(SourceColumn(name, INT) for name in names), key)


def test_the_columns_of_the_source_come_before_the_added_ones() -> None:
    table = versioned_table(structure("id", "Name", key=("id",)))
    assert table.name == f"customer_v_{versioned_table(structure('id', 'Name')).version}"
    added = ["source_name", "database_name", "_landed_at", "datastream_metadata"]
    assert [column.name for column in table.columns] == ["id", "Name", *added]
    assert table.source_names == ("id", "Name")
    assert table.primary_key == ("id",)
    assert not table.renamed


def test_the_metadata_is_what_a_change_table_needs() -> None:
    assert list(metadata_problems("customer", versioned_table(structure("id")).columns)) == []
    for column in ADDED:
        assert parse_type(render_type(column.type)) == column.type


def test_a_source_column_with_an_added_name_is_renamed_and_reported() -> None:
    names = ("source_name", "Database_Name", "_landed_at", "datastream_metadata", "x")
    table = versioned_table(structure(*names, key=("Database_Name",)))
    assert table.source_names == ("source_name_", "Database_Name_", "_landed_at_", "datastream_metadata_", "x")
    assert table.renamed == (
        RenamedColumn("source_name", "source_name_"),
        RenamedColumn("Database_Name", "Database_Name_"),
        RenamedColumn("_landed_at", "_landed_at_"),
        RenamedColumn("datastream_metadata", "datastream_metadata_"),
    )
    assert table.primary_key == ("Database_Name_",)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("price", "price"), ("größe", "größe"), ("größe in €", "größe_in__"), ("2nd", "_2nd"), ("a-b", "a_b"), ("$", "_"),
        ("_PARTITIONTIME", "source_PARTITIONTIME"), ("_table_x", "source_table_x"), ("_CHANGE_TYPE", "source_CHANGE_TYPE"),
        ("_row_timestamp", "source_row_timestamp"), ("_price", "_price"),
    ],
)  # fmt: skip
def test_names_that_bigquery_does_not_allow_are_changed(source: str, name: str) -> None:
    assert column_name(source) == name


def test_columns_that_would_share_a_name_are_an_error_that_names_all_of_them() -> None:
    with pytest.raises(SchemaConflict) as raised:
        versioned_table(structure("a b", "a-b", "A$B", "x", "database_name", "database_name_"))
    assert len(raised.value.problems) == 2
    assert "'a b' and 'a-b' and 'A$B'" in raised.value.problems[0]
    assert "'database_name' and 'database_name_'" in raised.value.problems[1]


@pytest.mark.parametrize("source", ["customer", "a b", "größe", "a.b$c", "x_v_1"])
def test_a_table_s_name_is_one_of_bigquery_s(source: str) -> None:
    assert problems_of_name("table", table_name(source)) == []


def test_tables_whose_names_differ_in_their_marks_have_base_names_of_their_own() -> None:
    """Devanagari: `din` (day) and `dān` (gift) have the same letters, and other vowel signs."""
    assert [table_name(name) for name in ("दिन", "दान", "ग्राहक सूची")] == ["दिन", "दान", "ग्राहक_सूची"]


def test_a_table_is_clustered_by_database_and_by_the_key_as_far_as_bigquery_allows() -> None:
    types = [INT, SourceType("double"), SourceType("varchar", 9), SourceType("date"), SourceType("datetime", 0)]
    columns = tuple(SourceColumn(name, type_) for name, type_ in zip("abcde", types, strict=True))
    assert versioned_table(Structure("t", columns, tuple("abcde"))).clustering == ("database_name", "a", "c", "d")
