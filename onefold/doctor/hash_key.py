"""The right to read the key of hashes, for each source whose columns capture hashes.

The account of a deployed capture has to have the right. Where there is no such account, the process runs elsewhere with the
credentials of whoever starts it, so these have to read the key. The key itself is shown nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from onefold.adapters.secrets import read_secret
from onefold.core.errors import OnefoldError
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.doctor.rights import CheckedProject, Place
from onefold.ports.hash_keys import HashKeys
from onefold.settings.captures import CaptureSettings

_SECRET = re.compile(r"projects/(?P<project>[^/]+)/secrets/(?P<secret>[^/]+)(/versions/[^/]+)?")


class Keys(Protocol):
    """Makes the clients that the check needs."""

    def hash_keys(self, project: str) -> HashKeys: ...

    def project(self, project: str) -> CheckedProject: ...


@dataclass(frozen=True)
class HashKeyCheck:
    """The check of one source.

    Attributes:
        source: the name of the source, as in `captures`.
        settings: its settings.
        tables: the tables of the keys of the datasets; capture writes into one of them.
        place: what was deployed where.
        environ: the environment variables, which may hold a key.
        has_accounts: False for emulators, and where the rights of accounts cannot be read.
    """

    source: str
    settings: CaptureSettings
    tables: Sequence[TableId]
    place: Place
    environ: Mapping[str, str]
    has_accounts: bool

    def problems(self, clients: Keys) -> Iterator[str]:
        """Yield why the key cannot be read, each with what to do."""
        name = f"{self.place.prefix}capture-{self.source}"
        email = f"{name}@{self.place.project}.iam.gserviceaccount.com"
        if self.has_accounts and clients.project(self.place.project).has_account(email):
            yield from self._problems_of_account(clients.project(self.place.project), email)
        else:
            yield from self._problems_of_caller(clients)

    def _problems_of_account(self, project: CheckedProject, email: str) -> Iterator[str]:
        permission, resources = self._needed()
        access = {project.access(email, permission, resource) for resource in resources}
        if resources and "GRANTED" not in access:
            shown = " or ".join(resource.removeprefix("//") for resource in resources)
            state = "lacks" if access == {"NOT_GRANTED"} else f"may lack ({', '.join(sorted(access))})"
            yield f"{email} {state} {permission} on {shown}, with the key of its hashes; run: make deploy"

    def _needed(self) -> tuple[str, tuple[str, ...]]:
        """Return the permission, and the resources of which one has to have it; none for a key of the process itself."""
        if found := _SECRET.fullmatch(self.settings.hash_key or ""):
            resource = f"//secretmanager.googleapis.com/projects/{found['project']}/secrets/{found['secret']}"
            return "secretmanager.versions.access", (resource,)
        if self.settings.hash_key:
            return "", ()
        datasets = (f"//bigquery.googleapis.com/projects/{one.project}/datasets/{one.dataset}" for one in self.tables)
        return "bigquery.tables.getData", tuple(datasets)

    def _problems_of_caller(self, clients: Keys) -> Iterator[str]:
        if self.settings.hash_key:
            secret = read_secret(self.settings.hash_key, self.environ, "key of hashes")
            HashKey.parse(secret, f"captures.{self.source}.hash_key")
            return
        keys = clients.hash_keys(self.place.project)
        found = [_problem_of_table(keys, table) for table in self.tables]
        if all(found):  # capture writes into one of the datasets
            yield from filter(None, found)


def _problem_of_table(keys: HashKeys, table: TableId) -> str | None:
    try:
        key = keys.read(table)
    except OnefoldError as error:
        return f"the key of {table} cannot be read: {error}; grant yourself roles/bigquery.dataViewer on {table.dataset}"
    name = (table.dataset or "").removesuffix("__keys")
    return None if key else f"{table} has no key; run: onefold policies key {name}"
