"""Views of BigQuery and the annotations of their columns, through Google's own client over the fake transport."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest
import requests.exceptions
from google.cloud.bigquery.retry import DEFAULT_RETRY
from support.bigquery_views import BASE, OTHER_QUERY, QUERY, VIEW, annotate, annotated, describe, die_after, stored_view
from support.fake_bigquery import Crash, FakeBigQuery, Request
from support.rest import PROJECT
from support.rest_fields import rest_field
from support.turns import at_once

import onefold.adapters.bigquery.annotations
import onefold.adapters.bigquery.client
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import LimitExceeded, ViewChanged
from onefold.core.names import TableId
from onefold.ports.warehouse import ViewDraft, ViewExists, Warehouse
from onefold.schema.columns import Column
from onefold.schema.types import parse_type


def test_a_view_is_read_with_its_columns_as_types(warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY, "Customers.", {"team": "crm"}))
    stored = stored_view(warehouse)
    assert (stored.is_view, stored.query, stored.description, stored.labels) == (True, QUERY, "Customers.", {"team": "crm"})
    assert stored.columns == (
        Column("id", parse_type("INT64")),
        Column("address", parse_type("STRUCT<street STRING, zip INT64>")),
    )


def test_types_of_the_rest_api_are_read_as_those_of_information_schema(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    types = ("FLOAT64", "BOOL", "RANGE<DATE>", "ARRAY<STRUCT<`from` ARRAY<INT64>>>", "JSON", "BIGNUMERIC")
    cloud.schema_of = lambda _: [rest_field(f"c{n}", parse_type(type_)) for n, type_ in enumerate(types)]
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    assert [column.type for column in stored_view(warehouse).columns] == [parse_type(type_) for type_ in types]


def test_an_answer_that_a_view_is_missing_keeps_nothing_of_its_caller_in_memory(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh of a new view reads thousands of columns after this answer; a cycle that holds them is collected late."""

    class Read:
        """Something that a caller has read."""

    def work() -> weakref.ref[Read]:
        assert warehouse.get_view(VIEW) is None
        read = Read()
        return weakref.ref(read)

    monkeypatch.setattr(onefold.adapters.bigquery.client, "_RETRY", DEFAULT_RETRY)
    gc.disable()
    try:
        assert work()() is None
    finally:
        gc.enable()


def test_a_view_that_does_not_exist_is_read_as_none(warehouse: Warehouse) -> None:
    assert warehouse.get_view(VIEW) is None
    assert warehouse.get_view(TableId(PROJECT, "nowhere", "customer_unified")) is None


def test_creating_a_view_twice_is_an_error_and_keeps_the_first(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    with pytest.raises(ViewExists):
        warehouse.create_view(VIEW, ViewDraft(OTHER_QUERY))
    assert cloud.resource("customer_unified")["view"]["query"] == QUERY


def test_a_view_is_standard_sql(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    assert cloud.resource("customer_unified")["view"]["useLegacySql"] is False


def test_a_view_that_changed_since_it_was_read_is_not_written(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    cloud.change("customer_unified", lambda resource: resource.update(description="by hand"))
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert cloud.resource("customer_unified")["view"]["query"] == QUERY


def test_an_update_is_one_request_where_people_annotated_no_column(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert made == [Request("patch", "customer_unified")]
    assert cloud.resource("customer_unified")["view"]["query"] == OTHER_QUERY


def test_annotations_of_columns_survive_a_change_of_the_query_in_four_requests(
    cloud: FakeBigQuery, warehouse: Warehouse
) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY, "Customers.", {"team": "crm"}))
    assert [request.kind for request in made] == ["permissions", "patch", "patch", "patch"]
    assert annotated(cloud)
    assert cloud.resource("customer_unified")["labels"] == {"team": "crm"}
    stored = stored_view(warehouse)
    assert (stored.query, stored.description, stored.unfinished) == (OTHER_QUERY, "Customers.", False)


def test_annotations_of_columns_are_not_written_where_the_query_stays(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(QUERY, "Customers."))
    assert len(made) == 1
    assert annotated(cloud)


def test_annotations_that_a_broken_off_write_dropped_are_put_back_by_the_next_write(
    cloud: FakeBigQuery, warehouse: Warehouse
) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    die_after(cloud, "patch", before_that=1)
    with pytest.raises(Crash):
        warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    assert not annotated(cloud)

    stored = stored_view(warehouse)
    assert stored.unfinished
    assert stored.query == OTHER_QUERY
    warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert annotated(cloud)
    assert not stored_view(warehouse).unfinished


def test_a_broken_off_write_can_be_finished_with_another_query(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    die_after(cloud, "patch", before_that=1)
    with pytest.raises(Crash):
        warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    assert not annotated(cloud)
    warehouse.update_view(stored_view(warehouse), ViewDraft(QUERY))
    assert annotated(cloud)
    assert not stored_view(warehouse).unfinished


def test_a_policy_tag_that_people_removed_stays_removed(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    cloud.change("customer_unified", lambda resource: resource["schema"]["fields"][0].pop("policyTags"))
    warehouse.update_view(stored_view(warehouse), ViewDraft(QUERY))
    assert "policyTags" not in cloud.resource("customer_unified")["schema"]["fields"][0]
    assert cloud.resource("customer_unified")["schema"]["fields"][0]["description"]


def test_descriptions_are_put_back_even_where_the_text_has_no_room_to_note_them(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 100)
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", describe)
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert [request.kind for request in made] == ["patch", "patch"], "descriptions take no right of their own"
    assert cloud.resource("customer_unified")["schema"]["fields"][0]["description"] == "The number on the card."
    assert cloud.resource("customer_unified")["view"]["query"] == OTHER_QUERY


def test_policy_tags_are_noted_where_there_is_no_room_for_descriptions_as_well(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 300)
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    assert annotated(cloud)
    text = cloud.resource("customer_unified")["view"]["query"]
    assert "policyTags" in text
    assert "description" not in text
    assert len(text) <= 300


def test_a_view_without_room_to_note_its_policy_tags_is_not_written(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 100)
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    stored = stored_view(warehouse)
    with cloud.counted() as made, pytest.raises(LimitExceeded, match="no room for the policy tags of the columns id"):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert made == []


def test_a_description_that_is_not_to_change_is_not_cleared(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY, "Customers."))
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY, "Customers."))
    assert cloud.resource("customer_unified")["description"] == "Customers."


def test_a_label_that_the_draft_does_not_have_is_removed(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY, "", {"team": "crm", "old": "yes"}))
    warehouse.update_view(stored_view(warehouse), ViewDraft(QUERY, "", {"team": "crm"}))
    assert cloud.resource("customer_unified")["labels"] == {"team": "crm"}


def test_writing_a_view_that_reads_a_dropped_table_raises_view_changed(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    gone = ViewDraft(f"SELECT * FROM `{PROJECT}.shop.customer_v_gone`")
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, gone)
    with pytest.raises(ViewChanged) as caught:
        warehouse.create_view(BASE.sibling("other"), gone)
    assert not isinstance(caught.value, ViewExists)
    cloud.drop("customer_unified")
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))


def test_deleting_a_view_twice_is_no_error(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    warehouse.delete_view(VIEW)
    warehouse.delete_view(VIEW)
    assert cloud.names("VIEW") == []


def test_a_write_whose_answer_was_lost_raises_view_changed(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends it again, and what it finds is its own work."""
    monkeypatch.setattr(onefold.adapters.bigquery.client, "_RETRY", DEFAULT_RETRY.with_delay(initial=0, maximum=0))
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    die_after(cloud, "patch", requests.exceptions.ConnectionError("reset by peer"))
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert stored_view(warehouse).query == OTHER_QUERY


@pytest.mark.parametrize("added", ["\nLIMIT 10", "\n-- mine", "x"])
def test_a_text_that_people_changed_after_the_notes_is_read_whole(
    cloud: FakeBigQuery, warehouse: Warehouse, added: str
) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    cloud.change("customer_unified", lambda resource: resource["view"].update(query=resource["view"]["query"] + added))
    assert stored_view(warehouse).query.endswith(added)


def test_several_threads_write_their_own_views(cloud: FakeBigQuery) -> None:
    def create(number: int) -> None:
        BigQueryWarehouse(cloud.client()).create_view(BASE.sibling(f"view_{number}"), ViewDraft(QUERY))

    at_once(*(partial(create, number) for number in range(8)))
    assert cloud.names("VIEW") == [f"view_{number}" for number in range(8)]
