"""Fixtures of the tests of views."""

from __future__ import annotations

import pytest
from support.announcements import REFUSALS, Desk
from support.fake_bigquery import FakeBigQuery
from support.handler_stage import Stage
from support.policy_tags import LACKING
from support.refresh_shop import (
    VIEW,
    run,
    with_tag,
)


@pytest.fixture
def stage(capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(capsys)


@pytest.fixture
def desk(cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A view, and a version that it does not cover yet."""
    made = Desk(cloud, capsys)
    made.deliver()
    made.publisher.topics.clear()
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return made


@pytest.fixture(params=REFUSALS)
def refusing(desk: Desk, request: pytest.FixtureRequest) -> Desk:
    desk.refuse(REFUSALS[request.param])
    return desk


@pytest.fixture
def tagged(cloud: FakeBigQuery) -> FakeBigQuery:
    """A view with a policy tag on a column, and a version that it does not cover yet."""
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return cloud


@pytest.fixture(params=LACKING)
def denied(tagged: FakeBigQuery, request: pytest.FixtureRequest) -> FakeBigQuery:
    """The same, for an account that may not set the tag."""
    tagged.lacks, tagged.fails_open = LACKING[request.param]
    return tagged
