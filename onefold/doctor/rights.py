"""The rights that each deployed account needs, as docs/reference/permissions.md lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

_USED = "bigquery bigquerystorage cloudfunctions cloudscheduler dataproc iam logging pubsub run storage"
APIS = tuple(f"{name}.googleapis.com" for name in _USED.split())
"""The APIs that a deployment uses while it runs; infra/apis.tf enables them, and those that only a deployment needs."""
TROUBLESHOOTER = "policytroubleshooter.googleapis.com"
_PUBLISH = "pubsub.topics.publish"


@dataclass(frozen=True)
class Account:
    """A deployed account: its name without prefix, and permissions by kind of resource.

    Attributes:
        name: the part of the e-mail before the @.
        project: permissions in the project.
        datasets: permissions in each dataset of tables.
        views: permissions in each dataset of views.
        topics: the topics to which the account publishes.
    """

    name: str
    project: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


_WRITES_VIEWS = ("bigquery.tables.create", "bigquery.tables.update")
ACCOUNTS = (
    Account(
        "onefold-refresh-view",
        project=("bigquery.jobs.create",),
        datasets=("bigquery.tables.getData", "bigquery.tables.list"),
        views=_WRITES_VIEWS,
        topics=("table-created", "schema-changes", "dead-letter"),
    ),
    Account("onefold-launch-batch", project=("dataproc.batches.create",), topics=("dead-letter",)),
    Account(
        "onefold-batch",
        project=("bigquery.jobs.create",),
        datasets=(
            "bigquery.tables.getData",
            "bigquery.tables.updateData",
            "bigquery.tables.create",
            "bigquery.tables.update",
        ),
        views=_WRITES_VIEWS,
        topics=("schema-changes",),
    ),
    Account("onefold-sink-records", datasets=("bigquery.tables.get", "bigquery.tables.updateData"), topics=("dead-letter",)),
)


@dataclass(frozen=True)
class Place:
    """What was deployed where.

    Attributes:
        project: the project.
        prefix: the prefix of a second deployment, or an empty text.
        datasets: the datasets of tables.
        views: the datasets of views.
    """

    project: str
    prefix: str
    datasets: Sequence[str]
    views: Sequence[str]


class CheckedProject(Protocol):
    """What the checks need of a project of Google Cloud."""

    def has_account(self, email: str) -> bool: ...

    def access(self, email: str, permission: str, resource: str) -> str: ...


def rights_problems(project: CheckedProject, place: Place, account: Account) -> Iterator[str]:
    """Yield each right that an account lacks, with the command that grants it.

    Args:
        project: answers which rights there are.
        place: the resources on which the rights have to be.
        account: the account and its rights.
    """
    email = f"{place.prefix}{account.name}@{place.project}.iam.gserviceaccount.com"
    if not project.has_account(email):
        yield f"the account {email} does not exist; {_deploy(place)}"
        return
    for permission, resource in dict.fromkeys(needed(place, account)):
        access = project.access(email, permission, resource)
        if access == "NOT_GRANTED":
            yield f"{email} lacks {permission} on {resource.removeprefix('//')}; {_deploy(place)}"
        elif access != "GRANTED":
            yield (
                f"whether {email} has {permission} on {resource.removeprefix('//')} is not known ({access}); run: gcloud "
                f"projects add-iam-policy-binding {place.project} --member=user:YOU --role=roles/iam.securityReviewer"
            )


def needed(place: Place, account: Account) -> Iterator[tuple[str, str]]:
    """Yield each permission of an account with the full name of its resource."""
    for permission in account.project:
        yield permission, f"//cloudresourcemanager.googleapis.com/projects/{place.project}"
    for names, permissions in ((place.datasets, account.datasets), (place.views, account.views)):
        for name in names:
            for permission in permissions:
                yield permission, f"//bigquery.googleapis.com/projects/{place.project}/datasets/{name}"
    for topic in account.topics:
        yield _PUBLISH, f"//pubsub.googleapis.com/projects/{place.project}/topics/{place.prefix}{topic}"


def _deploy(place: Place) -> str:
    prefix = f" PREFIX={place.prefix}" if place.prefix else ""
    return f"run: make deploy PROJECT={place.project} REGION=YOUR-REGION DATASETS={','.join(place.datasets)}{prefix}"
