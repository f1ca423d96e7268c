"""A versioned table that was dropped and created again, or altered in place: no shortcut may hide its new columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support.fake_bigquery import FakeBigQuery, Request
from support.in_memory import MemoryPublisher, audit_entry, push_body
from support.refresh_shop import BASE, GET, PATCH, QUERY, VIEW, before_next, covered, run, with_rules
from support.rest import Resource

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import TryAgain
from onefold.refresh.creations import LAG
from onefold.refresh.labels import CREATED_LABEL
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler

ABC = Request("get", "customer_v_abc")


def replace_table(cloud: FakeBigQuery) -> None:
    cloud.drop("customer_v_abc")
    cloud.create_table("customer_v_abc", "id INT64", "phone STRING")


def columns(cloud: FakeBigQuery) -> list[str]:
    return [one["name"] for one in cloud.resource(VIEW)["schema"]["fields"]]


@pytest.mark.parametrize("version", ["abc", "def"])
def test_a_replaced_table_is_not_hidden_by_the_view_that_covers_its_version(cloud: FakeBigQuery, version: str) -> None:
    """Whether it was the newest of all versions or not."""
    run(cloud)
    cloud.drop(f"customer_v_{version}")
    cloud.create_table(f"customer_v_{version}", "id INT64", "phone STRING")
    with cloud.counted() as made:
        plan = run(cloud, version)
    assert made == [GET, Request("get", f"customer_v_{version}"), QUERY, PATCH]
    assert "added phone STRING" in map(str, plan.changes)
    assert "phone" in columns(cloud)
    assert run(cloud, version).shortcut


def test_a_table_replaced_between_the_read_of_the_view_and_that_of_the_table_is_seen(cloud: FakeBigQuery) -> None:
    run(cloud)
    before_next(cloud, ABC, lambda: replace_table(cloud))
    assert not run(cloud, "abc").shortcut
    assert "phone" in columns(cloud)


def test_a_table_replaced_while_the_view_is_written_is_seen_by_the_next_message(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    before_next(cloud, PATCH, lambda: replace_table(cloud))
    run(cloud, "fed")
    assert not run(cloud, "abc").shortcut
    assert "phone" in columns(cloud)


def test_a_table_with_the_same_columns_is_written_into_the_label_alone(cloud: FakeBigQuery) -> None:
    run(cloud)
    text = cloud.resource(VIEW)["view"]["query"]
    cloud.drop("customer_v_def")
    cloud.create_table("customer_v_def", "id INT64", "email STRING")
    assert run(cloud, "def").changes == ()
    assert cloud.resource(VIEW)["view"]["query"] == text
    assert run(cloud, "def").shortcut


def test_a_table_that_is_gone_is_not_covered(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    assert not run(cloud, "abc").shortcut
    assert covered(cloud) == {"def"}


def test_a_clone_of_that_name_is_not_covered(cloud: FakeBigQuery) -> None:
    run(cloud)
    replace_table(cloud)
    cloud.change("customer_v_abc", lambda table: table.update(cloneDefinition={"cloneTime": "2024-01-01T00:00:00.000Z"}))
    cloud.hidden.add("customer_v_abc")
    assert not run(cloud, "abc").shortcut
    assert covered(cloud) == {"def"}


def test_metadata_that_still_show_the_former_table_are_waited_for(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(cloud)
    warehouse = BigQueryWarehouse(cloud.client())
    former = warehouse.read_versions(BASE)
    replace_table(cloud)
    monkeypatch.setattr(BigQueryWarehouse, "read_versions", lambda *_: former)
    with pytest.raises(TryAgain, match="still show the former table"):
        run(cloud, "abc")
    monkeypatch.undo()
    run(cloud, "abc")
    assert "phone" in columns(cloud)


def lag(cloud: FakeBigQuery, name: str, former: Resource) -> None:
    """Let the next query of the metadata still show the former table."""
    now = cloud.datasets["shop"][name]

    def show(table: Resource) -> Callable[[Request], None]:
        def act(made: Request) -> None:
            if made == QUERY:
                cloud.datasets["shop"][name] = table

        return act

    cloud.before, cloud.after = show(former), show(now)


@pytest.mark.parametrize("seconds", [0, 3_599])
def test_a_table_whose_metadata_lagged_while_a_newer_one_was_read_is_seen(cloud: FakeBigQuery, seconds: int) -> None:
    """It is older than the newest table that the view reads, and yet was not read."""
    run(cloud)
    former = cloud.datasets["shop"]["customer_v_abc"]
    replace_table(cloud)
    replaced = datetime.fromtimestamp(int(cloud.resource("customer_v_abc")["creationTime"]) / 1_000, UTC)
    cloud.create_table("customer_v_fed", "id INT64")
    lag(cloud, "customer_v_abc", former)
    run(cloud, "fed", now=lambda: replaced + timedelta(seconds=seconds))
    cloud.before = cloud.after = lambda _: None
    assert "phone" not in cloud.resource(VIEW)["view"]["query"]
    assert not run(cloud, "abc").shortcut
    assert "phone" in cloud.resource(VIEW)["view"]["query"]


def test_of_tables_that_are_new_the_newest_takes_the_shortcut_and_the_settled_ones(cloud: FakeBigQuery) -> None:
    cloud.create_table("customer_v_fed", "id INT64")
    times = {name: int(cloud.resource(f"customer_v_{name}")["creationTime"]) for name in ("abc", "def", "fed")}
    read_at = datetime.fromtimestamp(times["abc"] / 1_000, UTC) + LAG
    run(cloud, now=lambda: read_at)
    assert cloud.resource(VIEW)["labels"][CREATED_LABEL] == f"{times['abc']}-{times['fed']}"
    taken = {name: run(cloud, name, now=lambda: read_at).shortcut for name in times}
    assert taken == {"abc": True, "def": False, "fed": True}


def test_what_has_settled_since_is_no_change_of_its_own(cloud: FakeBigQuery) -> None:
    """Else `onefold plan` would find a change an hour after each refresh."""
    created = datetime.fromtimestamp(int(cloud.resource("customer_v_def")["creationTime"]) / 1_000, UTC)
    run(cloud, now=lambda: created)
    label = cloud.resource(VIEW)["labels"][CREATED_LABEL]
    assert run(cloud).action == "none"
    assert cloud.resource(VIEW)["labels"][CREATED_LABEL] == label
    cloud.create_table("customer_v_fed", "id INT64")
    assert run(cloud).action == "update"
    assert "-" not in cloud.resource(VIEW)["labels"][CREATED_LABEL]


def test_a_label_that_says_more_than_is_known_is_written_again(cloud: FakeBigQuery) -> None:
    created = datetime.fromtimestamp(int(cloud.resource("customer_v_def")["creationTime"]) / 1_000, UTC)
    run(cloud)
    run(cloud, now=lambda: created)
    assert cloud.resource(VIEW)["labels"][CREATED_LABEL].startswith("0-")


@pytest.mark.parametrize("label", [None, "", "soon", "-1", "²", "1-", "1-2-3"])
def test_a_view_that_does_not_say_when_its_versions_were_created_is_computed(cloud: FakeBigQuery, label: str | None) -> None:
    """A view of an older release, or one whose label people changed."""
    run(cloud)
    cloud.change(VIEW, lambda resource: resource["labels"].update({CREATED_LABEL: label}))
    if label is None:
        cloud.change(VIEW, lambda resource: resource["labels"].pop(CREATED_LABEL))
    assert not run(cloud, "abc").shortcut
    assert run(cloud, "abc").shortcut


def test_the_label_is_that_of_the_newest_version_that_the_view_reads(cloud: FakeBigQuery) -> None:
    run(cloud, settings=with_rules(retired=frozenset({"def"})))
    created = int(cloud.resource("customer_v_abc")["creationTime"])
    assert cloud.resource(VIEW)["labels"][CREATED_LABEL] == str(created)
    run(cloud)
    assert cloud.resource(VIEW)["labels"][CREATED_LABEL] == str(int(cloud.resource("customer_v_def")["creationTime"]))


def test_without_the_time_of_each_version_the_view_says_none(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cloud)
    abc, other = BigQueryWarehouse(cloud.client()).read_versions(BASE)
    monkeypatch.setattr(BigQueryWarehouse, "read_versions", lambda *_: (replace(abc, created=None), other))
    run(cloud)
    assert CREATED_LABEL not in cloud.resource(VIEW)["labels"]
    assert not run(cloud, "abc").shortcut


def test_creation_times_are_compared_in_whole_milliseconds(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    """INFORMATION_SCHEMA may give microseconds, tables.get gives milliseconds."""
    run(cloud)
    at = datetime.fromtimestamp(int(cloud.resource(VIEW)["labels"][CREATED_LABEL]) / 1_000, UTC)
    monkeypatch.setattr(BigQueryWarehouse, "table_created", lambda *_: at + timedelta(microseconds=999))
    assert run(cloud, "def").shortcut
    monkeypatch.setattr(BigQueryWarehouse, "table_created", lambda *_: at + timedelta(milliseconds=1))
    with pytest.raises(TryAgain):
        run(cloud, "def")


@pytest.mark.parametrize("kind", ["tableChange", "tableCreation"])
def test_an_audit_entry_of_an_altered_or_replaced_table_brings_its_columns(cloud: FakeBigQuery, kind: str) -> None:
    receiver = TableCreatedHandler(Settings(), BigQueryWarehouse(cloud.client()), MemoryPublisher())
    receiver.handle(push_body(audit_entry("customer_v_abc")))
    if kind == "tableCreation":
        replace_table(cloud)
    else:
        types = [("id", "INT64"), ("phone", "STRING")]
        fields = [{"name": "id", "type": "INTEGER"}, {"name": "phone", "type": "STRING"}]
        cloud.change("customer_v_abc", lambda table: table.update(_types=types, schema={"fields": fields}))
    receiver.handle(push_body(audit_entry("customer_v_abc", kind)))
    assert "phone" in columns(cloud)
