"""Random states and declarations, through the real clients: all that is declared or kept is there afterwards."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.access_apis import AccessApis
from support.access_states import OWN, Scenario, scenarios
from support.seeding import examples
from support.turns import at_once

from onefold.access.apply import apply_plan
from onefold.access.deployment import DeploymentGrants
from onefold.access.draft import draft_policy
from onefold.access.plan import AccessPlan, plan_changes, read_state
from onefold.access.policy import AccessPolicy, read_policy
from onefold.ports.access import DatasetAccess, Grant, Group, Member

DEPLOYMENT = DeploymentGrants(
    frozenset((name, Grant(f"serviceAccount:{OWN['userByEmail']}", OWN["role"])) for name in ("shop", "crm", "Shop")),
    frozenset(), "gs://b/s", "l", 1,
)  # fmt: skip

through_servers = settings(
    max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


class Crash(Exception):
    """The process dies here."""


def policy_of(text: str) -> AccessPolicy:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "access.yaml"
        path.write_text(text)
        return read_policy(path)


def prepare(apis: AccessApis, scenario: Scenario) -> AccessPolicy:
    apis.reset()
    for name, entries in scenario.entries.items():
        apis.datasets.put(name, *entries)
    apis.datasets.put("untouched", {"role": "OWNER", "userByEmail": "x@example.com"})
    for email, members in scenario.members.items():
        apis.directory.put(email, **members)
    apis.directory.put("other@example.com", **{"x@example.com": "MEMBER"})
    return policy_of(scenario.text)


def plan(apis: AccessApis, policy: AccessPolicy) -> AccessPlan:
    state = read_state(policy.datasets, policy.groups, apis.lists, apis.groups)
    return plan_changes(policy, state, [DEPLOYMENT])


def as_triple(entry: dict[str, Any]) -> tuple[str, str, str]:
    """Read an entry of the API, by what the documentation of the API says."""
    names = {
        f"roles/bigquery.data{end}": name for end, name in (("Owner", "OWNER"), ("Editor", "WRITER"), ("Viewer", "READER"))
    }
    if "userByEmail" in entry:
        email = entry["userByEmail"].lower()
        who = f"{'serviceAccount' if email.endswith('gserviceaccount.com') else 'user'}:{email}"
    elif "groupByEmail" in entry:
        who = f"group:{entry['groupByEmail']}"
    else:
        who = f"domain:{entry['domain']}" if "domain" in entry else entry.get("specialGroup") or entry["iamMember"]
    return who, names.get(entry["role"], entry["role"]), entry.get("condition", {}).get("expression", "")


def check_applied(apis: AccessApis, scenario: Scenario) -> None:
    for name, entries in scenario.entries.items():
        now = apis.datasets.entries(name)
        assert [entry for entry in now if "role" not in entry] == [entry for entry in entries if "role" not in entry]
        own = {as_triple(OWN)} if OWN in entries else set()
        assert {as_triple(entry) for entry in now if "role" in entry} == scenario.declared[name] | own
        assert apis.datasets.datasets[name]["description"] == "kept"
    assert apis.datasets.entries("untouched") == [{"role": "OWNER", "userByEmail": "x@example.com"}]
    for email, before in scenario.members.items():
        owners = {member for member, roles in before.items() if "OWNER" in roles}
        members = apis.directory.members(email)
        assert set(members) == owners | set(scenario.groups[email])
        assert all(members[member] == set(before[member].split(",")) for member in members if member in before)
    assert set(apis.directory.members("other@example.com")) == {"x@example.com"}


@given(scenarios())
@through_servers
def test_after_apply_everything_is_as_declared_kept_entries_are_kept_and_a_plan_is_empty(
    apis: AccessApis, scenario: Scenario
) -> None:
    policy = prepare(apis, scenario)
    assert apply_plan(plan(apis, policy), apis.lists, apis.groups) == ()
    check_applied(apis, scenario)
    written = apis.datasets.writes
    again = plan(apis, policy)
    assert again.is_empty
    apply_plan(again, apis.lists, apis.groups)
    assert apis.datasets.writes == written


@given(scenarios())
@through_servers
def test_a_plan_of_what_import_printed_is_empty(apis: AccessApis, scenario: Scenario) -> None:
    prepare(apis, scenario)
    state = read_state(scenario.entries, scenario.members, apis.lists, apis.groups)
    assert plan(apis, policy_of(draft_policy(state, [DEPLOYMENT]))).is_empty


@given(scenarios(), st.integers(0, 8), st.booleans())
@through_servers
def test_a_crash_between_two_writes_is_finished_by_the_next_apply(
    apis: AccessApis, scenario: Scenario, writes: int, after: bool
) -> None:
    policy = prepare(apis, scenario)
    planned = plan(apis, policy)
    dying = Dying(apis, writes, after)
    with contextlib.suppress(Crash):
        apply_plan(planned, dying, dying)
    assert apply_plan(plan(apis, policy), apis.lists, apis.groups) == ()
    check_applied(apis, scenario)


@dataclass
class Dying:
    """Both APIs for a process that dies before or after one of its writes."""

    apis: AccessApis
    writes: int
    after: bool

    def read(self, name: str) -> Any:
        return self.apis.groups.read(name) if "@" in name else self.apis.lists.read(name)

    def write(self, access: DatasetAccess, grants: frozenset[Grant]) -> None:
        self._count(lambda: self.apis.lists.write(access, grants))

    def add(self, group: Group, email: str) -> None:
        self._count(lambda: self.apis.groups.add(group, email))

    def remove(self, member: Member) -> None:
        self._count(lambda: self.apis.groups.remove(member))

    def _count(self, work: Callable[[], None]) -> None:
        if self.after or self.writes:
            work()
        if not self.writes:
            raise Crash
        self.writes -= 1


@given(scenarios())
@settings(parent=through_servers, max_examples=examples(10))
def test_fifty_changes_by_others_during_the_writes_are_not_lost(apis: AccessApis, scenario: Scenario) -> None:
    """Each write of ours meets a change by somebody else, until there were fifty of them."""
    policy = prepare(apis, scenario)
    planned = plan(apis, policy)
    others: list[tuple[str, dict[str, Any]]] = []

    def change(method: str, path: str) -> None:
        if method == "PATCH" and len(others) < 50:
            number, name = len(others), path.rpartition("/")[2]
            entry: dict[str, Any] = (
                {"view": {"projectId": "my-project", "datasetId": "others", "tableId": f"v{number}"}}
                if number % 2
                else {"role": "READER", "userByEmail": f"other{number}@example.com"}
            )
            others.append((name, entry))
            apis.datasets.add(name, entry)

    apis.datasets.before = change
    pauses: list[float] = []
    assert apply_plan(planned, apis.lists, apis.groups, pauses.append) == ()
    assert len(others) == (50 if planned.datasets else 0)
    assert len(pauses) == len(others)
    for name, entry in others:
        assert entry in apis.datasets.entries(name)
    for name, declared in scenario.declared.items():
        assert declared <= {as_triple(entry) for entry in apis.datasets.entries(name) if "role" in entry}


def test_a_member_that_became_an_owner_since_the_plan_is_kept(apis: AccessApis) -> None:
    apis.directory.put("all@example.com", **{"bob@example.com": "MANAGER,MEMBER", "ada@example.com": "MEMBER"})
    planned = plan(apis, policy_of("groups: {all@example.com: []}"))
    apis.directory.put("all@example.com", **{"bob@example.com": "OWNER,MEMBER", "ada@example.com": "MEMBER"})
    (failure,) = apply_plan(planned, apis.lists, apis.groups)
    assert failure.subject == "group all@example.com: bob@example.com"
    assert "has become an owner" in failure.error
    assert set(apis.directory.members("all@example.com")) == {"bob@example.com"}


@pytest.mark.slow
def test_fifty_writers_at_the_same_time_lose_nothing_to_each_other(apis: AccessApis) -> None:
    owner = {"role": "OWNER", "specialGroup": "projectOwners"}
    apis.datasets.put("shop", owner, {"role": "READER", "userByEmail": "former@example.com"})
    texts = [f"datasets: {{shop: {{projectOwners: OWNER, 'user:u{number}@example.com': READER}}}}" for number in range(50)]
    plans = [plan(apis, policy_of(text)) for text in texts]
    failures: list[object] = []

    def work(one: AccessPlan) -> None:
        failures.extend(apply_plan(one, apis.lists, apis.groups, lambda _: None))

    at_once(*(partial(work, one) for one in plans))
    assert failures == []
    readers = {f"u{number}@example.com" for number in range(50)}
    assert {entry.get("userByEmail") for entry in apis.datasets.entries("shop")} == {None, *readers}


@pytest.mark.parametrize("kind", ["dataset", "group"])
def test_a_failed_write_does_not_stop_the_others(apis: AccessApis, kind: str) -> None:
    for name in ("crm", "shop"):
        apis.datasets.put(name, {"role": "OWNER", "specialGroup": "projectOwners"})
    apis.directory.put("g@example.com")
    policy = policy_of(
        "datasets:\n  crm: {projectOwners: OWNER, 'user:a@example.com': READER}\n"
        "  shop: {projectOwners: OWNER, 'user:a@example.com': READER}\n"
        "groups: {g@example.com: [a@example.com, b@example.com]}"
    )
    planned = plan(apis, policy)
    if kind == "dataset":
        apis.datasets.denied.add("crm")
    else:
        apis.directory.refused.add("a@example.com")
    (failure,) = apply_plan(planned, apis.lists, apis.groups)
    assert failure.subject == ("dataset crm" if kind == "dataset" else "group g@example.com: a@example.com")
    assert len(apis.datasets.entries("shop")) == 2
    assert "b@example.com" in apis.directory.members("g@example.com")
