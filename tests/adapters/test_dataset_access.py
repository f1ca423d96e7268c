"""The access lists of datasets, through HTTP: conditions, etags, lost answers, and grants that bypass them."""

from __future__ import annotations

import pytest
from support.access_apis import AccessApis

from onefold.core.errors import AccessChanged, NotFound, Rejected
from onefold.ports.access import Bypass, Condition, Grant

OWNERS = {"role": "OWNER", "specialGroup": "projectOwners"}
CONDITION = {"expression": "request.time < timestamp('2027-01-01T00:00:00Z')", "title": "ü", "description": "d"}
UNTIL = {"role": "READER", "groupByEmail": "g@example.com", "condition": CONDITION}


def test_conditions_are_read_and_written(apis: AccessApis) -> None:
    apis.datasets.put("shop", OWNERS, UNTIL)
    found = apis.lists.read("shop")
    until = Grant("group:g@example.com", "READER", Condition(**CONDITION))
    assert found.grants == {Grant("projectOwners", "OWNER"), until}
    also = Grant("user:a@example.com", "READER", Condition(CONDITION["expression"]))
    apis.lists.write(found, found.grants | {also})
    written = {"role": "READER", "userByEmail": "a@example.com", "condition": {"expression": CONDITION["expression"]}}
    assert apis.datasets.entries("shop") == [OWNERS, UNTIL, written]


def test_a_list_without_its_conditions_is_refused(apis: AccessApis) -> None:
    apis.datasets.put("shop", OWNERS, {"role": "READER_withcond_1f", "groupByEmail": "g@example.com"})
    with pytest.raises(Rejected, match="dataset shop: BigQuery returned entries without their conditions"):
        apis.lists.read("shop")


def test_a_write_after_a_change_by_others_is_refused(apis: AccessApis) -> None:
    apis.datasets.put("shop", OWNERS)
    found = apis.lists.read("shop")
    apis.datasets.add("shop", UNTIL)
    with pytest.raises(AccessChanged, match="dataset shop"):
        apis.lists.write(found, found.grants | {Grant("allUsers", "READER")})
    assert apis.datasets.entries("shop") == [OWNERS, UNTIL]


def test_entries_that_are_no_grants_or_are_unknown_are_sent_back_as_they_were(apis: AccessApis) -> None:
    view = {"view": {"projectId": "p", "datasetId": "d", "tableId": "v"}}
    unknown = {"role": "READER", "newKind": "x"}
    apis.datasets.put("shop", view, OWNERS, unknown)
    found = apis.lists.read("shop")
    apis.lists.write(found, found.grants | {Grant("domain:example.com", "READER")})
    assert apis.datasets.entries("shop") == [view, OWNERS, unknown, {"role": "READER", "domain": "example.com"}]
    assert [entry.is_unknown for entry in found.entries] == [False, False, True]


def test_a_write_whose_answer_was_lost_counts_as_a_change_by_others(apis: AccessApis) -> None:
    """The retry of the request has an old etag. Whoever then reads again finds the change done."""
    apis.datasets.put("shop", OWNERS)
    apis.datasets.lose_answers = 1
    found = apis.lists.read("shop")
    with pytest.raises(AccessChanged):
        apis.lists.write(found, found.grants | {Grant("allUsers", "READER")})
    assert Grant("allUsers", "READER") in apis.lists.read("shop").grants


def test_a_missing_dataset_and_a_denied_one_are_named(apis: AccessApis) -> None:
    with pytest.raises(NotFound, match=r"dataset shop: .*Not found: Dataset my-project:shop"):
        apis.lists.read("shop")
    apis.datasets.put("crm", OWNERS)
    apis.datasets.denied.add("crm")
    with pytest.raises(Rejected, match=r"dataset crm: .*Access Denied"):
        apis.lists.read("crm")


def test_grants_of_the_project_and_of_tables_are_found(apis: AccessApis) -> None:
    apis.datasets.put("shop", OWNERS)
    reader = {"role": "roles/bigquery.dataViewer", "members": ["user:b@example.com", "user:a@example.com"]}
    apis.datasets.tables["shop"] = {f"t{number}": [reader] if number in (1, 4) else [] for number in range(5)}
    apis.datasets.roles = {
        "projects/my-project/roles/reads": ["bigquery.tables.getData"],
        "projects/my-project/roles/runs": ["bigquery.jobs.create"],
    }
    apis.datasets.project_bindings = [
        {"role": role, "members": ["user:x@example.com"]}
        for role in ("roles/editor", "roles/bigquery.jobUser", *apis.datasets.roles)
    ]
    who = ("user:a@example.com", "user:b@example.com")
    assert list(apis.policies.of_tables("shop")) == [
        Bypass(f"table shop.{name}", "roles/bigquery.dataViewer", who) for name in ("t1", "t4")
    ]
    assert [found.role for found in apis.policies.of_project()] == ["roles/editor", "projects/my-project/roles/reads"]
