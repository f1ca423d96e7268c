"""Access to datasets and members of groups: the values, and the APIs that read and write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

OWNER, WRITER, READER = "OWNER", "WRITER", "READER"
_BASIC = {"roles/bigquery.dataOwner": OWNER, "roles/bigquery.dataEditor": WRITER, "roles/bigquery.dataViewer": READER}
"""The API takes both names of a role and returns the second one. Google, REST reference of `datasets`, `access[].role`:
https://cloud.google.com/bigquery/docs/reference/rest/v2/datasets, 2026-11."""
SPECIAL_GROUPS = frozenset({"projectOwners", "projectWriters", "projectReaders", "allAuthenticatedUsers"})
EMAIL = re.compile(r"[^\s@:/]+@[^\s@:/]+\.[^\s@:/]+")
GROUP_OWNER, GROUP_MEMBER = "OWNER", "MEMBER"


@dataclass(frozen=True, order=True)
class Condition:
    """A condition of IAM, under which a grant holds.

    Attributes:
        expression: the condition in CEL.
        title: its name for people.
        description: more about it.
    """

    expression: str
    title: str = ""
    description: str = ""


@dataclass(frozen=True)
class Grant:
    """A role of a principal on a dataset.

    Attributes:
        principal: as in IAM (`user:ada@example.com`), or a special group of BigQuery (`projectOwners`).
        role: `OWNER`, `WRITER`, `READER`, or the full name of any other role.
        condition: the grant holds under this condition only.
    """

    principal: str
    role: str
    condition: Condition | None = None

    @property
    def sort_key(self) -> tuple[str, str, tuple[str, ...]]:
        """The order in which people read grants."""
        found = self.condition
        return self.principal, self.role, (found.expression, found.title, found.description) if found else ()

    @property
    def is_owner(self) -> bool:
        """The grant makes its principal an owner at any time."""
        return self.role == OWNER and self.condition is None

    def __str__(self) -> str:
        only = f" if {self.condition.expression}" if self.condition else ""
        return f"{self.principal} {self.role}{only}"


def normal_role(role: str) -> str:
    """Return the name of a role that the API returns for it.

    Examples:
        >>> normal_role("roles/bigquery.dataEditor"), normal_role("roles/bigquery.metadataViewer")
        ('WRITER', 'roles/bigquery.metadataViewer')
    """
    return _BASIC.get(role, role)


def normal_principal(principal: str) -> str:
    """Return a principal with its address in lower case, as the API returns addresses.

    Examples:
        >>> normal_principal("user:Ada@Example.com")
        'user:ada@example.com'
    """
    kind, separator, name = principal.partition(":")
    return f"{kind}:{name.lower()}" if separator and kind in {"user", "group", "serviceAccount", "domain"} else principal


@dataclass(frozen=True)
class AccessEntry:
    """An entry of the access list of a dataset.

    Attributes:
        grant: None for an authorized view, routine or dataset, and for an entry of a form that Onefold does not know.
        content: the entry as the API returned it; it is sent back unchanged.
    """

    grant: Grant | None
    content: Mapping[str, Any]

    @property
    def is_unknown(self) -> bool:
        """The entry has a role, and a principal of a form that Onefold does not know."""
        return self.grant is None and "role" in self.content


@dataclass(frozen=True)
class DatasetAccess:
    """The access list of a dataset as it was read.

    Attributes:
        dataset: the dataset.
        etag: differs after each write; a write with an old one is refused.
        entries: the entries in the order of the API.
    """

    dataset: str
    etag: str
    entries: tuple[AccessEntry, ...]

    @property
    def grants(self) -> frozenset[Grant]:
        """The grants of the list."""
        return frozenset(entry.grant for entry in self.entries if entry.grant)

    @property
    def authorized_datasets(self) -> frozenset[tuple[str, str]]:
        """The (project, dataset) pairs whose views may all read this dataset."""
        found = (entry.content.get("dataset", {}).get("dataset") for entry in self.entries)
        return frozenset((name.get("projectId", ""), name.get("datasetId", "")) for name in found if name)


@dataclass(frozen=True, order=True)
class Member:
    """A member of a group.

    Attributes:
        email: the address, in lower case; a member of another form has its identifier.
        roles: `MEMBER`, and `MANAGER` or `OWNER` where the member has that role.
        name: the name of the membership, by which it is deleted.
    """

    email: str
    roles: tuple[str, ...] = (GROUP_MEMBER,)
    name: str = ""

    @property
    def is_kept(self) -> bool:
        """No file decides about the member: it owns the group, or has no address."""
        return GROUP_OWNER in self.roles or not EMAIL.fullmatch(self.email)


@dataclass(frozen=True)
class Group:
    """A group as it was read: its address, the name that the API gives it, and its direct members."""

    email: str
    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Bypass:
    """A grant that gives access to data without the access list of a dataset: `where` is the project or the table."""

    where: str
    role: str
    members: tuple[str, ...]


class DatasetLists(Protocol):
    """The access lists of the datasets of a project."""

    def read(self, dataset: str) -> DatasetAccess:
        """Return the access list of a dataset, with all conditions.

        Raises:
            NotFound: there is no such dataset.
            OnefoldError: no answer, or a refusal.
        """

    def write(self, access: DatasetAccess, grants: frozenset[Grant]) -> None:
        """Replace the grants of a list, and keep every entry that is no grant.

        Args:
            access: the list as it was read.
            grants: all grants that the list has afterwards.

        Raises:
            AccessChanged: somebody else has changed the dataset since it was read; nothing was written.
            OnefoldError: no answer, or a refusal.
        """


class AuthorizedDatasets(Protocol):
    """The datasets of a project, whose access lists say which datasets of views may read them."""

    def read(self, dataset: str) -> DatasetAccess:
        """Return the access list of a dataset, as `DatasetLists.read` does.

        Raises:
            NotFound: there is no such dataset.
            OnefoldError: no answer, or a refusal.
        """

    def authorize(self, access: DatasetAccess, views: str) -> None:
        """Let all views of another dataset of the project read a dataset, and keep every entry of its list.

        Args:
            access: the list of the dataset that is read, as it was read.
            views: the dataset of the views.

        Raises:
            AccessChanged: somebody else has changed the dataset since it was read; nothing was written.
            OnefoldError: no answer, or a refusal.
        """


class Groups(Protocol):
    """The groups of an organization."""

    def read(self, email: str) -> Group:
        """Return a group with all its direct members.

        Raises:
            OnefoldError: there is no such group, no answer, or a refusal.
        """

    def add(self, group: Group, email: str) -> None:
        """Make an address a member; nothing changes where it is one.

        Raises:
            OnefoldError: no answer, or a refusal.
        """

    def remove(self, member: Member) -> None:
        """Remove a member; nothing changes where it is none.

        Raises:
            OnefoldError: no answer, or a refusal.
        """


class Policies(Protocol):
    """The grants of a project, and of single tables."""

    def of_project(self) -> Iterable[Bypass]:
        """Yield the grants of the project that give access to the data of all datasets.

        Raises:
            OnefoldError: no answer, or a refusal.
        """

    def of_tables(self, dataset: str) -> Iterable[Bypass]:
        """Yield the grants on single tables and views of a dataset.

        Raises:
            OnefoldError: no answer, or a refusal.
        """
