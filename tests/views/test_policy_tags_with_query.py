"""Policy tags of a view whose text changes and whose columns stay: never absent where BigQuery takes both at once."""

from __future__ import annotations

from typing import Literal

import pytest
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import PATCH, VIEW, covered, run, tags, with_tag

from onefold.adapters.bigquery.policy_tags import SET_TAGS
from onefold.core.errors import PolicyTagsDenied

Together = Literal["refused", "dropped", "kept"]


@pytest.fixture
def tagged(cloud: FakeBigQuery) -> FakeBigQuery:
    """A view with a policy tag, and a version that brings no column and is not in the view yet."""
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    cloud.create_table("customer_v_fee", "id INT64", "name STRING")
    cloud.log.clear()
    return cloud


def tags_after_each_request(cloud: FakeBigQuery) -> list[dict[str, str]]:
    seen: list[dict[str, str]] = []
    cloud.after = lambda _: seen.append(tags(cloud))
    run(cloud, "fee")
    return seen


def test_tags_are_never_absent_where_bigquery_takes_query_and_columns_at_once(tagged: FakeBigQuery) -> None:
    tagged.together = "kept"
    assert tags(tagged) == {"id": "secret"}
    assert all(seen == {"id": "secret"} for seen in tags_after_each_request(tagged))
    assert "fee" in covered(tagged)


@pytest.mark.parametrize(("together", "patches"), [("refused", 4), ("dropped", 3)])
def test_tags_are_put_back_where_bigquery_does_not(tagged: FakeBigQuery, together: Together, patches: int) -> None:
    """The proof of the rights, the offer, the query alone where the offer was refused, and the tags."""
    tagged.together = together
    seen = tags_after_each_request(tagged)
    assert {} in seen
    assert seen[-1] == {"id": "secret"}
    assert (tagged.log.count(PATCH), "fee" in covered(tagged)) == (patches, True)


def test_columns_that_change_are_not_offered(tagged: FakeBigQuery) -> None:
    """Their tags depend on the columns that the query will have, which BigQuery's answer tells."""
    tagged.drop("customer_v_fee")
    tagged.create_table("customer_v_fed", "id INT64", "phone STRING")
    run(tagged, "fed")
    assert (tagged.log.count(PATCH), tags(tagged)) == (3, {"id": "secret"})


@pytest.mark.parametrize("together", ["dropped", "kept"])
def test_a_right_that_is_lost_after_its_proof_leaves_the_view_as_it_is(tagged: FakeBigQuery, together: Together) -> None:
    tagged.together = together

    def revoke(_: object) -> None:
        if tagged.log.count(PATCH) == 1:
            tagged.lacks = {SET_TAGS}

    tagged.after = revoke
    with pytest.raises(PolicyTagsDenied, match="Nothing was written"):
        run(tagged, "fee")
    assert (tags(tagged), "fee" in covered(tagged)) == ({"id": "secret"}, False)
