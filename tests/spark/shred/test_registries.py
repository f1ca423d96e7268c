"""A run with two registries: the schemas that its manifest names, and a registry that is down and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.registries import schema
from support.shred_job import CLICK, ShredScene, click, scene_with_clicks
from support.web_registry import WebRegistry, web_registry

from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.retry import Backoff
from onefold.events.registry import reading
from onefold.events.registry.index import digest_of
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.registry import FolderCopies

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
VIEW = schema("1-0-0", "view", "com.central")
NEWER = schema("1-0-1", "view", "com.central")
KEY = "5a1e0c4f-1111-4222-8333-444455556666"


@pytest.fixture
def web() -> Iterator[WebRegistry]:
    with web_registry(VIEW) as server:
        yield server


def resolver(scene: ShredScene, web: WebRegistry) -> Path:
    own = {"embedded": {"path": str(scene.registry)}}
    central = {"http": {"uri": web.address, "apikey": KEY}}
    data = {"cacheSize": 500, "repositories": [
        {"name": name, "priority": 0, "vendorPrefixes": [], "connection": connection}
        for name, connection in (("Central", central), ("Own", own))
    ]}  # fmt: skip
    path = scene.folder / "resolver.json"
    path.write_text(json.dumps({"schema": "iglu:com.snowplowanalytics.iglu/resolver-config/jsonschema/1-0-1", "data": data}))
    return path


def test_a_registry_is_down_and_back(
    spark: SparkSession, tmp_path: Path, web: WebRegistry, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reading, "_BACKOFF", Backoff(first=0.0, longest=0.0))
    scene = scene_with_clicks(tmp_path)
    registry = resolver(scene, web)
    scene.write("1.txt", [click(1), click(2, VIEW.key.uri), "nonsense"])
    report = scene.shred(spark, registry=registry)
    assert (report.tables, report.bad, report.stale) == (
        {"com_acme_ad_click_1": 1, "com_central_view_1": 1}, {"unreadable": 1}, {},
    )  # fmt: skip
    (manifest,) = scene.manifests()
    assert [(one.uri, one.registry) for one in manifest.schemas] == [
        (CLICK, str(scene.registry)), (VIEW.key.uri, web.address),
    ]  # fmt: skip
    assert manifest.schemas[1].sha256 == digest_of(VIEW)
    assert {key for _, key in web.requests} == {KEY}
    orders = json.loads((scene.output / "_registries" / "orders.json").read_text())["orders"]
    assert orders[VIEW.key.model_key.path] == ["1-0-0"]

    web.mode = "down"
    scene.write("2.txt", [click(3, VIEW.key.uri)])
    report = scene.shred(spark, registry=registry)
    assert report.tables == {"com_central_view_1": 1}
    assert list(report.stale) == [f"Central ({web.address})"]
    scene.write("3.txt", [click(4, NEWER.key.uri)])
    with pytest.raises(TryAgain, match=f"the registry Central .{web.address}. does not answer.*{NEWER.key.path}"):
        scene.shred(spark, registry=registry)
    assert len(scene.manifests()) == 2

    web.mode = "well"
    web.schemas.append(NEWER)
    assert scene.shred(spark, registry=registry).tables == {"com_central_view_1": 1}
    written = [path.read_text() for path in scene.output.rglob("*.json")]
    assert not any(KEY in text for text in (*written, report.to_json(), report.summary(), *capfd.readouterr()))


def test_addresses_are_a_list_and_a_dry_run_keeps_no_copy(spark: SparkSession, tmp_path: Path, web: WebRegistry) -> None:
    scene = scene_with_clicks(tmp_path)
    scene.write("1.txt", [click(1), click(2, VIEW.key.uri)])
    words = [f"--registry={web.address}", "--dry-run"]
    assert scene.shred(spark, *words).tables == {"com_acme_ad_click_1": 1, "com_central_view_1": 1}
    assert not (scene.output / "_registries").exists()


def test_orders_that_a_killed_run_left_in_part_are_those_it_wrote_before(spark: SparkSession, tmp_path: Path) -> None:
    copies, orders = FolderCopies(Folder(spark, str(tmp_path)), dry_run=False), {VIEW.key.model_key: (VIEW.key, NEWER.key)}
    assert copies.find_orders() == {}
    copies.save_orders(orders)
    (tmp_path / "_registries" / "orders.json").write_text('{"form": 1, "ord')
    assert copies.find_orders() == orders
    (tmp_path / "_registries" / "orders.next.json").write_text("")
    with pytest.raises(InvalidInput, match=r"orders\.next\.json"):
        copies.find_orders()
