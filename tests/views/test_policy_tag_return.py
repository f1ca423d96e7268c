"""Policy tags of columns that return to a view: the right to set them is proved before the column can be read."""

from __future__ import annotations

import json

import pytest
from refresh.test_crashes import crash_at
from support.fake_bigquery import Crash, FakeBigQuery
from support.refresh_shop import (
    BASE,
    VIEW,
    run,
    tags,
    with_rules,
    with_tag,
)
from support.view_fixtures import LACKING

import onefold.adapters.bigquery.annotations
import onefold.views.unified_view
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import LimitExceeded, PolicyTagsDenied
from onefold.refresh.write import plan_refresh
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind


@pytest.fixture
def former(cloud: FakeBigQuery) -> FakeBigQuery:
    """Return a view whose only tag belongs to a removed column: the version of the column is retired."""
    run(cloud)
    cloud.change(VIEW, with_tag("private", "email"))
    run(cloud, settings=with_rules(retired=frozenset({"def"})))
    return cloud


@pytest.mark.parametrize("lacking", LACKING)
def test_without_the_right_a_column_does_not_return_without_its_tag(former: FakeBigQuery, lacking: str) -> None:
    former.lacks, former.fails_open = LACKING[lacking]
    before = former.resource(VIEW)
    for _ in range(2):
        with pytest.raises(PolicyTagsDenied, match="Nothing was written"):
            run(former)
        assert former.resource(VIEW) == before
        assert former.names("VIEW") == [VIEW]
    former.lacks = set()
    run(former)
    assert tags(former) == {"email": "private"}
    assert former.names("VIEW") == [VIEW]


def test_the_taxonomies_of_present_and_of_returning_columns_are_all_proved(former: FakeBigQuery) -> None:
    other = "projects/p/locations/eu/taxonomies/2"
    former.change(
        VIEW, lambda view: view.update(view=json.loads(json.dumps(view["view"]).replace("taxonomies/1", other[-12:])))
    )
    former.change(VIEW, with_tag("secret", "id"))
    former.closed = {other}
    before = former.resource(VIEW)
    with pytest.raises(PolicyTagsDenied, match="Nothing was written"):
        run(former)
    assert former.resource(VIEW)["schema"] == before["schema"]
    former.closed = set()
    run(former)
    assert tags(former) == {"id": "secret", "email": "private"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_the_refresh_after_a_crash_during_the_proof_removes_the_scratch_view(former: FakeBigQuery, moment: str) -> None:
    for index in range(3, 6):
        crash_at(former, index, moment)
        with pytest.raises(Crash):
            run(former)
        former.before = former.after = lambda _: None
        assert tags(former) == {}
    run(former)
    assert tags(former) == {"email": "private"}
    assert former.names("VIEW") == [VIEW]


def test_a_present_tag_alone_takes_no_scratch_view(tagged: FakeBigQuery) -> None:
    with tagged.counted() as made:
        run(tagged, "fed")
    assert {request.name for request in made if request.kind in ("insert", "delete")} == set()


def test_without_room_for_the_tag_of_a_removed_column_nothing_is_written(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(cloud)
    cloud.change(VIEW, with_tag("private", "email"))
    retired = with_rules(retired=frozenset({"def"}))
    plan = plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, retired))
    assert plan.draft
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", len(plan.draft.query) + 20)
    before = cloud.resource(VIEW)
    with pytest.raises(LimitExceeded, match="no room for the policy tags of the columns email"):
        run(cloud, settings=retired)
    assert cloud.resource(VIEW) == before


def test_the_form_of_a_view_leaves_room_for_the_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = FakeBigQuery()
    for version in range(8):
        cloud.create_table(f"customer_v_{version}", "id INT64", f"a{version} STRING", f"b{version} STRING")
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    cloud.create_table("customer_v_8", "id INT64")
    forms = []
    for room in range(6_000, 1_000, -50):
        monkeypatch.setattr(onefold.views.unified_view, "MAX_TEXT", room)
        monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", room)
        plan = plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, Settings()))
        assert plan.view
        forms.append(plan.view.form)
        run(cloud)
        assert tags(cloud) == {"id": "secret"}
    assert list(dict.fromkeys(forms)) == ["spelled", "compact", "two-level"]
