"""Which columns of a table no policy names, and what a draft proposes for them: before and after there are views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.core.errors import NotFound
from onefold.core.names import TableId
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.types import render_type
from onefold.settings.environment import Settings
from onefold.views.policy_check import SAMPLES, check_policies, draft_policies

BASE = TableId(PROJECT, "shop", "customer")
CHANGES = str(metadata_type(METADATA_FIELDS))
ABC = {"id": "INT64", "contact": "STRING", "address": "STRUCT<zip STRING, geo STRUCT<at JSON>>", METADATA: CHANGES}
DEF = {"id": "STRING", "tags": "ARRAY<STRING>", "lines": "ARRAY<STRUCT<price NUMERIC>>", METADATA: CHANGES}
EVERY = ["id", "contact", "address.zip", "address.geo.at", "tags", "lines.price"]


@pytest.fixture
def cloud() -> FakeBigQuery:
    """Two versions, and no view."""
    cloud = FakeBigQuery()
    cloud.land("customer_v_abc", ABC)
    cloud.land("customer_v_def", DEF)
    return cloud


def settings(rules: TableRules | None = None, /, **actions: str) -> Settings:
    """Settings with policies of every table such as `address__zip="clear"`; without any there is no section of them."""
    made = (PolicyRule("*", name.replace("__", "."), Action[one.upper()]) for name, one in actions.items())
    policies = ColumnPolicies(tuple(made)) if actions else None
    return Settings(tables={"customer": rules or TableRules()}, policies=policies)


def waiting(cloud: FakeBigQuery, known: Settings) -> list[str]:
    return list(check_policies(BigQueryWarehouse(cloud.client()), BASE, known).waiting)


def drafts(cloud: FakeBigQuery, known: Settings, **options: Any) -> dict[str, tuple[str, str, str]]:
    found = draft_policies(BigQueryWarehouse(cloud.client()), BASE, known, **options)
    return {one.path: (render_type(one.type), str(one.draft.action), one.draft.reason) for one in found}


def test_before_there_is_a_view_the_columns_are_those_of_all_versions_without_metadata(cloud: FakeBigQuery) -> None:
    checked = check_policies(BigQueryWarehouse(cloud.client()), BASE, settings(id="clear"))
    assert checked.table == BASE
    assert {one.path: render_type(one.type) for one in checked.treatments}["id"] == "STRING"
    assert list(checked.waiting) == EVERY[1:]
    assert waiting(cloud, settings()) == EVERY


def test_a_retired_version_brings_no_column(cloud: FakeBigQuery) -> None:
    assert waiting(cloud, settings(TableRules(retired=frozenset({"def"})))) == EVERY[:4]


def test_after_there_is_a_view_its_columns_count(cloud: FakeBigQuery) -> None:
    """A column of a version that is gone is still in the base, and so in the view."""
    cloud.create_table("customer_current", "id STRING", "gone BYTES", "address JSON", kind="VIEW")
    assert waiting(cloud, settings(id="clear")) == ["gone", "address", "address.zip", "address.geo.at"]


def test_a_table_of_the_name_of_the_view_is_none(cloud: FakeBigQuery) -> None:
    cloud.create_table("customer_current", "other INT64")
    assert waiting(cloud, settings()) == EVERY


@pytest.mark.parametrize("kind", ["VIEW", "TABLE"])
def test_fields_that_the_clean_view_notes_of_a_version_that_was_dropped_are_asked_about(
    cloud: FakeBigQuery, kind: str
) -> None:
    """docs/reference/policies.md: "the text of the clean view notes these STRUCTs"; a table of that name has no text."""
    cloud.land("customer_v_def", {**DEF, "address": "JSON"})
    known = settings(address="clear", address__zip="clear")
    assert "address.geo.at" in waiting(cloud, known)
    cloud.drop("customer_v_abc")
    assert [path for path in waiting(cloud, known) if path.startswith("address")] == []
    cloud.datasets["shop__views_clean"] = {}
    cloud.create_table("customer", "id STRING", dataset="shop__views_clean", kind=kind)
    text = '-- landed as structs: {"address": ["STRUCT<zip STRING, geo STRUCT<at JSON>>"]}\nSELECT 1'
    cloud.change("customer", lambda view: view.update(view={"query": text}), dataset="shop__views_clean")
    noted = ["address.geo.at"] if kind == "VIEW" else []
    assert [path for path in waiting(cloud, known) if path.startswith("address")] == noted


def test_a_table_without_a_version_is_an_error_that_names_a_similar_one(cloud: FakeBigQuery) -> None:
    warehouse = BigQueryWarehouse(cloud.client())
    with pytest.raises(NotFound, match=r"of my-project\.shop\.customr.*did you mean customer\?.*correct the name"):
        check_policies(warehouse, BASE.sibling("customr"), settings())
    with pytest.raises(NotFound, match=r"no version of my-project\.shop\.zzz: correct the name"):
        check_policies(warehouse, BASE.sibling("zzz"), settings())
    with pytest.raises(NotFound, match="no version of"):
        check_policies(warehouse, BASE, settings(TableRules(retired=frozenset({"abc", "def"}))))


def test_of_a_table_of_a_tool_the_columns_that_its_view_shows_count() -> None:
    """docs/reference/existing/dlt.md: the table and the columns of its view."""
    cloud, types = FakeBigQuery(), {"id": "INT64", "score": "INT64", "score__v_double": "FLOAT64", "_dlt_id": "STRING"}
    cloud.land("customer", {**types, "_dlt_load_id": "STRING"})
    tool = PlainTable("tool", "shop__onefold")
    known = settings(TableRules(tool="dlt", rows="current")).with_plain("shop", {"customer": tool})
    assert waiting(cloud, known) == ["id", "score", "_dlt_id"]


def test_a_draft_without_a_view_goes_by_names_and_types(cloud: FakeBigQuery) -> None:
    cloud.land("customer_v_fed", {"mail": "ARRAY<STRING>", METADATA: CHANGES})
    assert drafts(cloud, settings(id="clear", address__geo="clear")) == {
        "contact": ("STRING", "mask", "text"),
        "address.zip": ("STRING", "mask", "place by its name"),
        "address.geo.at": ("JSON", "mask", "JSON, which may hold anything"),
        "tags": ("ARRAY<STRING>", "mask", "text"),
        "lines.price": ("NUMERIC", "clear", "NUMERIC"),
        "mail": ("ARRAY<STRING>", "hash", "e-mail by its name"),
    }


def test_a_draft_goes_by_the_values_of_a_thousand_rows_at_any_depth(cloud: FakeBigQuery) -> None:
    columns = {"id": "INT64", "contact": "STRING", "a": "STRUCT<b ARRAY<STRUCT<c STRING>>>", "tags": "ARRAY<STRING>"}
    cloud.create_table("customer_current", *(f"{name} {type_}" for name, type_ in columns.items()), kind="VIEW")
    found = {name: type_ for name, type_ in columns.items() if name != "id"}
    cloud.statements.answer(
        f"SELECT `contact`, `a`, `tags` FROM `{PROJECT}.shop.customer_current` LIMIT {SAMPLES}",
        found,
        ("ada@example.com", ([("+49 30 1234567",), (None,)],), ["alan@example.com", "grace@example.com"]),
        (None, None, []),
    )
    assert SAMPLES == 1_000
    assert drafts(cloud, settings(id="clear")) == {
        "contact": ("STRING", "hash", "e-mail by its values"),
        "a.b.c": ("STRING", "hash", "phone number by its values"),
        "tags": ("ARRAY<STRING>", "hash", "e-mail by its values"),
    }


def test_no_row_is_read_without_samples_or_without_a_view_or_where_nothing_waits(cloud: FakeBigQuery) -> None:
    """The fake refuses every query to which no test gave rows."""
    assert drafts(cloud, settings())["contact"] == ("STRING", "mask", "text")
    cloud.create_table("customer_current", "contact STRING", kind="VIEW")
    assert drafts(cloud, settings(), samples=0) == {"contact": ("STRING", "mask", "text")}
    assert drafts(cloud, settings(contact="clear")) == {}
    cloud.create_table("customer_current", "contact STRING")
    assert drafts(cloud, settings())["contact"] == ("STRING", "mask", "text")


def test_a_column_has_the_strictest_action_of_its_variants_whoever_writes_the_table(cloud: FakeBigQuery) -> None:
    """A view of before may show values of a variant in its column, so that the form of the name is enough."""
    cloud.land("customer_v_def", {"score": "INT64", "score__v_text": "STRING", METADATA: CHANGES})
    known = settings(score="clear", score__v_text="mask")
    policies = replace(known, policies=ColumnPolicies((
        PolicyRule("*", "score", Action.CLEAR), PolicyRule("*", "score__v_text", Action.MASK)
    )))  # fmt: skip
    checked = check_policies(BigQueryWarehouse(cloud.client()), BASE, policies)
    assert {one.path: str(one.action) for one in checked.treatments}["score"] == "mask"
