"""A view that Onefold did not write is overwritten only on request, and not before its text was handed out."""

from __future__ import annotations

import json

import pytest
from support.fake_bigquery import FakeBigQuery
from support.in_memory import MemoryPublisher, push_body
from support.refresh_shop import BASE, VIEW, covered, run, with_rules
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import ViewNameTaken
from onefold.messages.table_created import table_message
from onefold.ports.warehouse import ViewDraft
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler


def write_by_hand(cloud: FakeBigQuery, text: str) -> None:
    BigQueryWarehouse(cloud.client()).create_view(BASE.sibling(VIEW), ViewDraft(text))


def test_a_view_that_people_wrote_is_neither_replaced_nor_pruned(cloud: FakeBigQuery) -> None:
    cloud.create_table("other", "id INT64")
    warehouse = BigQueryWarehouse(cloud.client())
    for table in ("other", "customer_v_abc"):
        write_by_hand(cloud, f"SELECT * FROM `{PROJECT}.shop.{table}`")
        for prune in (False, True):
            with cloud.counted() as made, pytest.raises(ViewNameTaken, match=r"onefold refresh shop\.customer --take-over"):
                run(cloud, prune=prune)
            assert not [request for request in made if request.kind in ("insert", "patch", "delete")]
        warehouse.delete_view(BASE.sibling(VIEW))


def test_a_view_that_people_wrote_is_taken_over_on_request_after_its_text_was_handed_out(cloud: FakeBigQuery) -> None:
    text = f"SELECT id FROM `{PROJECT}.shop.customer_v_abc`"
    write_by_hand(cloud, text)
    handed_out: list[tuple[str, str]] = []
    plan = run(cloud, take_over=lambda stored: handed_out.append((stored.query, cloud.resource(VIEW)["view"]["query"])))
    assert (plan.action, handed_out) == ("update", [(text, text)]), "handed out before the view was written"
    assert covered(cloud) == {"abc", "def"}
    assert run(cloud).action == "none", "the view is Onefold's from now on"


def test_a_view_that_is_taken_over_keeps_the_order_of_its_columns(cloud: FakeBigQuery) -> None:
    write_by_hand(cloud, f"SELECT name, id FROM `{PROJECT}.shop.customer_v_abc`")
    fields = [{"name": "name", "type": "STRING"}, {"name": "id", "type": "INTEGER"}]
    cloud.change(VIEW, lambda resource: resource.update(schema={"fields": fields}))
    handed_out: list[str] = []
    plan = run(cloud, take_over=lambda stored: handed_out.append(stored.query))
    assert plan.view
    assert [column.name for column in plan.view.columns][:2] == ["name", "id"]


def test_a_view_of_others_without_a_version_is_removed_only_on_request(cloud: FakeBigQuery) -> None:
    write_by_hand(cloud, "SELECT 1 AS id")
    settings = with_rules(retired=frozenset({"abc", "def"}))
    with pytest.raises(ViewNameTaken, match="customer --prune --take-over"):
        run(cloud, settings=settings, prune=True)
    handed_out: list[str] = []
    run(cloud, settings=settings, prune=True, take_over=lambda stored: handed_out.append(stored.query))
    assert handed_out == ["SELECT 1 AS id"]
    assert VIEW not in cloud.names("VIEW")


def test_a_view_of_onefold_is_written_again_without_a_request_even_where_people_edited_it(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.change(
        VIEW, lambda resource: resource["view"].update(query=f"SELECT 1 AS id FROM `{PROJECT}.shop.customer_v_abc`")
    )
    assert run(cloud, take_over=lambda stored: pytest.fail(f"{stored.id} is Onefold's own")).action == "update"


def test_a_view_without_labels_that_has_the_text_already_needs_no_request(cloud: FakeBigQuery) -> None:
    run(cloud)
    text = cloud.resource(VIEW)["view"]["query"]
    BigQueryWarehouse(cloud.client()).delete_view(BASE.sibling(VIEW))
    write_by_hand(cloud, text)
    assert run(cloud).action == "update"
    assert run(cloud).action == "none"


def test_the_function_leaves_a_view_of_others_alone_and_says_what_to_run(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    write_by_hand(cloud, f"SELECT id FROM `{PROJECT}.shop.customer_v_abc`")
    publisher = MemoryPublisher()
    settings = Settings(topic_dead_letter="dead-letter")
    handler = TableCreatedHandler(settings, BigQueryWarehouse(cloud.client()), publisher)
    handler.handle(push_body(table_message("shop", "customer", "abc")))
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    (line,) = (line for line in lines if line["event"] == "put_aside")
    assert line["kind"] == "ViewNameTaken"
    assert "`onefold refresh shop.customer --take-over`" in line["reason"]
    assert len(publisher.topics["dead-letter"]) == 1
    assert cloud.resource(VIEW)["view"]["query"] == f"SELECT id FROM `{PROJECT}.shop.customer_v_abc`"
