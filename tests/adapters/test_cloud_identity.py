"""Groups through Google's own client: pages, members that are there already or gone, and refusals."""

from __future__ import annotations

import pytest
from support.access_apis import AccessApis

from onefold.adapters import cloud_identity
from onefold.core.errors import Rejected, TryAgain

GROUP = "analysts@example.com"


def test_all_pages_of_members_are_read_with_their_roles(apis: AccessApis) -> None:
    emails = [f"u{number}@example.com" for number in range(5)]
    apis.directory.put(GROUP, **dict.fromkeys(emails, "MEMBER"), **{"Boss@example.com": "OWNER,MEMBER"})
    found = apis.groups.read(GROUP)
    assert {member.email: member.roles for member in found.members} == {
        **dict.fromkeys(emails, ("MEMBER",)),
        "boss@example.com": ("MEMBER", "OWNER"),
    }
    assert [member.email for member in found.members if member.is_kept] == ["boss@example.com"]


def test_members_of_another_form_are_kept(apis: AccessApis) -> None:
    apis.directory.put(GROUP)
    apis.directory.join(GROUP, "C0123", "MEMBER")
    apis.directory.join(GROUP, "a@example.com", "MEMBER", namespace="identitysources/1")
    assert [member.is_kept for member in apis.groups.read(GROUP).members] == [True, True]


def test_adding_and_removing_are_idempotent(apis: AccessApis) -> None:
    apis.directory.put(GROUP)
    group = apis.groups.read(GROUP)
    apis.groups.add(group, "a@example.com")
    apis.groups.add(group, "a@example.com")
    assert apis.directory.members(GROUP) == {"a@example.com": {"MEMBER"}}
    (member,) = apis.groups.read(GROUP).members
    apis.groups.remove(member)
    apis.groups.remove(member)
    assert apis.directory.members(GROUP) == {}


def test_a_missing_group_is_named_with_what_to_do(apis: AccessApis) -> None:
    with pytest.raises(Rejected, match=r"group none@example\.com: .*gives it the role Groups Admin"):
        apis.groups.read("none@example.com")


def test_a_refused_member_is_named(apis: AccessApis) -> None:
    apis.directory.put(GROUP)
    apis.directory.refused.add("a@example.com")
    with pytest.raises(Rejected, match=r"group analysts@example\.com, member a@example\.com"):
        apis.groups.add(apis.groups.read(GROUP), "a@example.com")


def test_without_an_answer_a_later_try_may_succeed(apis: AccessApis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_identity, "_TRIES", 0)
    apis.groups_url = "http://127.0.0.1:9"
    with pytest.raises(TryAgain, match="Cloud Identity does not answer"):
        apis.groups.read(GROUP)
