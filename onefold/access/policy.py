"""access.yaml: which principals have which roles on datasets, and who is a member of which group.

The file is checked strictly, and all problems are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onefold.core.errors import InvalidPolicy
from onefold.core.names import problems_of_name
from onefold.core.text import shortened
from onefold.ports.access import (
    EMAIL,
    OWNER,
    READER,
    SPECIAL_GROUPS,
    WRITER,
    Condition,
    Grant,
    normal_principal,
    normal_role,
)
from onefold.settings.yaml_loader import load_yaml

ALLOW_WRITERS = "allow_writers"
_ROLE = re.compile(r"(?:roles|(?:projects|organizations)/[a-z0-9.:-]+/roles)/[A-Za-z0-9_.]+")
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_SERVICE_ACCOUNT = ".gserviceaccount.com"
_FORMS = (
    "user:, group: or serviceAccount: with an e-mail address, domain:, principal://, principalSet://, "
    f"allUsers, {', '.join(sorted(SPECIAL_GROUPS))}"
)
_CONDITION_KEYS = ("role", "expression", "title", "description")


@dataclass(frozen=True)
class DatasetPolicy:
    """The declared grants of a dataset.

    Attributes:
        grants: all grants that the dataset has, besides those that are always kept.
        allow_writers: grants that write are allowed although the dataset holds views that may read other datasets.
    """

    grants: frozenset[Grant]
    allow_writers: bool = False


@dataclass(frozen=True)
class AccessPolicy:
    """The content of access.yaml.

    Attributes:
        datasets: the declared grants by dataset.
        groups: the declared members by the address of the group.
    """

    datasets: Mapping[str, DatasetPolicy] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)


def read_policy(path: Path) -> AccessPolicy:
    """Read and check access.yaml.

    Raises:
        InvalidPolicy: the file cannot be read or used; the error lists all problems.
    """
    problems: list[str] = []
    content = load_yaml(path, problems)
    policy = AccessPolicy() if problems else _Reader(str(path), problems).policy(content)
    if problems:
        raise InvalidPolicy(problems)
    return policy


class _Reader:
    """Checks parsed YAML, and collects problems, each with the path and the key."""

    def __init__(self, path: str, problems: list[str]) -> None:
        self._path = path
        self._problems = problems

    def policy(self, content: Any) -> AccessPolicy:
        body = self._mapping(content, "the file")
        for key in sorted(set(map(str, body)) - {"datasets", "groups"}):
            advice = "; write it below the name of a dataset" if key == ALLOW_WRITERS else ""
            self._problem(f"{key} is not a key of this file, expected datasets or groups{advice}")
        if not body.get("datasets") and not body.get("groups"):
            self._problem("expected at least one dataset or group: a file without any would change nothing")
        datasets = self._mapping(body.get("datasets"), "datasets")
        groups = self._mapping(body.get("groups"), "groups")
        return AccessPolicy(
            {str(name): self._dataset(str(name), value) for name, value in datasets.items()},
            dict(self._group(str(name), value) for name, value in groups.items()),
        )

    def _dataset(self, name: str, value: Any) -> DatasetPolicy:
        for problem in problems_of_name("dataset", name):
            self._problem(f"datasets: {problem}")
        where = f"datasets.{name}"
        body = dict(self._mapping(value, where))
        allow = body.pop(ALLOW_WRITERS, False)
        if not isinstance(allow, bool):
            self._problem(f"{where}.{ALLOW_WRITERS} must be true or false, not {allow!r}")
        grants = [grant for key, roles in body.items() for grant in self._grants(str(key), roles, where)]
        if not any(grant.is_owner for grant in grants):
            self._problem(f"{where}: nobody is {OWNER} without a condition; name at least one owner, since one has to stay")
        return DatasetPolicy(frozenset(grants), allow is True)

    def _grants(self, name: str, roles: Any, where: str) -> Iterator[Grant]:
        principal = normal_principal(name)
        for problem in principal_problems(principal):
            self._problem(f"{where}: {problem}")
        seen: set[Grant] = set()
        for value in roles if isinstance(roles, list) and roles else [roles]:
            grant = self._grant(principal, value, f"{where}.{name}")
            if grant in seen:
                self._problem(f"{where}.{name}: {grant.role} is given twice")
            if grant:
                seen.add(grant)
                yield grant

    def _grant(self, principal: str, value: Any, where: str) -> Grant | None:
        body = value if isinstance(value, dict) else {"role": value}
        if set(body) - set(_CONDITION_KEYS) or not all(isinstance(text, str) and text for text in body.values()):
            self._problem(f"{where}: expected a role, or {{role, expression, title, description}} as texts, got {value!r}")
            return None
        role = normal_role(body.get("role", ""))
        if role not in {OWNER, WRITER, READER} and not _ROLE.fullmatch(role):
            self._problem(
                f"{where}: {role!r} is not a role: use OWNER, WRITER, READER, or a full name as roles/bigquery.user"
            )
            return None
        if len(body) > 1 and "expression" not in body:
            self._problem(f"{where}: a condition needs an expression")
        texts = {key: body[key] for key in _CONDITION_KEYS[1:] if key in body}
        return Grant(principal, role, Condition(**{"expression": "", **texts}) if texts else None)

    def _group(self, name: str, value: Any) -> tuple[str, frozenset[str]]:
        where = f"groups.{name}"
        if not EMAIL.fullmatch(name):
            self._problem(f"groups: {shortened(name)} is not the e-mail address of a group")
        if not isinstance(value, list):
            self._problem(f"{where} must be a list of e-mail addresses; [] for a group with its owners only")
            value = []
        members = [str(member).lower() for member in value]
        for member in dict.fromkeys(members):
            if not EMAIL.fullmatch(member):
                self._problem(f"{where}: {shortened(member)} is not an e-mail address, without user: or group:")
            if members.count(member) > 1:
                self._problem(f"{where}: {member} is given twice; case makes no difference")
        return name.lower(), frozenset(members)

    def _mapping(self, value: Any, where: str) -> dict[Any, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._problem(f"{where} must be a mapping")
            return {}
        folded = [str(key).lower() if where == "groups" else normal_principal(str(key)) for key in value]
        for key in {key for key in folded if folded.count(key) > 1}:
            self._problem(f"{where}: {key} is given twice; case makes no difference")
        return value

    def _problem(self, problem: str) -> None:
        self._problems.append(f"{self._path}: {problem}")


def principal_problems(principal: str) -> Iterator[str]:
    """Yield why a principal cannot be granted a role; nothing where it can.

    Examples:
        >>> list(principal_problems("user:ada@example.com"))
        []
        >>> list(principal_problems("group:ada"))
        ["'group:ada': expected an e-mail address after group:"]

    Args:
        principal: as `normal_principal` returns it.
    """
    kind, _, name = principal.partition(":")
    if principal in SPECIAL_GROUPS or principal == "allUsers":
        return
    if kind in {"principal", "principalSet"} and name.startswith("//") and not re.search(r"\s", name):
        return
    if kind not in {"user", "group", "serviceAccount", "domain"}:
        yield f"{shortened(principal)} is not a principal: use {_FORMS}"
    elif not (_DOMAIN if kind == "domain" else EMAIL).fullmatch(name):
        yield f"{shortened(principal)}: expected {'a domain' if kind == 'domain' else 'an e-mail address'} after {kind}:"
    elif kind != "domain" and (kind == "serviceAccount") != name.endswith(_SERVICE_ACCOUNT):
        right = "serviceAccount" if kind != "serviceAccount" else "user or group"
        yield f"{principal} is not a {kind}: write {right}:{name}"
