"""Fixtures of the tests of views and of what writes them: a handler over a fake warehouse, and tags that may not be set."""

from __future__ import annotations

import pytest
from support.announcements import REFUSALS, Announcer
from support.fake_bigquery import FakeBigQuery
from support.memory_handler import MemoryHandler
from support.refresh_shop import VIEW, run, with_tag

from onefold.adapters.bigquery.policy_tags import GET_TAXONOMY, SET_TAGS

LACKING = {
    "neither right": ({SET_TAGS, GET_TAXONOMY}, False),
    "no right on the table": ({SET_TAGS}, False),
    "no right on the taxonomy": ({GET_TAXONOMY}, False),
    "no right, although the test of permissions grants it": ({SET_TAGS}, True),
}
"""Accounts that lack a right to set policy tags."""


@pytest.fixture
def announcer(cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> Announcer:
    """Return a handler after its first refresh, with a version that the view does not cover yet."""
    made = Announcer(cloud, capsys)
    made.deliver()
    made.publisher.topics.clear()
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return made


@pytest.fixture(params=REFUSALS)
def refusing(announcer: Announcer, request: pytest.FixtureRequest) -> Announcer:
    """Return a handler whose topic for schema changes refuses messages."""
    announcer.refuse(REFUSALS[request.param])
    return announcer


@pytest.fixture
def tagged(cloud: FakeBigQuery) -> FakeBigQuery:
    """Return a view with a policy tag on a column, and a version that the view does not cover yet."""
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return cloud


@pytest.fixture(params=LACKING)
def denied(tagged: FakeBigQuery, request: pytest.FixtureRequest) -> FakeBigQuery:
    """Return the tagged view, for an account that may not set the tag."""
    tagged.lacks, tagged.fails_open = LACKING[request.param]
    return tagged


@pytest.fixture
def handler(capsys: pytest.CaptureFixture[str]) -> MemoryHandler:
    """Return a handler whose warehouse has two versions and no view."""
    return MemoryHandler(capsys)
