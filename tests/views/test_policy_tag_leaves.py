"""Policy tags of leaf views."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery, Request
from support.refresh_shop import (
    LEAF,
    PATCH,
    VIEW,
    add,
    leaves,
    run,
    shop,
    tags,
    with_tag,
)

from onefold.adapters.bigquery.policy_tags import GET_TAXONOMY
from onefold.core.errors import PolicyTagsDenied, TryAgain


def grown_to_two_levels() -> FakeBigQuery:
    """Return a view with a policy tag and more versions than fit one level."""
    cloud = shop(3)
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    for number in range(3, 20):
        add(cloud, number)
    return cloud


@pytest.mark.usefixtures("small_texts")
def test_leaves_carry_the_tags_of_the_view_before_the_view_reads_them() -> None:
    cloud = grown_to_two_levels()
    read: list[dict[str, str]] = []

    def after(request: Request) -> None:
        if request == PATCH and (found := LEAF.findall(cloud.resource(VIEW)["view"]["query"])):
            read.extend(tags(cloud, leaf) for leaf in found)

    cloud.after = after
    run(cloud)
    assert read
    assert all(found == {"id": "secret"} for found in read)
    assert tags(cloud) == {"id": "secret"}


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_that_cannot_be_tagged_is_removed_again() -> None:
    cloud = grown_to_two_levels()

    def after(request: Request) -> None:
        if request.kind == "insert":
            cloud.lacks = {GET_TAXONOMY}

    cloud.after = after
    with pytest.raises((TryAgain, PolicyTagsDenied)):
        run(cloud)
    assert cloud.names("VIEW") == [VIEW]
    assert tags(cloud) == {"id": "secret"}


@pytest.mark.usefixtures("small_texts")
def test_existing_leaves_get_tags_that_people_put_on_the_view_later() -> None:
    cloud = shop(20)
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    add(cloud, 20)
    run(cloud)
    assert all(tags(cloud, leaf) == {"id": "secret"} for leaf in leaves(cloud))
