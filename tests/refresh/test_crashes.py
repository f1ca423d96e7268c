"""A crash between any two requests of a refresh, and the refresh after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from support.fake_bigquery import Crash, FakeBigQuery, Request
from support.refresh_shop import PLAIN, VIEW, add, annotate, covered, run, shop, with_rules
from support.rest import Resource

from onefold.core.errors import NotFound
from onefold.settings.environment import Settings

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
            except NotFound:
                assert self.prune


def before_the_first_refresh() -> FakeBigQuery:
    return shop(20)


def described_with_one_more(versions: int) -> FakeBigQuery:
    """A view that people described, and a version that it does not cover yet."""
    cloud = shop(versions)
    run(cloud)
    cloud.change(VIEW, annotate)
    add(cloud, versions)
    return cloud


def without_the_first(dropped: int) -> FakeBigQuery:
    """A view of twenty versions, some of which were dropped since."""
    cloud = shop(20)
    run(cloud)
    for number in range(dropped):
        cloud.drop(f"customer_v_{number:03}")
    return cloud


SCENARIOS = {
    "a first view in two levels": Scenario(before_the_first_refresh, "019"),
    "a described view": Scenario(lambda: described_with_one_more(3), "003"),
    "a described view in two levels": Scenario(lambda: described_with_one_more(20), "020"),
    "back to one level": Scenario(lambda: without_the_first(17)),
    "other rules": Scenario(lambda: described_with_one_more(20), "020", with_rules(version_column="origin")),
    "prune": Scenario(lambda: without_the_first(20), prune=True),
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
        name: {key: value for key, value in cloud.resource(name).items() if key not in ("etag", "_created", "creationTime")}
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
