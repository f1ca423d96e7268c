"""Random states of datasets and groups, and random declarations for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from hypothesis import strategies as st

OWNERS, MANAGERS, MEMBERS = "OWNER,MEMBER", "MANAGER,MEMBER", "MEMBER"
PRINCIPALS: dict[str, dict[str, str]] = {
    "user:ada@example.com": {"userByEmail": "Ada@Example.com"},
    "user:grace@example.com": {"userByEmail": "grace@example.com"},
    "group:analysts@example.com": {"groupByEmail": "analysts@example.com"},
    "serviceAccount:stream@p.iam.gserviceaccount.com": {"userByEmail": "stream@p.iam.gserviceaccount.com"},
    "domain:example.com": {"domain": "example.com"},
    "projectOwners": {"specialGroup": "projectOwners"},
    "allAuthenticatedUsers": {"specialGroup": "allAuthenticatedUsers"},
    "allUsers": {"iamMember": "allUsers"},
    "principalSet://iam.googleapis.com/locations/global/workforcePools/pool/group/Á": {
        "iamMember": "principalSet://iam.googleapis.com/locations/global/workforcePools/pool/group/Á"
    },
}
"""Each form of a principal, and how the API has it."""
ROLES = {
    "OWNER": ("OWNER", "roles/bigquery.dataOwner"),
    "WRITER": ("WRITER", "roles/bigquery.dataEditor"),
    "READER": ("READER", "roles/bigquery.dataViewer"),
    "roles/bigquery.metadataViewer": ("roles/bigquery.metadataViewer",),
    "projects/my-project/roles/own": ("projects/my-project/roles/own",),
}
"""Each role, and the names by which it is declared or written."""
CONDITIONS = (None, None, {"expression": "request.time < timestamp('2027-01-01T00:00:00Z')", "title": "until 2027 – ü"})
KEPT: tuple[dict[str, Any], ...] = (
    {"view": {"projectId": "my-project", "datasetId": "v", "tableId": "customer"}},
    {"routine": {"projectId": "my-project", "datasetId": "v", "routineId": "f"}},
    {"dataset": {"dataset": {"projectId": "other", "datasetId": "shop__views_clean"}, "targetTypes": ["VIEWS"]}},
)
"""Entries that no file declares."""
OWN = {"role": "projects/my-project/roles/onefold_views", "userByEmail": "onefold@my-project.iam.gserviceaccount.com"}
"""A grant of the deployment."""
EMAILS = ("ada@example.com", "grace@example.com", "müller@example.com", "team@example.com")
DATASETS, GROUPS = ("shop", "crm", "Shop"), ("analysts@example.com", "data@example.com")


@dataclass(frozen=True)
class Scenario:
    """Present entries and members, and what is declared: (principal, role, expression) triples, and addresses."""

    entries: dict[str, list[dict[str, Any]]]
    members: dict[str, dict[str, str]]
    declared: dict[str, set[tuple[str, str, str]]]
    groups: dict[str, list[str]]
    text: str


def _entry(principal: str, role: str, condition: dict[str, str] | None) -> dict[str, Any]:
    return {"role": role, **PRINCIPALS[principal], **({"condition": condition} if condition else {})}


_triples = st.tuples(st.sampled_from(sorted(PRINCIPALS)), st.sampled_from(sorted(ROLES)), st.sampled_from(CONDITIONS))
_present = st.tuples(
    st.lists(_triples, max_size=6, unique_by=str), st.lists(st.sampled_from(KEPT), max_size=3, unique_by=str), st.booleans()
)
_members = st.dictionaries(st.sampled_from(EMAILS), st.sampled_from([OWNERS, MANAGERS, MEMBERS]))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    names = draw(st.lists(st.sampled_from(DATASETS), min_size=1, unique=True))
    groups = draw(st.lists(st.sampled_from(GROUPS), unique=True))
    declared: dict[str, set[tuple[str, str, str]]] = {}
    text: dict[str, dict[str, Any]] = {"datasets": {}, "groups": {}}
    for name in names:
        grants = draw(st.lists(_triples, max_size=5, unique_by=str))
        owner = (draw(st.sampled_from(["projectOwners", "user:ada@example.com"])), "OWNER", None)
        grants = [*(grant for grant in grants if grant != owner), owner]
        declared[name] = {(who, role, (only or {}).get("expression", "")) for who, role, only in grants}
        body = text["datasets"].setdefault(name, {})
        for who, role, only in grants:
            spelled = draw(st.sampled_from(ROLES[role]))
            body.setdefault(who, []).append({"role": spelled, **only} if only else spelled)
    lists = {group: draw(st.lists(st.sampled_from(EMAILS), unique=True)) for group in groups}
    text["groups"] = lists
    entries = {name: _entries(draw) for name in names}
    return Scenario(entries, {group: draw(_members) for group in groups}, declared, lists, yaml.safe_dump(text))


def _entries(draw: st.DrawFn) -> list[dict[str, Any]]:
    grants, kept, own = draw(_present)
    first = {"role": "OWNER", "userByEmail": "creator@example.com"}
    return [first, *kept, *(_entry(*grant) for grant in grants), *([OWN] if own else [])]
