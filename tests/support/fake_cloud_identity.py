"""A fake of the groups of the Cloud Identity API (v1), over HTTP.

It honours:

- groups.lookup by `groupKey.id`, 403 where there is no such group, as Google answers;
- memberships.list with `view=FULL` in pages of two; without it, members have no roles;
- memberships.create: 409 for a member that is one already; memberships.delete: 404 for one that is none; both answer
  with an operation that is done;
- a hook before each request (`before`), and addresses that are refused with 400 (`refused`).
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.rest import Answer, HttpRequest, error, page_of

_MEMBERSHIPS = re.compile(r"/v1/(groups/\w+)/memberships(?:/(\w+))?")


@dataclass
class FakeGroups:
    groups: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By the name of the group, and by the number of the membership."""
    addresses: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    before: Callable[[str, str], None] = lambda *_: None

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()

    def put(self, email: str, **members: str) -> None:
        """Make a group; `members` has the roles by address, separated by commas."""
        name = self.addresses.setdefault(email, f"groups/g{next(self._numbers)}")
        self.groups[name] = {}
        for member, roles in members.items():
            self.join(email, member, *roles.split(","))

    def join(self, email: str, member: str, *roles: str, **key: str) -> None:
        number = f"m{next(self._numbers)}"
        name = self.addresses[email]
        self.groups[name][number] = {
            "name": f"{name}/memberships/{number}",
            "preferredMemberKey": {"id": member, **key},
            "roles": [{"name": role} for role in roles],
        }

    def members(self, email: str) -> dict[str, set[str]]:
        """Return the roles of each member by its address."""
        found = self.groups[self.addresses[email]].values()
        return {entry["preferredMemberKey"]["id"]: {role["name"] for role in entry["roles"]} for entry in found}

    def answer(self, request: HttpRequest) -> Answer:
        path = request.path
        self.before(request.method, path)
        with self._lock:
            if path == "/v1/groups:lookup":
                name = self.addresses.get(request.query["groupKey.id"])
                return (200, {"name": name}) if name else error(403, "forbidden", "Permission denied (or it may not exist)")
            found = _MEMBERSHIPS.fullmatch(path)
            if found and found[1] in self.groups:
                return self._memberships(request, found[1], found[2])
        return error(404, "notFound", f"{request.method} {path} is not here")

    def _memberships(self, request: HttpRequest, group: str, number: str | None) -> Answer:
        stored = self.groups[group]
        if request.method == "GET":
            return self._list(list(stored.values()), request.query)
        if request.method == "DELETE":
            removed = stored.pop(number or "", None)
            return (200, {"done": True, "response": {}}) if removed else error(404, "notFound", "no such membership")
        address = request.json["preferredMemberKey"]["id"]
        if address in self.refused:
            return error(400, "invalid", f"{address} cannot be a member")
        if any(entry["preferredMemberKey"]["id"].lower() == address.lower() for entry in stored.values()):
            return error(409, "alreadyExists", "Resource already exists")
        email = next(email for email, name in self.addresses.items() if name == group)
        self.join(email, address, *(role["name"] for role in request.json["roles"]))
        return 200, {"done": True, "response": {}}

    def _list(self, entries: list[dict[str, Any]], query: Mapping[str, str]) -> Answer:
        page, more = page_of(entries, query)
        if query.get("view") != "FULL":
            page = [{key: value for key, value in entry.items() if key != "roles"} for entry in page]
        return 200, {"memberships": page, **more}
