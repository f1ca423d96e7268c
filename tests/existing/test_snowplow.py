"""Columns of Snowplow's wide table: of which schema and version each is, and what its rows say of themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.existing_tables import schema
from support.wide_events import EVENT, EVENTS, WIDE

from onefold.existing.nested_rows import NestedRows
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold.schema.redshift_ddl import ENVELOPE


def parts(columns: dict[str, str]) -> dict[str, tuple[NestedRows, ...]]:
    return dict(recognise(ExistingTable("events", schema({**EVENT, **columns}))).parts)


def values(columns: dict[str, str], column: str) -> dict[str, str]:
    (found,) = (part for of_schema in parts(columns).values() for part in of_schema if part.column == column)
    return {one.name: sql for one, sql in found.values}


def test_columns_of_a_schema_are_in_the_order_of_its_versions_whatever_the_order_of_the_table() -> None:
    assert {name: [part.column for part in found] for name, found in parts(WIDE).items()} == {
        "com_acme_ad_click": ["unstruct_event_com_acme_ad_click_1_0_0", "unstruct_event_com_acme_ad_click_2"],
        "com_acme_cart": [
            "contexts_com_acme_cart_1_0_0",
            "contexts_com_acme_cart_1_0_1",
            "contexts_com_acme_cart_1",
            "contexts_com_acme_cart_1_recovered_1_1_0_37fd804e",
        ],
    }


@pytest.mark.parametrize(
    ("column", "base"),
    [
        ("contexts_com_acme_form_2_1", "com_acme_form_2"),
        ("contexts_com_a1_2_page_10_2_11", "com_a1_2_page"),
        ("Contexts_Com_Acme_Page_1", "com_acme_page"),
        ("contexts_com_acme_page_1_recovered_1_0_1_737559706", "com_acme_page"),
    ],
)
def test_digits_of_a_vendor_or_a_name_are_no_version(column: str, base: str) -> None:
    assert [*parts({column: "ARRAY<STRUCT<a INT64>>"})] == [base]


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        ("contexts_com_acme_page_1", "STRING"),
        ("contexts_com_acme_page_1", "STRUCT<a INT64>"),
        ("unstruct_event_com_acme_page_1", "ARRAY<STRUCT<a INT64>>"),
        ("unstruct_event_com_acme_page_1", "JSON"),
        ("contexts_com_acme_page", "ARRAY<STRUCT<a INT64>>"),
        ("my_contexts_com_acme_page_1", "ARRAY<STRUCT<a INT64>>"),
    ],
)
def test_a_column_of_another_type_or_name_stays_a_column_of_the_events(column: str, type_: str) -> None:
    found = recognise(ExistingTable("events", schema({**EVENTS, column: type_})))
    assert set(found.metadata) == {*WIDE}


def test_a_table_of_events_without_columns_of_schemas_is_not_recognised() -> None:
    assert recognise(ExistingTable("events", schema(EVENT))).tool == "plain"


@given(st.sampled_from(sorted(WIDE)))
def test_rows_of_each_schema_begin_as_its_table_would(column: str) -> None:
    names = [name for name, _, _ in ENVELOPE]
    assert [*values(WIDE, column)][: len(names) + 1] == [*names, "load_tstamp"]


def test_an_event_tells_its_schema_itself() -> None:
    found = values(WIDE, "unstruct_event_com_acme_ad_click_2")
    assert (found["schema_vendor"], found["schema_version"]) == ("r.`event_vendor`", "r.`event_version`")
    assert found["ref_tree"] == """CONCAT('["events","', r.`event_name`, '"]')"""


@pytest.mark.parametrize(
    ("column", "version"),
    [
        ("contexts_com_acme_cart_1_0_1", "'1-0-1'"),
        ("contexts_com_acme_cart_1", "i.`_schema_version`"),
        ("contexts_com_acme_cart_1_recovered_1_1_0_37fd804e", "'1-1-0'"),
    ],
)
def test_a_context_has_its_version_from_its_column_or_from_itself(column: str, version: str) -> None:
    found = values(WIDE, column)
    assert (found["schema_version"], found["schema_vendor"]) == (version, "CAST(NULL AS STRING)")
    assert "_schema_version" not in found


@pytest.mark.parametrize("text", ["com.acme-shop/Cart/jsonschema/1", "iglu:com.acme-shop/Cart/jsonschema/1-0-2"])
def test_a_context_has_its_schema_from_the_description_of_its_column(text: str) -> None:
    column = "contexts_com_acme_cart_1"
    found = recognise(ExistingTable("events", schema({**EVENT, **WIDE}), described={column: text})).parts["com_acme_cart"]
    (cart,) = ({one.name: sql for one, sql in part.values} for part in found if part.column == column)
    assert [cart[name] for name in ("schema_vendor", "schema_name", "schema_format", "schema_version")] == [
        "'com.acme-shop'", "'Cart'", "'jsonschema'", "i.`_schema_version`",
    ]  # fmt: skip
    assert cart["ref_tree"] == """CONCAT('["events","', 'Cart', '"]')"""


@pytest.mark.parametrize("text", ["", "Carts of the shop", "com.acme/cart/jsonschema", "com.acme/cart's/jsonschema/1"])
def test_any_other_description_tells_no_schema(text: str) -> None:
    column = "contexts_com_acme_cart_1"
    found = recognise(ExistingTable("events", schema({**EVENT, **WIDE}), described={column: text})).parts["com_acme_cart"]
    assert found == parts(WIDE)["com_acme_cart"]


def test_a_context_of_a_release_that_noted_no_version_has_none() -> None:
    column = "contexts_com_acme_page_1"
    assert values({column: "ARRAY<STRUCT<a INT64>>"}, column)["schema_version"] == "CAST(NULL AS STRING)"


def test_a_field_with_the_name_of_a_first_column_has_a_digest_as_in_the_tables_of_a_registry() -> None:
    found = values(WIDE, "contexts_com_acme_cart_1")
    assert (found["root_id"], found["root_id_df12fdb4"]) == ("r.`event_id`", "i.`root_id`")
