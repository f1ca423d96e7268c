"""A refresh while others write the same view.

A message is delivered as Pub/Sub does it: again and again while the refresh raises TryAgain.
"""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import (
    BASE,
    GET,
    INSERT,
    PATCH,
    PLAIN,
    QUERY,
    VIEW,
    before_next,
    covered,
    deliver,
    run,
    touch,
)

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import TryAgain
from onefold.core.retry import CONFLICT_TRIES
from onefold.refresh.write import refresh
from onefold.views.unified_kind import UnifiedKind


def test_after_a_412_everything_starts_again_from_the_read(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    before_next(cloud, PATCH, lambda: touch(cloud))
    with cloud.counted() as made:
        run(cloud, "fed")
    assert made == [GET, QUERY, PATCH, GET, QUERY, PATCH]
    assert covered(cloud) == {"abc", "def", "fed"}


def test_after_a_409_everything_starts_again_from_the_read(cloud: FakeBigQuery) -> None:
    before_next(cloud, INSERT, lambda: deliver(cloud))
    with cloud.counted() as made:
        run(cloud)
    assert made == [GET, QUERY, GET, QUERY, INSERT, INSERT, GET, QUERY]
    assert covered(cloud) == {"abc", "def"}


def test_a_refresh_does_not_replace_a_newer_view_with_an_older_one(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")

    def overtake() -> None:
        cloud.create_table("customer_v_fee", "id INT64")
        run(cloud, "fee")

    before_next(cloud, PATCH, overtake)
    run(cloud, "fed")
    assert covered(cloud) == {"abc", "def", "fed", "fee"}


def test_a_view_that_is_removed_during_a_refresh_is_created_again(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    before_next(cloud, PATCH, lambda: cloud.drop(VIEW))
    run(cloud, "fed")
    assert covered(cloud) == {"abc", "def", "fed"}


def test_a_version_that_is_dropped_during_a_refresh_is_left_out(cloud: FakeBigQuery) -> None:
    before_next(cloud, INSERT, lambda: cloud.drop("customer_v_abc"))
    run(cloud)
    assert covered(cloud) == {"def"}


def test_after_the_last_try_the_message_has_to_be_delivered_again(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    cloud.fail("patch", 412, "conditionNotMet", times=CONFLICT_TRIES)
    pauses: list[float] = []
    with pytest.raises(TryAgain, match=VIEW):
        refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, PLAIN), sleep=pauses.append)
    assert len(pauses) == CONFLICT_TRIES - 1
    assert all(0 <= pause <= 8 for pause in pauses)
