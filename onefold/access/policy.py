"""access.yaml: which principals have which roles on datasets, and who is a member of which group.

The file is checked strictly, and all problems are reported at once: `access.schema.json` tells its structure, and the
functions `*_problems` what a schema cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onefold.core.errors import InvalidPolicy
from onefold.core.names import problems_of_name
from onefold.core.problems import Path, Problem
from onefold.core.text import shortened
from onefold.ports.access import (
    EMAIL,
    OWNER,
    SPECIAL_GROUPS,
    Condition,
    Grant,
    normal_principal,
    normal_role,
)
from onefold.settings.schema_check import load_schema, problems_of
from onefold.settings.yaml_loader import Document, load_yaml

if TYPE_CHECKING:
    import pathlib

ALLOW_WRITERS = "allow_writers"
SCHEMA = "access/access.schema.json"
"""The JSON Schema of access.yaml: its path within the library."""
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_SERVICE_ACCOUNT = ".gserviceaccount.com"
_FORMS = (
    "user:, group: or serviceAccount: with an e-mail address, domain:, principal://, principalSet://, "
    f"allUsers, {', '.join(sorted(SPECIAL_GROUPS))}"
)


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


def read_policy(path: pathlib.Path) -> AccessPolicy:
    """Read and check access.yaml.

    Raises:
        InvalidPolicy: the file cannot be read or used; the error lists all problems.
    """
    return policy_of(load_yaml(path))


def policy_of(document: Document) -> AccessPolicy:
    """Return the content of a document.

    Raises:
        InvalidPolicy: it has problems; the error lists all of them.
    """
    if problems := problems_of(document, load_schema(SCHEMA), _rules):
        raise InvalidPolicy(problems)
    return AccessPolicy(
        {name: _dataset(body or {}) for name, body in (document.content.get("datasets") or {}).items()},
        {name.lower(): _members(group) for name, group in (document.content.get("groups") or {}).items()},
    )


def _dataset(body: Mapping[str, Any]) -> DatasetPolicy:
    """Return the declared grants of a dataset, from a checked mapping."""
    return DatasetPolicy(frozenset(_grants(body)), body.get(ALLOW_WRITERS, False))


def _grants(body: Mapping[str, Any]) -> Iterator[Grant]:
    for name, roles in body.items():
        if name != ALLOW_WRITERS:
            yield from (_grant(normal_principal(name), role) for role in (roles if isinstance(roles, list) else [roles]))


def _grant(principal: str, role: str | Mapping[str, str]) -> Grant:
    if isinstance(role, str):
        return Grant(principal, normal_role(role))
    condition = {key: text for key, text in role.items() if key != "role"}
    return Grant(
        principal, normal_role(role.get("role", "")), Condition(**{"expression": "", **condition}) if condition else None
    )


def _members(group: Sequence[str]) -> frozenset[str]:
    return frozenset(member.lower() for member in group)


def _rules(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems that the schema cannot tell."""
    datasets, groups = content.get("datasets") or {}, content.get("groups") or {}
    if not datasets and not groups:
        yield Problem("expected at least one dataset or group: a file without any would change nothing")
    for name, body in datasets.items():
        yield from (Problem(text, ("datasets", name)) for text in problems_of_name("dataset", name))
        yield from _dataset_problems(body or {}, ("datasets", name))
    yield from _given_twice((("groups", name), name.lower()) for name in groups)
    for name, members in groups.items():
        yield from _given_twice((("groups", name), member.lower()) for member in members)


def _dataset_problems(body: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    principals = {name: normal_principal(name) for name in body if name != ALLOW_WRITERS}
    yield from _given_twice(((*at, name), principal) for name, principal in principals.items())
    for name, principal in principals.items():
        yield from (Problem(text, (*at, name)) for text in principal_problems(principal))
        roles = [(grant.role, grant.condition) for grant in _grants({name: body[name]})]
        for role, _ in dict.fromkeys(one for one in roles if roles.count(one) > 1):
            yield Problem(f"{role} is given twice: remove one", (*at, name))
    if not any(grant.is_owner for grant in _grants(body)):
        yield Problem(f"nobody is {OWNER} without a condition; name at least one owner, since one has to stay", at)


def _given_twice(named: Iterable[tuple[Path, str]]) -> Iterator[Problem]:
    """Yield a problem for each name that another one equals.

    Args:
        named: the places of the names, with the names as they are compared.
    """
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            yield Problem(f"{name} is given twice; case makes no difference", path)
        seen.add(name)


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
