"""A refresh, through Google's own client, over the fake transport: what it reads and writes, and in what order.

A message is delivered as Pub/Sub does it: again and again while the refresh raises TryAgain.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from fake_bigquery import PROJECT, Crash, FakeBigQuery, Request, Resource, rest_field

import onefold.bigquery
import onefold.view
from onefold.bigquery import BigQueryWarehouse
from onefold.errors import LimitExceeded, NothingFound, Rejected, SchemaConflict, TryAgain, ViewNotOurs
from onefold.names import TableId
from onefold.refresh import LABEL, TRIES, Plan, plan_refresh, refresh
from onefold.rules import Rules
from onefold.settings import Settings
from onefold.types import parse_type
from onefold.view import covered_versions
from onefold.warehouse import ViewDraft

BASE = TableId(PROJECT, "shop", "customer")
VIEW = "customer_unified"
LEAF = re.compile(r"customer_unified_leaf_[0-9a-f]{12}")
PLAIN = Settings()

# Delivered this often, a message would be long past anybody's patience.
MOST_DELIVERIES = 1_000

GET = Request("get", VIEW)
QUERY = Request("query")
INSERT = Request("insert", VIEW)
PATCH = Request("patch", VIEW)


@pytest.fixture(autouse=True)
def no_retries_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.bigquery, "_RETRY", None)
    monkeypatch.setattr(onefold.bigquery, "_QUERY_RETRY", None)


@pytest.fixture
def cloud() -> FakeBigQuery:
    """Two versions and no view."""
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_abc", "id INT64", "name STRING")
    cloud.create_table("customer_v_def", "id INT64", "email STRING")
    return cloud


@pytest.fixture
def small_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on a view's text that makes two levels of a few versions."""
    monkeypatch.setattr(onefold.view, "MAX_TEXT", 700)


def run(cloud: FakeBigQuery, version: str | None = None, settings: Settings = PLAIN, **options: Any) -> Plan:
    return refresh(BigQueryWarehouse(cloud.client()), BASE, settings, version=version, sleep=lambda _: None, **options)


def deliver(cloud: FakeBigQuery, version: str | None = None) -> None:
    for _ in range(MOST_DELIVERIES):
        try:
            run(cloud, version)
        except TryAgain:
            continue
        return
    raise AssertionError(f"the message for {version} was delivered {MOST_DELIVERIES} times")


def covered(cloud: FakeBigQuery) -> set[str]:
    """The versions that people see through the view: it and its leaves must read nothing that is missing."""
    query = cloud.resource(VIEW)["view"]["query"]
    assert cloud.missing(query) == []
    leaves = [cloud.resource(leaf)["view"]["query"] for leaf in LEAF.findall(query)]
    assert all(cloud.missing(leaf) == [] for leaf in leaves)
    read = {version for text in [query, *leaves] for version in re.findall(r"FROM `[^`]+\.customer_v_(\w+)`", text)}
    assert read == covered_versions(query, "customer")
    return read


def leaves(cloud: FakeBigQuery) -> set[str]:
    return {name for name in cloud.names("VIEW") if LEAF.fullmatch(name)}


def with_rules(**rules: Any) -> Settings:
    return Settings(tables={"customer": Rules(**rules)})


def before_next(cloud: FakeBigQuery, request: Request, act: Callable[[], None]) -> None:
    """Let somebody else act just before the next such request."""

    def before(made: Request) -> None:
        if made == request:
            cloud.before = lambda _: None
            act()

    cloud.before = before


def touch(cloud: FakeBigQuery) -> None:
    cloud.change(VIEW, lambda _: None)


# What is written, and what it costs


def test_a_first_refresh_creates_the_view_of_all_versions(cloud: FakeBigQuery) -> None:
    with cloud.counted() as made:
        plan = run(cloud, "def")
    assert made == [GET, QUERY, INSERT]
    assert plan.action == "create"
    assert covered(cloud) == {"abc", "def"}


def test_a_new_version_costs_three_requests_the_etag_first_then_the_metadata_then_the_write(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64", "phone STRING")
    with cloud.counted() as made:
        plan = run(cloud, "ghi")
    assert made == [GET, QUERY, PATCH]
    assert [str(change) for change in plan.changes] == ["added phone STRING"]
    assert covered(cloud) == {"abc", "def", "ghi"}


def test_a_redelivered_message_costs_one_request(cloud: FakeBigQuery) -> None:
    run(cloud, "def")
    for version in ("abc", "def"):
        with cloud.counted() as made:
            plan = run(cloud, version)
        assert made == [GET]
        assert plan.shortcut


def test_there_is_no_shortcut_where_the_rules_have_changed(cloud: FakeBigQuery) -> None:
    run(cloud, "def")
    with cloud.counted() as made:
        plan = run(cloud, "def", with_rules(version_column="origin"))
    assert made == [GET, QUERY, PATCH]
    assert not plan.shortcut
    assert "origin" in cloud.resource(VIEW)["view"]["query"]


def test_there_is_no_shortcut_without_a_version(cloud: FakeBigQuery) -> None:
    run(cloud)
    with cloud.counted() as made:
        plan = run(cloud)
    assert made == [GET, QUERY]
    assert (plan.action, plan.shortcut) == ("none", False)


def test_there_is_no_shortcut_to_a_view_of_unknown_rules(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.change(VIEW, lambda resource: resource["labels"].pop(LABEL))
    with cloud.counted() as made:
        run(cloud, "def")
    assert made == [GET, QUERY, PATCH]
    assert LABEL in cloud.resource(VIEW)["labels"]


def test_the_same_text_is_not_written_twice(cloud: FakeBigQuery) -> None:
    run(cloud)
    etag = cloud.resource(VIEW)["etag"]
    run(cloud)
    run(cloud, "abc")
    assert cloud.resource(VIEW)["etag"] == etag


def test_where_only_the_rules_label_differs_the_text_is_left_alone(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.change(VIEW, lambda resource: resource["labels"].update({LABEL: "old"}))
    cloud.change(VIEW, annotate)
    run(cloud, "def")
    assert is_annotated(cloud)


def test_a_plan_writes_nothing(cloud: FakeBigQuery) -> None:
    plan = plan_refresh(BigQueryWarehouse(cloud.client()), BASE, PLAIN)
    assert plan.action == "create"
    assert cloud.names("VIEW") == []


def test_changes_are_announced_before_they_are_written(cloud: FakeBigQuery) -> None:
    seen: list[list[str]] = []
    run(cloud, announce=lambda plan: seen.append([*map(str, plan.changes), *cloud.names("VIEW")]))
    assert seen == [["view created"]]
    run(cloud, announce=lambda _: seen.append([]))
    assert len(seen) == 1


# Conflicts


def test_after_a_412_everything_starts_again_from_the_read(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64")
    before_next(cloud, PATCH, lambda: touch(cloud))
    with cloud.counted() as made:
        run(cloud, "ghi")
    assert made == [GET, QUERY, PATCH, GET, QUERY, PATCH]
    assert covered(cloud) == {"abc", "def", "ghi"}


def test_after_a_409_everything_starts_again_from_the_read(cloud: FakeBigQuery) -> None:
    before_next(cloud, INSERT, lambda: deliver(cloud))
    with cloud.counted() as made:
        run(cloud)
    assert made == [GET, QUERY, GET, QUERY, INSERT, INSERT, GET, QUERY]
    assert covered(cloud) == {"abc", "def"}


def test_who_was_overtaken_by_a_newer_view_does_not_bring_the_older_one_back(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64")

    def overtake() -> None:
        cloud.create_table("customer_v_jkl", "id INT64")
        run(cloud, "jkl")

    before_next(cloud, PATCH, overtake)
    run(cloud, "ghi")
    assert covered(cloud) == {"abc", "def", "ghi", "jkl"}


def test_a_view_that_is_removed_meanwhile_is_created(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64")
    before_next(cloud, PATCH, lambda: cloud.drop(VIEW))
    run(cloud, "ghi")
    assert covered(cloud) == {"abc", "def", "ghi"}


def test_a_version_that_is_dropped_meanwhile_is_left_out(cloud: FakeBigQuery) -> None:
    before_next(cloud, INSERT, lambda: cloud.drop("customer_v_abc"))
    run(cloud)
    assert covered(cloud) == {"def"}


def test_after_all_tries_the_message_is_to_be_delivered_again(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64")
    cloud.fail("patch", 412, "conditionNotMet", times=TRIES)
    pauses: list[float] = []
    with pytest.raises(TryAgain, match=VIEW):
        refresh(BigQueryWarehouse(cloud.client()), BASE, PLAIN, sleep=pauses.append)
    assert len(pauses) == TRIES - 1
    assert all(0 <= pause <= 8 for pause in pauses)


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns far more often than by default."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def run_threads(jobs: Sequence[Callable[[], None]]) -> None:
    """All at once; the first failure is raised."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(jobs))

    def work(job: Callable[[], None]) -> None:
        barrier.wait()
        try:
            job()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def fifty_messages(cloud: FakeBigQuery) -> list[Callable[[], None]]:
    """50 messages about 20 versions, each of which appears just before its first message."""

    def job(number: int) -> None:
        version = f"{number % 20:03}"
        if number < 20:
            cloud.create_table(f"customer_v_{version}", "id INT64", "name STRING")
        deliver(cloud, version if number < 40 else None)

    return [lambda number=number: job(number) for number in range(50)]  # type: ignore[misc]


@pytest.mark.usefixtures("eager_threads")
def test_50_concurrent_refreshes_while_20_versions_appear_end_with_the_view_of_all_20() -> None:
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_first", "id INT64")
    run_threads(fifty_messages(cloud))
    assert covered(cloud) == {"first", *(f"{number:03}" for number in range(20))}


# What people put on the view

TAGS = {"names": ["projects/p/locations/eu/taxonomies/1/policyTags/2"]}


def annotate(resource: Resource) -> None:
    resource["description"] = "Our customers."
    resource["labels"] = {**resource["labels"], "team": "crm"}
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    fields["id"]["description"] = "The number on the card."
    fields["id"]["policyTags"] = TAGS
    if "address" in fields:
        fields["address"]["fields"][0]["description"] = "Without the house's number."


def is_annotated(cloud: FakeBigQuery) -> bool:
    view = cloud.resource(VIEW)
    wanted = {**view, "labels": dict(view["labels"]), "schema": {"fields": [dict(one) for one in view["schema"]["fields"]]}}
    annotate(wanted)
    return wanted == view


@pytest.fixture
def described(cloud: FakeBigQuery) -> FakeBigQuery:
    """A view that people described, nested fields included, and a version that it does not cover yet."""
    cloud.create_table("customer_v_nested", "address STRUCT<street STRING, zip INT64>")
    run(cloud)
    cloud.change(VIEW, annotate)
    cloud.create_table("customer_v_ghi", "id INT64", "phone STRING")
    return cloud


def test_descriptions_labels_and_policy_tags_survive_at_the_price_of_one_request(described: FakeBigQuery) -> None:
    with described.counted() as made:
        run(described, "ghi")
    assert made == [GET, QUERY, PATCH, PATCH]
    assert is_annotated(described)
    assert covered(described) == {"abc", "def", "nested", "ghi"}


def test_the_next_refresh_finds_nothing_to_do(described: FakeBigQuery) -> None:
    run(described, "ghi")
    with described.counted() as made:
        run(described)
        run(described, "ghi")
    assert made == [GET, QUERY, GET]


def test_they_survive_another_writer_between_the_two_writes(described: FakeBigQuery) -> None:
    interfere(described, lambda: described.change(VIEW, lambda resource: resource["labels"].update(cost="low")))
    run(described, "ghi")
    assert is_annotated(described)
    assert described.resource(VIEW)["labels"]["cost"] == "low"


def test_they_survive_another_refresh_between_the_two_writes(described: FakeBigQuery) -> None:
    def overtake() -> None:
        described.create_table("customer_v_jkl", "id INT64")
        run(described, "jkl")

    interfere(described, overtake)
    run(described, "ghi")
    assert is_annotated(described)
    assert covered(described) == {"abc", "def", "nested", "ghi", "jkl"}


def test_they_survive_a_crash_between_the_two_writes_though_the_view_covers_the_version(described: FakeBigQuery) -> None:
    def crash() -> None:
        raise Crash

    interfere(described, crash)
    with pytest.raises(Crash):
        run(described, "ghi")
    assert not is_annotated(described)
    run(described, "ghi")
    assert is_annotated(described)


def interfere(cloud: FakeBigQuery, act: Callable[[], None]) -> None:
    """Act between the write of the text and that of the columns."""

    def after(made: Request) -> None:
        if made == PATCH:
            cloud.after = lambda _: None
            act()

    cloud.after = after


def test_the_view_says_what_can_be_lost_below_what_people_say(cloud: FakeBigQuery) -> None:
    cloud.create_table("customer_v_ghi", "id INT64", "name BYTES")
    run(cloud)
    cloud.change(VIEW, lambda resource: resource.update(description="Our customers.\n\n" + resource["description"]))
    cloud.create_table("customer_v_jkl", "email BYTES")
    run(cloud, "jkl")
    description = cloud.resource(VIEW)["description"]
    assert description.startswith("Our customers.\n\n[onefold: conversions that can lose values\n")
    assert "- name: " in description
    assert "- email: " in description
    assert description.count("[onefold:") == 1
    for lossy in ("ghi", "jkl"):
        cloud.drop(f"customer_v_{lossy}")
    run(cloud)
    assert cloud.resource(VIEW)["description"] == "Our customers."


def test_a_retyped_column_is_told_with_both_types(cloud: FakeBigQuery) -> None:
    cloud.schema_of = lambda _: [rest_field(name, parse_type(kind)) for name, kind in (("id", "INT64"), ("name", "STRING"))]
    cloud.drop("customer_v_def")
    run(cloud)
    cloud.create_table("customer_v_ghi", "id STRING")
    assert [str(change) for change in run(cloud, "ghi").changes] == ["retyped id INT64 -> STRING"]


# Deletion


def test_a_dropped_version_is_taken_out(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    with cloud.counted() as made:
        plan = run(cloud)
    assert made == [GET, QUERY, PATCH]
    assert covered(cloud) == {"def"}
    assert [str(change) for change in plan.changes] == ["removed name STRING"]


def test_a_retired_version_is_taken_out_while_its_table_is_there(cloud: FakeBigQuery) -> None:
    run(cloud)
    run(cloud, "abc", with_rules(retired=frozenset({"abc"})))
    assert covered(cloud) == {"def"}
    assert "customer_v_abc" in cloud.names("TABLE")


@pytest.mark.parametrize("settings", [PLAIN, with_rules(retired=frozenset({"abc", "def"}))], ids=["dropped", "retired"])
@pytest.mark.parametrize("prune", [False, True])
def test_without_versions_and_view_nothing_is_found_and_it_says_where(
    cloud: FakeBigQuery, settings: Settings, prune: bool
) -> None:
    if settings == PLAIN:
        cloud.drop("customer_v_abc")
        cloud.drop("customer_v_def")
    with pytest.raises(NothingFound, match=r"my-project\.shop.*\^customer_v_\[A-Za-z0-9\]\+\$"):
        run(cloud, settings=settings, prune=prune)


def test_the_view_is_left_where_no_version_is_left(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    cloud.drop("customer_v_def")
    with pytest.raises(NothingFound, match="--prune"):
        run(cloud)
    assert cloud.names("VIEW") == [VIEW]


def test_prune_removes_the_view_and_nothing_else(cloud: FakeBigQuery) -> None:
    run(cloud)
    plan = run(cloud, settings=with_rules(retired=frozenset({"abc", "def"})), prune=True)
    assert plan.action == "remove"
    assert cloud.names("VIEW") == []
    assert cloud.names("TABLE") == ["customer_v_abc", "customer_v_def"]


def test_prune_leaves_a_view_alone_that_has_versions(cloud: FakeBigQuery) -> None:
    run(cloud)
    run(cloud, prune=True)
    assert covered(cloud) == {"abc", "def"}


def test_a_version_that_comes_while_the_view_is_pruned_ends_in_a_view(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    cloud.drop("customer_v_def")

    def appear() -> None:
        cloud.create_table("customer_v_ghi", "id INT64")
        run(cloud, "ghi")

    before_next(cloud, Request("delete", VIEW), appear)
    run(cloud, prune=True)
    assert covered(cloud) == {"ghi"}


# What raises


def test_a_table_with_the_name_of_the_view_is_not_ours(cloud: FakeBigQuery) -> None:
    cloud.create_table(VIEW, "id INT64")
    with pytest.raises(ViewNotOurs, match=VIEW):
        run(cloud)
    assert cloud.names("TABLE") == [VIEW, "customer_v_abc", "customer_v_def"]


def test_a_materialized_view_is_not_ours_either(cloud: FakeBigQuery) -> None:
    cloud.create_table(VIEW, "id INT64", kind="MATERIALIZED_VIEW")
    with pytest.raises(ViewNotOurs):
        run(cloud)


def test_a_version_that_the_metadata_do_not_show_yet_is_waited_for(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64")
    cloud.hidden.add("customer_v_ghi")
    with pytest.raises(TryAgain, match="customer_v_ghi"):
        run(cloud, "ghi")
    cloud.hidden.clear()
    run(cloud, "ghi")
    assert covered(cloud) == {"abc", "def", "ghi"}


def test_the_first_version_of_all_is_waited_for_too(cloud: FakeBigQuery) -> None:
    cloud.hidden |= {"customer_v_abc", "customer_v_def"}
    with pytest.raises(TryAgain):
        run(cloud, "abc")


def test_a_version_that_nobody_knows_is_an_ordinary_refresh(cloud: FakeBigQuery) -> None:
    plan = run(cloud, "gone")
    assert plan.action == "create"
    assert covered(cloud) == {"abc", "def"}


def test_a_dataset_that_is_not_there_is_final() -> None:
    cloud = FakeBigQuery(datasets={})
    with pytest.raises(NothingFound, match="shop"):
        run(cloud, "abc")


def test_a_dataset_for_views_that_is_not_there_is_final(cloud: FakeBigQuery) -> None:
    with pytest.raises(NothingFound, match="shop_unified"):
        run(cloud, settings=replace(PLAIN, view_dataset="{dataset}_unified"))


@pytest.mark.parametrize("kind", ["get", "query", "insert"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [(500, ""), (503, "backendError"), (429, ""), (403, "rateLimitExceeded"), (403, "quotaExceeded"), (403, "accessDenied")],
)
def test_trouble_that_may_pass_leaves_everything_to_the_next_delivery(
    cloud: FakeBigQuery, kind: str, status: int, reason: str
) -> None:
    cloud.fail(kind, status, reason)
    with pytest.raises(TryAgain):
        run(cloud, "def")
    run(cloud, "def")
    assert covered(cloud) == {"abc", "def"}


def test_a_refused_query_is_final(cloud: FakeBigQuery) -> None:
    cloud.fail("insert", 400, "invalidQuery", "Syntax error")
    with pytest.raises(Rejected, match="Syntax error"):
        run(cloud)


def test_versions_that_cannot_be_one_view_leave_the_old_one(cloud: FakeBigQuery) -> None:
    run(cloud)
    etag = cloud.resource(VIEW)["etag"]
    with pytest.raises(SchemaConflict):
        run(cloud, settings=with_rules(version_column="email"))
    assert cloud.resource(VIEW)["etag"] == etag


def test_too_many_versions_leave_the_old_view(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cloud)
    cloud.create_table("customer_v_ghi", "id INT64")
    monkeypatch.setattr(onefold.view, "MAX_TABLES", 3)
    with pytest.raises(LimitExceeded, match="3 versions"):
        run(cloud, "ghi")
    assert covered(cloud) == {"abc", "def"}


# Two levels


LEAF_SIZE = 7
"""How many of these versions fit a leaf of `small_texts`."""


def shop(versions: int) -> FakeBigQuery:
    cloud = FakeBigQuery()
    for number in range(versions):
        add(cloud, number)
    return cloud


def add(cloud: FakeBigQuery, number: int) -> None:
    cloud.create_table(f"customer_v_{number:03}", "id INT64", "name STRING")


def numbered(count: int) -> set[str]:
    return {f"{number:03}" for number in range(count)}


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
def test_in_two_levels_a_redelivered_message_costs_one_request_too() -> None:
    cloud = shop(20)
    run(cloud)
    with cloud.counted() as made:
        run(cloud, "007")
    assert made == [GET]


@pytest.mark.usefixtures("small_texts")
def test_in_two_levels_nothing_is_written_twice() -> None:
    cloud = shop(20)
    run(cloud)
    with cloud.counted() as made:
        plan = run(cloud)
    assert plan.action == "none"
    assert [request.kind for request in made] == ["get", "query", "list"]


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
    other = TableId(PROJECT, "shop", "customer_unified_leaf_by_hand")
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
    cloud.create_table("customer_v_first", "id INT64", "name STRING")
    run_threads(fifty_messages(cloud))
    assert covered(cloud) == {"first", *numbered(20)}
    run(cloud)
    assert leaves(cloud) == set(LEAF.findall(cloud.resource(VIEW)["view"]["query"]))


def crash() -> None:
    raise Crash


# A crash between any two requests


@dataclass(frozen=True)
class Scenario:
    """What is there, and the refresh that a crash breaks off."""

    prepare: Callable[[], FakeBigQuery]
    version: str | None = None
    settings: Settings = PLAIN
    prune: bool = False

    def run(self, cloud: FakeBigQuery) -> None:
        run(cloud, self.version, self.settings, prune=self.prune)

    def finish(self, cloud: FakeBigQuery) -> None:
        """The message is delivered again, then comes the nightly check."""
        for version in (self.version, None):
            try:
                run(cloud, version, self.settings, prune=self.prune)
            except NothingFound:
                assert self.prune


def before_the_first_refresh() -> FakeBigQuery:
    return shop(20)


def with_people() -> FakeBigQuery:
    cloud = shop(3)
    run(cloud)
    cloud.change(VIEW, annotate)
    add(cloud, 3)
    return cloud


def with_people_and_a_new_version() -> FakeBigQuery:
    cloud = shop(20)
    run(cloud)
    cloud.change(VIEW, annotate)
    add(cloud, 20)
    return cloud


def with_few_versions_left() -> FakeBigQuery:
    cloud = shop(20)
    run(cloud)
    for number in range(17):
        cloud.drop(f"customer_v_{number:03}")
    return cloud


def with_all_versions_gone() -> FakeBigQuery:
    cloud = shop(20)
    run(cloud)
    for number in range(20):
        cloud.drop(f"customer_v_{number:03}")
    return cloud


SCENARIOS = {
    "a first view in two levels": Scenario(before_the_first_refresh, "019"),
    "a described view": Scenario(with_people, "003"),
    "a described view in two levels": Scenario(with_people_and_a_new_version, "020"),
    "back to one level": Scenario(with_few_versions_left),
    "other rules": Scenario(with_people_and_a_new_version, "020", with_rules(version_column="origin")),
    "prune": Scenario(with_all_versions_gone, prune=True),
}


def crash_at(cloud: FakeBigQuery, index: int, moment: str) -> None:
    """Die before the index-th request from now reaches BigQuery, or before its answer reaches us."""
    start = len(cloud.log)

    def before(_: Request) -> None:
        if len(cloud.log) - start == index:
            raise Crash

    def after(_: Request) -> None:
        if len(cloud.log) - start == index + 1:
            raise Crash

    setattr(cloud, moment, before if moment == "before" else after)


def state(cloud: FakeBigQuery) -> dict[str, Resource]:
    """All views, but for what differs from run to run."""
    return {
        name: {key: value for key, value in cloud.resource(name).items() if key not in ("etag", "_created")}
        for name in cloud.names("VIEW")
    }


@pytest.mark.usefixtures("small_texts")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_crash_at_any_request_is_made_good_by_the_next_refresh(name: str, moment: str) -> None:
    scenario = SCENARIOS[name]
    clean = scenario.prepare()
    with clean.counted() as made:
        scenario.run(clean)
    scenario.finish(clean)
    assert len(made) > 3
    for index in range(len(made)):
        cloud = scenario.prepare()
        crash_at(cloud, index, moment)
        with pytest.raises(Crash):
            scenario.run(cloud)
        cloud.before = cloud.after = lambda _: None
        scenario.finish(cloud)
        assert state(cloud) == state(clean), f"after a crash at request {index}, {made[index]}"


@pytest.mark.usefixtures("small_texts")
@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if not scenario.prune])
def test_a_crash_at_any_request_leaves_a_view_that_can_be_read(name: str) -> None:
    scenario = SCENARIOS[name]
    clean = scenario.prepare()
    with clean.counted() as made:
        scenario.run(clean)
    for index in range(len(made)):
        cloud = scenario.prepare()
        readable = VIEW in cloud.names("VIEW") and not gone(cloud)
        crash_at(cloud, index, "after")
        with pytest.raises(Crash):
            scenario.run(cloud)
        if readable:
            covered(cloud)


def gone(cloud: FakeBigQuery) -> list[str]:
    return [name for view in cloud.names("VIEW") for name in cloud.missing(cloud.resource(view)["view"]["query"])]
