"""Change tables are told by their metadata: what is missing in it, and where an order of columns has no effect."""

from __future__ import annotations

import pytest

from onefold.changelog.digest import digest_sql
from onefold.changelog.metadata import (
    METADATA,
    METADATA_FIELDS,
    has_metadata,
    is_deletion,
    is_of_unknown_type,
    is_pulled,
    metadata_problems,
    metadata_sql,
    metadata_type,
    position_of,
    unused_order,
)
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Array, Scalar, Struct, Type
from onefold.schema.versions import Version

INT64 = Scalar("INT64")
ID = Column("id", INT64)


def change_table(**fields: Type | None) -> list[Column]:
    """Return the columns of a change table, with other types of some fields of its metadata, or without them (None)."""
    types = {name: type_ for name, type_ in {**METADATA_FIELDS, **fields}.items() if type_ is not None}
    return [ID, Column(METADATA, metadata_type(types))]


def test_a_table_with_all_metadata_is_a_change_table() -> None:
    assert list(metadata_problems("shop.t", change_table())) == []


def test_a_table_may_lack_the_fields_that_some_sources_do_not_have() -> None:
    assert list(metadata_problems("shop.t", change_table(uuid=None, sort_keys=None))) == []


@pytest.mark.parametrize("name", ["change_sequence_number", "change_type", "source_timestamp"])
def test_a_field_without_which_rows_have_no_order_is_named(name: str) -> None:
    others = ", ".join(field for field in METADATA_FIELDS if field != name)
    assert list(metadata_problems("shop.t", change_table(**{name: None}))) == [
        f"shop.t: {METADATA} has no field {name}; it has {others}: write it, as NULL where there is no value"
    ]


def test_a_field_of_another_type_is_named_and_all_problems_at_once() -> None:
    columns = change_table(uuid=INT64, change_type=None, source_timestamp=STRING)
    assert list(metadata_problems("shop.t", columns)) == [
        f"shop.t: {METADATA} has no field change_type; it has uuid, source_timestamp, change_sequence_number, sort_keys: "
        "write it, as NULL where there is no value",
        f"shop.t: {METADATA}.uuid is INT64, and has to be STRING: write it so",
        f"shop.t: {METADATA}.source_timestamp is STRING, and has to be INT64: write it so",
    ]


@pytest.mark.parametrize(
    ("keys", "is_cast"),
    [(Array(INT64), True), (Array(Struct(())), False), (INT64, False)],
    ids=["numbers", "structs", "no array"],
)
def test_sort_keys_of_other_scalars_are_refused_where_they_are_not_converted_to_text(keys: Type, is_cast: bool) -> None:
    columns = change_table(sort_keys=keys)
    refused = [f"shop.t: {METADATA}.sort_keys is {keys}, and has to be ARRAY<STRING>: write it so"]
    assert list(metadata_problems("shop.t", columns)) == refused
    assert list(metadata_problems("shop.t", columns, casts_sort_keys=True)) == ([] if is_cast else refused)


def test_other_fields_are_not_converted_where_sort_keys_are() -> None:
    (problem,) = metadata_problems("shop.t", change_table(uuid=Array(INT64)), casts_sort_keys=True)
    assert "uuid is ARRAY<INT64>" in problem


def test_a_table_whose_metadata_is_no_struct_is_no_change_table_and_its_columns_are_named() -> None:
    (problem,) = metadata_problems("shop.t", [ID, Column(METADATA, STRING), Column("name", STRING)])
    assert problem == (
        f"shop.t is no change table: it has no column {METADATA} of type STRUCT; it has id, {METADATA} STRING, name: "
        "name a change table"
    )


def test_the_metadata_is_found_by_its_name_in_any_case_and_of_any_type() -> None:
    assert has_metadata([ID, Column("DATASTREAM_METADATA", STRING)])
    assert not has_metadata([ID, Column(f"{METADATA}x", STRING), Column("x" * len(METADATA), STRING)])


def test_an_order_is_unused_where_a_version_that_the_view_covers_has_metadata() -> None:
    versions = [Version("a", (ID,)), Version("b", tuple(change_table()))]
    ordered = TableRules(order_by=("id",))
    assert unused_order(versions, ordered) == [f"order_by has no effect: {METADATA} says which row is the latest"]
    assert unused_order(versions[:1], ordered) == []
    assert unused_order(versions, TableRules()) == []
    assert unused_order(versions, TableRules(order_by=("id",), retired=frozenset({"b"}))) == []


def test_conditions_on_the_type_of_a_change_ignore_case_and_are_never_null() -> None:
    type_ = f"UPPER(v.`{METADATA}`.change_type)"
    assert is_deletion("v") == f"IFNULL({type_} IN ('DELETE', 'UPDATE-DELETE'), FALSE)"
    assert is_of_unknown_type("v") == (
        f"IFNULL({type_} NOT IN ('INSERT', 'UPDATE-INSERT', 'DELETE', 'UPDATE-DELETE'), TRUE)"
    )


def test_a_row_has_no_metadata_of_another_name() -> None:
    with pytest.raises(KeyError, match=f"{METADATA} has no field day"):
        metadata_sql("v", "day")


def test_rows_are_pulled_if_their_day_is_behind_the_metadata_in_any_case_of_letters() -> None:
    day, metadata = Column("_DAY", Scalar("DATE")), Column(METADATA.upper(), STRING)
    assert is_pulled([ID, metadata, ID, day])
    assert not is_pulled([day, metadata])
    assert not is_pulled([day])
    assert not is_pulled([metadata])


def test_a_position_has_the_sort_keys_and_the_identifier_that_the_metadata_has() -> None:
    position = position_of("v", change_table())
    assert f"v.`{METADATA}`.sort_keys" in position
    assert f"CONCAT(IFNULL(REGEXP_REPLACE(v.`{METADATA}`.uuid, " in position
    without = position_of("v", change_table(sort_keys=None, uuid=None))
    assert "sort_keys" not in without
    assert "CAST([] AS ARRAY<STRING>)" in without
    assert "uuid" not in without
    assert "CONCAT('', ' !')" in without


def test_the_position_of_a_landed_row_ends_with_its_digest() -> None:
    assert f"' ', {digest_sql('v', [ID])}" in position_of("v", change_table(), [ID])
    assert "SHA256" not in position_of("v", change_table())
