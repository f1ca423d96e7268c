"""Fifty refreshes at once, through Google's own client, over the fake transport."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import covered, fifty_messages
from support.turns import at_once


@pytest.mark.usefixtures("eager_threads")
def test_50_concurrent_refreshes_while_20_versions_appear_end_with_the_view_of_all_20() -> None:
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_f1", "id INT64")
    at_once(*fifty_messages(cloud))
    assert covered(cloud) == {"f1", *(f"{number:03}" for number in range(20))}
