"""A view in two levels: leaves first, then the view, then away with the leaves that are spare."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import pytest
from support.fake_bigquery import Crash, FakeBigQuery, Request
from support.refresh_shop import (
    GET,
    LEAF,
    LEAF_SIZE,
    PATCH,
    VIEW,
    add,
    before_next,
    covered,
    fifty_messages,
    leaves,
    numbered,
    run,
    shop,
    with_rules,
)
from support.rest import PROJECT, Resource
from support.turns import at_once

import onefold.refresh.labels
import onefold.views.unified_view
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.ports.warehouse import ViewDraft
from onefold.refresh.tables_read import covered_versions

# Two levels


@pytest.mark.usefixtures("small_texts")
def test_leaves_are_written_before_the_view_over_them() -> None:
    cloud = shop(20)
    with cloud.counted() as made:
        plan = run(cloud)
    assert plan.view
    assert plan.view.form == "two-level"
    inserted = [request.name for request in made if request.kind == "insert"]
    assert len(inserted) > 2
    assert inserted[-1] == VIEW
    assert leaves(cloud) == set(inserted[:-1])
    assert covered(cloud) == numbered(20)


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_that_people_edited_is_repaired_and_keeps_their_description() -> None:
    cloud = shop(20)
    run(cloud)
    leaf = min(leaves(cloud))
    text = cloud.resource(leaf)["view"]["query"]

    def edit(resource: Resource) -> None:
        resource["view"] = {**resource["view"], "query": f"SELECT 1 AS id FROM `{PROJECT}.shop.customer_v_000`"}
        resource["description"] = "Half of our customers."

    cloud.change(leaf, edit)
    assert run(cloud).action == "update"
    assert cloud.resource(leaf)["view"]["query"] == text
    assert cloud.resource(leaf)["description"] == "Half of our customers."
    assert run(cloud).action == "none"


@pytest.mark.usefixtures("small_texts")
def test_leaves_that_do_not_change_are_not_touched_and_spare_ones_go_last() -> None:
    cloud = shop(20)
    run(cloud)
    before = {name: cloud.resource(name)["etag"] for name in leaves(cloud)}
    add(cloud, 20)
    with cloud.counted() as made:
        run(cloud, "020")
    kept = leaves(cloud) & before.keys()
    assert kept
    assert all(cloud.resource(name)["etag"] == before[name] for name in kept)
    kinds = [request.kind for request in made]
    assert [request.name for request in made if request.kind == "delete"] == sorted(before.keys() - leaves(cloud))
    assert "delete" in kinds[kinds.index("patch") :]
    assert "delete" not in kinds[: kinds.index("patch")]
    assert covered(cloud) == numbered(21)


@pytest.mark.usefixtures("small_texts")
def test_in_two_levels_a_redelivered_message_costs_two_requests_too() -> None:
    cloud = shop(20)
    run(cloud)
    with cloud.counted() as made:
        run(cloud, "007")
    assert made == [GET, Request("get", "customer_v_007")]


@pytest.mark.usefixtures("small_texts")
def test_in_two_levels_nothing_is_written_twice() -> None:
    cloud = shop(20)
    run(cloud)
    with cloud.counted() as made:
        plan = run(cloud)
    assert plan.action == "none"
    assert [request.kind for request in made] == ["get", "query", "list", *("get" for _ in leaves(cloud))]


@pytest.mark.usefixtures("small_texts")
def test_a_view_that_needs_one_level_again_has_no_leaves() -> None:
    cloud = shop(20)
    run(cloud)
    for number in range(17):
        cloud.drop(f"customer_v_{number:03}")
    run(cloud)
    assert covered(cloud) == {"017", "018", "019"}
    assert cloud.names("VIEW") == [VIEW]


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_that_is_missing_is_written_again() -> None:
    cloud = shop(20)
    run(cloud)
    cloud.drop(min(leaves(cloud)))
    run(cloud)
    assert covered(cloud) == numbered(20)


@pytest.mark.usefixtures("small_texts")
def test_leaves_that_a_crash_left_over_go_at_the_next_change() -> None:
    cloud = shop(20)
    run(cloud)
    add(cloud, 20)
    before_next(cloud, PATCH, crash)
    with pytest.raises(Crash):
        run(cloud, "020")
    add(cloud, 21)
    run(cloud, "021")
    assert leaves(cloud) == set(LEAF.findall(cloud.resource(VIEW)["view"]["query"]))
    assert covered(cloud) == numbered(22)


@pytest.mark.usefixtures("small_texts")
def test_views_that_are_named_alike_are_no_leaves() -> None:
    cloud = shop(20)
    run(cloud)
    other = TableId(PROJECT, "shop", "onefold_leaf_by_hand_customer_unified")
    BigQueryWarehouse(cloud.client()).create_view(other, ViewDraft("SELECT 1"))
    add(cloud, 20)
    run(cloud)
    assert other.table in cloud.names("VIEW")


@pytest.mark.usefixtures("small_texts")
def test_prune_removes_the_leaves_too() -> None:
    cloud = shop(20)
    run(cloud)
    run(cloud, settings=with_rules(retired=frozenset(numbered(20))), prune=True)
    assert cloud.names("VIEW") == []
    assert len(cloud.names("TABLE")) == 20


def overtaking(cloud: FakeBigQuery) -> tuple[str, str, Callable[[], None]]:
    """A slow refresh does not see a version, so that a leaf is spare; a fast one sees it and reads that leaf.

    Returns the message of the slow one, the leaf, and what the fast one does.
    """
    count = LEAF_SIZE * 2
    last = f"{count - 1:03}"
    run(cloud)
    cloud.hidden.add(f"customer_v_{last}")
    add(cloud, count)
    (spare,) = (
        name for name in leaves(cloud) if last in covered_versions(cloud.resource(name)["view"]["query"], "customer")
    )

    def overtake() -> None:
        cloud.hidden.clear()
        run(cloud)
        assert spare in cloud.resource(VIEW)["view"]["query"]

    return f"{count:03}", spare, overtake


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_that_another_refresh_reads_by_now_is_not_removed() -> None:
    cloud = shop(LEAF_SIZE * 2)
    message, spare, overtake = overtaking(cloud)
    before_next(cloud, Request("list"), overtake)
    with cloud.counted() as made:
        run(cloud, message)
    assert Request("delete", spare) not in made
    assert covered(cloud) == numbered(LEAF_SIZE * 2 + 1)


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_that_another_refresh_takes_up_while_it_is_removed_is_written_again() -> None:
    cloud = shop(LEAF_SIZE * 2)
    message, spare, overtake = overtaking(cloud)
    before_next(cloud, Request("delete", spare), overtake)
    with cloud.counted() as made:
        run(cloud, message)
    assert made.index(Request("delete", spare)) < len(made) - 1 - made[::-1].index(Request("insert", spare))
    assert covered(cloud) == numbered(LEAF_SIZE * 2 + 1)


@pytest.mark.usefixtures("eager_threads", "small_texts")
def test_concurrent_refreshes_in_two_levels_end_with_all_versions_and_all_leaves() -> None:
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_f1", "id INT64", "name STRING")
    at_once(*fifty_messages(cloud))
    assert covered(cloud) == {"f1", *numbered(20)}
    run(cloud)
    assert leaves(cloud) == set(LEAF.findall(cloud.resource(VIEW)["view"]["query"]))


def with_old_leaves(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """A view as the release before the fixed prefix wrote it, and the names of its leaves."""

    def old_leaf(view: TableId, query: str) -> onefold.refresh.built_view.Leaf:
        digest = hashlib.sha256(query.encode()).hexdigest()[:12]
        return onefold.refresh.built_view.Leaf(view.sibling(f"{view.table}_leaf_{digest}"), query)

    with monkeypatch.context() as before:
        before.setattr(onefold.views.unified_view, "_leaf", old_leaf)
        before.setattr(onefold.refresh.labels, "RENDERER", 1)
        run(cloud)
    old = {name for name in cloud.names("VIEW") if name != VIEW}
    assert old
    assert all(re.fullmatch(r"customer_unified_leaf_[0-9a-f]{12}", name) for name in old)
    return old


@pytest.mark.usefixtures("small_texts")
def test_leaves_of_an_earlier_release_are_removed_once_after_the_new_view_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cloud = shop(20)
    old = with_old_leaves(cloud, monkeypatch)
    with cloud.counted() as made:
        run(cloud)
    assert {request.name for request in made if request.kind == "delete"} == old
    assert "delete" not in [request.kind for request in made][: made.index(PATCH)]
    assert leaves(cloud) == set(cloud.names("VIEW")) - {VIEW}
    assert covered(cloud) == numbered(20)
    with cloud.counted() as made:
        assert run(cloud).action == "none"
    assert [request.kind for request in made] == ["get", "query", "list", *("get" for _ in leaves(cloud))]


@pytest.mark.usefixtures("small_texts")
def test_an_old_leaf_that_may_not_be_deleted_remains_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = shop(20)
    old = with_old_leaves(cloud, monkeypatch)
    refuse_to_delete(monkeypatch, old)
    plan = run(cloud)
    assert old <= set(cloud.names("VIEW"))
    assert len(plan.warnings) == len(old)
    assert all(any(name in warning for warning in plan.warnings) for name in old)
    assert run(cloud).action == "none"


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_of_this_release_that_may_not_be_deleted_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = shop(20)
    run(cloud)
    refuse_to_delete(monkeypatch, leaves(cloud))
    add(cloud, 20)
    with pytest.raises(Rejected, match="onefold_leaf_"):
        run(cloud, "020")


@pytest.mark.usefixtures("small_texts")
def test_prune_removes_leaves_of_an_earlier_release_too(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = shop(20)
    with_old_leaves(cloud, monkeypatch)
    run(cloud, settings=with_rules(retired=frozenset(numbered(20))), prune=True)
    assert cloud.names("VIEW") == []


def refuse_to_delete(monkeypatch: pytest.MonkeyPatch, names: set[str]) -> None:
    """As BigQuery answers an account whose condition does not admit the name."""
    delete = BigQueryWarehouse.delete_view

    def delete_view(warehouse: BigQueryWarehouse, id_: TableId) -> None:
        if id_.table in names:
            raise Rejected(f"{id_}: Access Denied: bigquery.tables.delete")
        delete(warehouse, id_)

    monkeypatch.setattr(BigQueryWarehouse, "delete_view", delete_view)


def crash() -> None:
    raise Crash
