"""What the tests of a refresh share: a shop in the fake BigQuery, deliveries as Pub/Sub makes them, and what people see."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.fake_bigquery import FakeBigQuery, Request
from support.rest import PROJECT, Resource

import onefold.adapters.bigquery.client
import onefold.views.unified_view
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import TryAgain
from onefold.core.names import TableId
from onefold.refresh.plan import ViewPlan
from onefold.refresh.tables_read import covered_versions
from onefold.refresh.write import refresh
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind

BASE = TableId(PROJECT, "shop", "customer")
VIEW = "customer_unified"
LEAF = re.compile(r"onefold_leaf_[0-9a-f]{12}_customer_unified")
PLAIN = Settings()

# Delivered this often, a message would be long past anybody's patience.
MOST_DELIVERIES = 1_000

GET = Request("get", VIEW)
QUERY = Request("query")
INSERT = Request("insert", VIEW)
PATCH = Request("patch", VIEW)
PERMISSIONS = Request("permissions", VIEW)


@pytest.fixture(autouse=True)
def no_retries_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.client, "_RETRY", None)
    monkeypatch.setattr(onefold.adapters.bigquery.client, "_QUERY_RETRY", None)


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
    monkeypatch.setattr(onefold.views.unified_view, "MAX_TEXT", 700)


def run(cloud: FakeBigQuery, version: str | None = None, settings: Settings = PLAIN, **options: Any) -> ViewPlan:
    return refresh(
        UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, settings), version=version, sleep=lambda _: None, **options
    )


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
    return Settings(tables={"customer": TableRules(**rules)})


def before_next(cloud: FakeBigQuery, request: Request, act: Callable[[], None]) -> None:
    """Run an action of another writer just before the next such request."""

    def before(made: Request) -> None:
        if made == request:
            cloud.before = lambda _: None
            act()

    cloud.before = before


def touch(cloud: FakeBigQuery) -> None:
    cloud.change(VIEW, lambda _: None)


TAGS = {"names": ["projects/p/locations/eu/taxonomies/1/policyTags/2"]}


def annotate(resource: Resource) -> None:
    resource["description"] = "Our customers."
    resource["labels"] = {**resource["labels"], "team": "crm"}
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    fields["id"]["description"] = "The number on the card."
    fields["id"]["policyTags"] = TAGS
    if "address" in fields:
        fields["address"]["fields"][0]["description"] = "Without the house's number."


def with_tag(name: str, *path: str) -> Callable[[Resource], None]:
    """Let people put a policy tag on a column, or on a field below it, of a view."""

    def change(resource: Resource) -> None:
        fields = resource["schema"]["fields"]
        for part in path[:-1]:
            fields = next(one for one in fields if one["name"] == part)["fields"]
        next(one for one in fields if one["name"] == path[-1])["policyTags"] = {"names": [tag(name)]}

    return change


def tag(name: str) -> str:
    return f"projects/p/locations/eu/taxonomies/1/policyTags/{name}"


def tags(cloud: FakeBigQuery, view: str = VIEW) -> dict[str, str]:
    """Return the policy tags in effect, by the path of the column or field."""

    def found(fields: list[Resource], prefix: str) -> Iterator[tuple[str, str]]:
        for one in fields:
            for name in (one.get("policyTags") or {}).get("names", ()):
                yield prefix + one["name"], name.rpartition("/")[2]
            yield from found(one.get("fields", []), f"{prefix}{one['name']}.")

    return dict(found(cloud.resource(view)["schema"]["fields"], ""))


def is_annotated(cloud: FakeBigQuery) -> bool:
    view = cloud.resource(VIEW)
    wanted = {**view, "labels": dict(view["labels"]), "schema": {"fields": [dict(one) for one in view["schema"]["fields"]]}}
    annotate(wanted)
    return wanted == view


LEAF_SIZE = 6
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


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns far more often than by default."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def fifty_messages(cloud: FakeBigQuery) -> list[Callable[[], None]]:
    """50 messages about 20 versions, each of which appears just before its first message."""

    def job(number: int) -> None:
        version = f"{number % 20:03}"
        if number < 20:
            cloud.create_table(f"customer_v_{version}", "id INT64", "name STRING")
        deliver(cloud, version if number < 40 else None)

    return [lambda number=number: job(number) for number in range(50)]  # type: ignore[misc]
