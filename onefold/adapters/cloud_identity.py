"""Groups and their members, by Google's own client of the Cloud Identity API.

The client is built from a description of the API that is part of its package: nothing is downloaded for it. Google, REST
reference of `groups` and `groups.memberships` (v1): https://cloud.google.com/identity/docs/reference/rest, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import google_auth_httplib2
import httplib2
from google.api_core import exceptions as api
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

from onefold.adapters.google_errors import ApiFailure, Service
from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain
from onefold.ports.access import GROUP_MEMBER, Group, Member

_PAGE = 500
_TRIES = 4
"""Of a request that the server could not answer, with growing pauses."""
_TIMEOUT = 30
"""Seconds."""
_ADVICE = (
    "see that the group exists and that this account may manage it: an administrator gives it the role Groups Admin or "
    "Groups Editor, or makes it a manager of the group"
)
_SERVICE = Service(
    "Cloud Identity", "", "", {ApiFailure.NOT_FOUND: NotFound, ApiFailure.DENIED: Rejected, ApiFailure.CONFLICT: TryAgain}
)


class CloudIdentityGroups:
    """The groups of an organization."""

    def __init__(self, credentials: Any, address: str | None = None) -> None:
        """Prepare the client; no request is sent.

        Args:
            credentials: of `google.auth`.
            address: of another server than Google's.
        """
        http = google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(timeout=_TIMEOUT))
        options = {"api_endpoint": address} if address else None
        service = build(
            "cloudidentity", "v1", http=http, static_discovery=True, cache_discovery=False, client_options=options
        )
        self._groups = service.groups()
        self._memberships = self._groups.memberships()

    def read(self, email: str) -> Group:
        """Return a group with all its direct members."""
        with _translated(f"group {email}"):
            name = _sent(self._groups.lookup(groupKey_id=email))["name"]
            return Group(email, name, tuple(map(_member, self._pages(name))))

    def add(self, group: Group, email: str) -> None:
        """Make an address a member; nothing changes where it is one."""
        body = {"preferredMemberKey": {"id": email}, "roles": [{"name": GROUP_MEMBER}]}
        with _translated(f"group {group.email}, member {email}"):
            try:
                _check_done(_sent(self._memberships.create(parent=group.name, body=body)))
            except api.Conflict:
                return  # it is a member already

    def remove(self, member: Member) -> None:
        """Remove a member; nothing changes where it is none."""
        with _translated(f"member {member.email}"):
            try:
                _check_done(_sent(self._memberships.delete(name=member.name)))
            except api.NotFound:
                return

    def _pages(self, group: str) -> Iterator[dict[str, Any]]:
        request = self._memberships.list(parent=group, view="FULL", pageSize=_PAGE)
        while request is not None:
            page = _sent(request)
            yield from page.get("memberships", ())
            request = self._memberships.list_next(request, page)


def _member(content: dict[str, Any]) -> Member:
    key = content.get("preferredMemberKey", {})
    # Identities of another source have a namespace, and are no e-mail addresses even where they look like one.
    identity = f"{key['namespace']}/{key['id']}" if key.get("namespace") else key.get("id", content["name"])
    return Member(identity.lower(), tuple(sorted(role["name"] for role in content.get("roles", ()))), content["name"])


def _sent(request: Any) -> dict[str, Any]:
    """Send a request. Errors of the client become those of `google.api_core`, which the whole project translates.

    Raises:
        ConnectionError: no answer.
        from_http_status: the error of an answer.
    """
    try:
        answer: dict[str, Any] = request.execute(num_retries=_TRIES)
    except HttpError as error:
        raise api.from_http_status(error.resp.status, str(error.reason)) from error  # type: ignore[no-untyped-call]
    except (httplib2.HttpLib2Error, OSError) as error:
        raise ConnectionError(str(error)) from error
    return answer


def _check_done(operation: dict[str, Any]) -> None:
    error = operation.get("error")
    if error:
        raise api.from_grpc_status(error.get("code", 2), error.get("message", ""))  # type: ignore[no-untyped-call]


@contextmanager
def _translated(subject: str) -> Iterator[None]:
    try:
        with _SERVICE.translated(subject):
            yield
    except (NotFound, Rejected) as error:
        # A group that does not exist and one that may not be seen have the same answer.
        raise _with_advice(error) from error


def _with_advice(error: OnefoldError) -> OnefoldError:
    return type(error)(f"{error}; {_ADVICE}")
