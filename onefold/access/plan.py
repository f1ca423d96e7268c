"""The changes that make datasets and groups as access.yaml declares them. Nothing is written here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from onefold.access.deployment import DeploymentGrants
from onefold.access.policy import ALLOW_WRITERS, AccessPolicy, DatasetPolicy
from onefold.core.errors import InvalidPolicy, OnefoldError
from onefold.core.text import cut
from onefold.ports.access import OWNER, READER, DatasetAccess, DatasetLists, Grant, Group, Groups, Member

VIEW_SUFFIXES = ("__views_full", "__views_clean")
_READING_ROLES = frozenset({READER, "roles/bigquery.metadataViewer", "roles/bigquery.user"})
"""No role of these changes a view. Any other role is taken for one that does, also a custom role."""
_ALWAYS_ALLOWED = ("projectOwners", OWNER)
"""The owners of the project can do anything in it."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class AccessState:
    """Datasets and groups as they are."""

    datasets: Mapping[str, DatasetAccess]
    groups: Mapping[str, Group]


@dataclass(frozen=True)
class DatasetChange:
    """Grants to add to a dataset, and to remove from it."""

    dataset: str
    added: frozenset[Grant]
    removed: frozenset[Grant]


@dataclass(frozen=True)
class GroupChange:
    """Addresses to add to a group, and members to remove from it."""

    group: Group
    added: frozenset[str]
    removed: frozenset[Member]


@dataclass(frozen=True)
class AccessPlan:
    """All changes, by dataset and by group; those without a change are left out."""

    datasets: tuple[DatasetChange, ...] = ()
    groups: tuple[GroupChange, ...] = ()

    @property
    def count_added(self) -> int:
        """The number of grants and members that are added."""
        return sum(len(change.added) for change in self.datasets) + sum(len(change.added) for change in self.groups)

    @property
    def count_removed(self) -> int:
        """The number of grants and members that are removed."""
        return sum(len(change.removed) for change in self.datasets) + sum(len(change.removed) for change in self.groups)

    @property
    def is_empty(self) -> bool:
        """Everything is as declared."""
        return not self.datasets and not self.groups


def read_state(datasets: Iterable[str], groups: Iterable[str], lists: DatasetLists, directory: Groups) -> AccessState:
    """Read the present state of datasets and groups.

    Args:
        datasets: the names of the datasets.
        groups: the addresses of the groups.
        lists: reads the access of datasets.
        directory: reads the members of groups.

    Raises:
        InvalidPolicy: some cannot be read; the error lists all of them.
    """
    problems: list[str] = []
    state = AccessState(
        dict(_read_each(sorted(datasets), lists.read, problems)), dict(_read_each(sorted(groups), directory.read, problems))
    )
    if problems:
        raise InvalidPolicy(problems)
    return state


def plan_changes(policy: AccessPolicy, state: AccessState, own: Sequence[DeploymentGrants]) -> AccessPlan:
    """Return what has to be added and removed, so that the state is as declared.

    Args:
        policy: the declared state.
        state: the present state of everything that the policy names.
        own: the grants of the deployments, which are never removed.
    """
    datasets = (_dataset_change(name, policy.datasets[name], state.datasets[name], own) for name in sorted(policy.datasets))
    groups = (_group_change(state.groups[name], policy.groups[name]) for name in sorted(policy.groups))
    return AccessPlan(
        tuple(change for change in datasets if change.added or change.removed),
        tuple(change for change in groups if change.added or change.removed),
    )


def check_writers(
    policy: AccessPolicy, state: AccessState, own: Sequence[DeploymentGrants], project: str, allowed: bool = False
) -> None:
    """Check that no declared grant writes into a dataset whose views may read other datasets.

    Args:
        policy: the declared state.
        state: the present state, which says which datasets are authorized.
        own: the grants of the deployments, with their datasets of views.
        project: the project of the datasets.
        allowed: allow such grants on every dataset.

    Raises:
        InvalidPolicy: there are such grants; the error lists all of them.
    """
    views = view_datasets(policy.datasets, state, own, project)
    problems = [
        f"dataset {name} holds views that may read other datasets: whoever has {grant.role} there can write a view that "
        f"reads them, as {grant.principal} could; take the grant out, or set {ALLOW_WRITERS}: true below datasets.{name}"
        for name, declared in sorted(policy.datasets.items())
        for grant in sorted(declared.grants, key=lambda grant: grant.sort_key)
        if name in views and not (allowed or declared.allow_writers) and writes_views(grant)
    ]
    if problems:
        raise InvalidPolicy(problems)


def view_datasets(names: Iterable[str], state: AccessState, own: Sequence[DeploymentGrants], project: str) -> frozenset[str]:
    """Return the datasets whose views may read other datasets: by name, by the deployment, and by what is authorized."""
    authorized = {
        dataset
        for access in state.datasets.values()
        for where, dataset in access.authorized_datasets
        if where == project and dataset != access.dataset
    }
    known = authorized.union(*(grants.views for grants in own))
    return frozenset(name for name in names if name in known or name.endswith(VIEW_SUFFIXES))


def kept_entries(state: AccessState) -> Iterator[str]:
    """Yield a warning for everything that is kept because Onefold does not know its form."""
    for name, access in sorted(state.datasets.items()):
        for entry in access.entries:
            if entry.is_unknown:
                yield f"dataset {name}: an entry of an unknown form is kept: {cut(json.dumps(dict(entry.content)))}"
    for name, group in sorted(state.groups.items()):
        for member in group.members:
            if member.is_kept and "@" not in member.email:
                yield f"group {name}: the member {member.email!r} has no e-mail address and is kept"


def _dataset_change(
    name: str, declared: DatasetPolicy, access: DatasetAccess, own: Sequence[DeploymentGrants]
) -> DatasetChange:
    undeclared = access.grants - declared.grants
    removed = frozenset(grant for grant in undeclared if not any(grants.has(name, grant) for grants in own))
    return DatasetChange(name, declared.grants - access.grants, removed)


def _group_change(group: Group, declared: frozenset[str]) -> GroupChange:
    present = {member.email for member in group.members}
    removed = (member for member in group.members if member.email not in declared and not member.is_kept)
    return GroupChange(group, declared - present, frozenset(removed))


def writes_views(grant: Grant) -> bool:
    """Return whether a grant lets its principal write views, and others than the owners of the project have it."""
    return grant.role not in _READING_ROLES and (grant.principal, grant.role) != _ALWAYS_ALLOWED


def _read_each(names: Sequence[str], read: Callable[[str], Read], problems: list[str]) -> Iterator[tuple[str, Read]]:
    for name in names:
        try:
            yield name, read(name)
        except OnefoldError as error:
            problems.append(str(error))
