"""Plans and their checks: what is refused before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from onefold.access.apply import changed_grants
from onefold.access.deployment import DeploymentGrants, read_grants
from onefold.access.plan import AccessState, DatasetChange, check_writers, plan_changes
from onefold.access.policy import AccessPolicy, DatasetPolicy
from onefold.adapters.bigquery.dataset_access import grant_of
from onefold.core.errors import InvalidPolicy, Rejected
from onefold.ports.access import AccessEntry, Condition, DatasetAccess, Grant

OWNERS = Grant("projectOwners", "OWNER")
ETL = "serviceAccount:etl@my-project.iam.gserviceaccount.com"
FILE = (
    '{"project": "my-project", "state": "gs://b/onefold/default.tfstate", "lineage": "l", "serial": 7, "views": ["shop_v"],'
    ' "grants": [{"dataset": "shop", "role": "roles/bigquery.dataEditor", "member": "%s", "condition": %s}]}'
)


def access(name: str, *entries: dict[str, Any]) -> DatasetAccess:
    return DatasetAccess(name, "e", tuple(AccessEntry(grant_of(entry), entry) for entry in entries))


def authorizing(dataset: str, project: str = "my-project") -> dict[str, Any]:
    return {"dataset": {"dataset": {"projectId": project, "datasetId": dataset}, "targetTypes": ["VIEWS"]}}


def check(name: str, *grants: Grant, allow: bool = False, views: frozenset[str] = frozenset(), **options: Any) -> None:
    policy = AccessPolicy({name: DatasetPolicy(frozenset(grants), allow), "source": DatasetPolicy(frozenset({OWNERS}))})
    state = AccessState({name: access(name), "source": access("source", authorizing("authorized"))}, {})
    own = [DeploymentGrants(frozenset(), views, "", "", 1)]
    check_writers(policy, state, own, options.pop("project", "my-project"), **options)


@pytest.mark.parametrize("name", ["shop__views_clean", "shop__views_full", "authorized", "deployed"])
@pytest.mark.parametrize("role", ["WRITER", "OWNER", "roles/bigquery.admin", "projects/my-project/roles/custom"])
def test_a_grant_that_writes_into_a_dataset_of_views_is_refused(name: str, role: str) -> None:
    with pytest.raises(InvalidPolicy, match=rf"dataset {name} holds views.*set allow_writers: true below datasets.{name}"):
        check(name, OWNERS, Grant(ETL, role), views=frozenset({"deployed"}))
    check(name, OWNERS, Grant(ETL, role), views=frozenset({"deployed"}), allow=True)
    check(name, OWNERS, Grant(ETL, role), views=frozenset({"deployed"}), allowed=True)


def test_reading_and_the_owners_of_the_project_are_allowed_on_a_dataset_of_views() -> None:
    check("shop__views_clean", OWNERS, Grant(ETL, "READER"), Grant(ETL, "roles/bigquery.metadataViewer"))
    with pytest.raises(InvalidPolicy):
        check("shop__views_clean", OWNERS, Grant("projectOwners", "WRITER"))


def test_writers_are_allowed_elsewhere() -> None:
    check("shop", OWNERS, Grant(ETL, "WRITER"))
    check("authorized", OWNERS, Grant(ETL, "WRITER"), project="other-project")


def test_grants_of_the_deployment_are_kept_and_only_on_their_dataset() -> None:
    own = read_grants((FILE % (ETL, '"a < b"')).encode(), "file", "my-project")
    kept = {"role": "WRITER", "userByEmail": ETL[15:], "condition": {"expression": "a < b", "title": "t"}}
    without = {"role": "WRITER", "userByEmail": ETL[15:]}
    entries = ({"role": "OWNER", "specialGroup": "projectOwners"}, kept, without)
    policy = AccessPolicy({name: DatasetPolicy(frozenset({OWNERS})) for name in ("crm", "shop")})
    state = AccessState({name: access(name, *entries) for name in policy.datasets}, {})
    crm, shop = plan_changes(policy, state, [own]).datasets
    assert crm.removed == {Grant(ETL, "WRITER"), Grant(ETL, "WRITER", Condition("a < b", "t"))}
    assert shop.removed == {Grant(ETL, "WRITER")}


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (b'{"lineage": "l", "serial": 8}', "state 7 of gs://b/onefold/default.tfstate, which is at 8 now"),
        (b'{"lineage": "l", "serial": 6}', "which is at 6 now"),
        (b'{"lineage": "m", "serial": 7}', "is the state of another deployment"),
        (b"[]", "expected a JSON object"),
        (None, "cannot be read as JSON"),
    ],
)
def test_a_file_from_another_state_is_refused(state: bytes | None, error: str) -> None:
    own = read_grants((FILE % (ETL, "null")).encode(), "file", "my-project")
    own.check_fresh(b'{"lineage": "l", "serial": 7, "resources": []}')
    with pytest.raises(InvalidPolicy, match=error):
        own.check_fresh(state)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x", "cannot be read as JSON"),
        ('{"project": "my-project"}', "got a part: run `make deploy` again"),
        ('{"project": "other"}', "grants of project 'other', expected my-project"),
    ],
)
def test_a_wrong_file_of_grants_is_refused(text: str, error: str) -> None:
    with pytest.raises(InvalidPolicy, match=error):
        read_grants(text.encode(), "file", "my-project")


def test_the_last_owner_stays() -> None:
    """Others have removed the declared owner after the plan was made."""
    ada, grace = Grant("user:ada@example.com", "OWNER"), Grant("user:grace@example.com", "OWNER")
    with pytest.raises(Rejected, match="dataset shop: nobody would be its owner"):
        changed_grants(frozenset({ada}), DatasetChange("shop", frozenset(), frozenset({ada})))
    conditional = Grant("user:grace@example.com", "OWNER", Condition("false"))
    with pytest.raises(Rejected):
        changed_grants(frozenset({ada}), DatasetChange("shop", frozenset({conditional}), frozenset({ada})))
    assert changed_grants(frozenset({ada}), DatasetChange("shop", frozenset({grace}), frozenset({ada}))) == {grace}
