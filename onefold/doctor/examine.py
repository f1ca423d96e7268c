"""All checks of `onefold doctor`, one after the other. Nothing is changed, and a failed check stops no other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from onefold.core.errors import OnefoldError
from onefold.core.names import TableId, problems_of_name
from onefold.core.text import shown_list
from onefold.doctor.check import Check, checked, not_checked
from onefold.doctor.hash_key import HashKeyCheck
from onefold.doctor.machine import machine_checks
from onefold.doctor.rights import ACCOUNTS, APIS, TROUBLESHOOTER, CheckedProject, Place, rights_problems
from onefold.doctor.tables import ListedWarehouse, named_datasets, unknown_names
from onefold.ports.hash_keys import HashKeys
from onefold.settings.checking import is_empty
from onefold.settings.config_file import config_path
from onefold.settings.environment import Settings, load_settings

if TYPE_CHECKING:
    from onefold.capture.requirements import CheckedPublisher, CheckedWarehouse

    class ExaminedWarehouse(CheckedWarehouse, ListedWarehouse, Protocol):
        """What the checks need of a warehouse."""


BIGQUERY, PUBSUB = "BIGQUERY_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"
DEFAULT_TOPICS = {"topic_table_created": "table-created", "topic_change_records": "change-records"}
_FURTHER_TOPICS = ("topic_schema_changes", "topic_dead_letter")


class Project(CheckedProject, Protocol):
    """What the checks need of a project of Google Cloud."""

    def enabled_apis(self) -> frozenset[str]: ...


class Clients(Protocol):
    """Makes the clients of outside systems. Every method may raise an OnefoldError."""

    def account(self) -> str:
        """Return the account of the credentials, after it was asked for a token."""

    def warehouse(self, project: str) -> ExaminedWarehouse: ...

    def publisher(self, project: str) -> CheckedPublisher: ...

    def project(self, project: str) -> Project: ...

    def hash_keys(self, project: str) -> HashKeys: ...


@dataclass(frozen=True)
class Examination:
    """What is checked.

    Attributes:
        environ: the environment variables.
        config: the file of table settings; None for the default one.
        project: the project; None for that of the settings.
        datasets: datasets to check besides those of the settings.
        prefix: the prefix of the deployment.
    """

    environ: Mapping[str, str]
    config: Path | None = None
    project: str | None = None
    datasets: tuple[str, ...] = ()
    prefix: str = ""


def examine(request: Examination, clients: Clients) -> Iterator[Check]:
    """Yield the result of each check as soon as it is known.

    Args:
        request: what is checked.
        clients: makes the clients of outside systems.
    """
    yield from machine_checks(request.environ)
    settings, check = _settings(request)
    yield check
    is_emulated = bool(request.environ.get(BIGQUERY))
    project = request.project or settings.project or ("local" if is_emulated else "")
    problems = (
        problems_of_name("project", project) if project else ["no project is named; run: export ONEFOLD_PROJECT=my-project"]
    )
    yield Check("project", tuple(problems), project)
    credentials = not_checked("credentials", "emulators take none") if is_emulated else _credentials(clients)
    yield credentials
    if problems or credentials.problems:
        yield not_checked("cloud", "datasets, topics, APIs and rights: correct the problems above first")
        return
    yield from _cloud_checks(request, settings, project, clients, is_emulated)
    yield from _key_checks(request, settings, project, clients, is_emulated)


def _settings(request: Examination) -> tuple[Settings, Check]:
    """Return the settings, or the default ones where they have problems, and the result."""
    try:
        settings = load_settings(request.environ, request.config)
        path = request.config or config_path(request.environ)
        is_default = path is not None and is_empty(path)
        note = f"{path} is empty: every setting has its default" if is_default else "all settings are valid"
        return settings, Check("settings", note=note)
    except OnefoldError as error:
        fix = "correct the variable or the file"
        return Settings(), Check("settings", tuple(f"{line}; {fix}" for line in str(error).splitlines()))


def _credentials(clients: Clients) -> Check:
    try:
        return Check("credentials", note=clients.account())
    except OnefoldError as error:
        return Check("credentials", (str(error),))


def _cloud_checks(
    request: Examination, settings: Settings, project: str, clients: Clients, is_emulated: bool
) -> Iterator[Check]:
    datasets = _datasets(request, settings)
    views = tuple(dict.fromkeys(settings.view_of(TableId(project, name, "table")).dataset or name for name in datasets))
    if not datasets:
        yield not_checked("datasets", "none is named: add --dataset D, or set ONEFOLD_DATASETS")
    for name in dict.fromkeys((*datasets, *views)):
        yield checked(f"dataset {name}", partial(_dataset_problems, clients, project, name))
    if settings.tables or settings.dataset_names:
        yield _check_names(settings, datasets, clients, project)
    if is_emulated and not request.environ.get(PUBSUB):
        yield not_checked("topics", f"{BIGQUERY} is set, and {PUBSUB} is not")
    else:
        for topic in _topics(settings):
            yield checked(f"topic {topic}", partial(_topic_problems, clients, project, topic))
    if is_emulated:
        yield not_checked("rights", "an emulator has no accounts")
    else:
        yield from _project_checks(clients, Place(project, request.prefix, datasets, views))


def _check_names(settings: Settings, datasets: Sequence[str], clients: Clients, project: str) -> Check:
    title = "tables of onefold.yaml"
    if not datasets and not named_datasets(settings):
        return not_checked(title, "no dataset is named: add --dataset D, or set ONEFOLD_DATASETS")
    return checked(title, lambda: unknown_names(clients.warehouse(project), settings, datasets))


def _key_checks(
    request: Examination, settings: Settings, project: str, clients: Clients, is_emulated: bool
) -> Iterator[Check]:
    datasets = _datasets(request, settings)
    tables = [settings.key_table_of(TableId(project, name, "")) for name in datasets]
    place = Place(project, request.prefix, datasets, ())
    for source, found in sorted(settings.captures.items()):
        if found.hashes:
            check = HashKeyCheck(source, found, tables, place, request.environ, not is_emulated)
            yield checked(f"key of captures.{source}", partial(check.problems, clients))


def _datasets(request: Examination, settings: Settings) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*request.datasets, *sorted(settings.datasets or ()))))


def _dataset_problems(clients: Clients, project: str, dataset: str) -> list[str]:
    return clients.warehouse(project).dataset_problems(dataset)


def _topic_problems(clients: Clients, project: str, topic: str) -> list[str]:
    return clients.publisher(project).topic_problems(topic, clients.warehouse(project).member)


def _topics(settings: Settings) -> Sequence[str]:
    """Return the topics that are set, and those that have a default name."""
    named = [getattr(settings, name) or default for name, default in DEFAULT_TOPICS.items()]
    further = [topic for name in _FURTHER_TOPICS if (topic := getattr(settings, name))]
    return tuple(dict.fromkeys((*named, *further)))


def _project_checks(clients: Clients, place: Place) -> Iterator[Check]:
    enabled: frozenset[str] = frozenset()

    def api_problems() -> list[str]:
        nonlocal enabled
        enabled = clients.project(place.project).enabled_apis()
        missing = [name for name in APIS if name not in enabled]
        command = f"gcloud services enable {' '.join(missing)} --project={place.project}"
        return [f"not enabled: {shown_list(missing)}; run: {command}"] if missing else []

    apis = checked("APIs", api_problems)
    yield apis
    if enabled and TROUBLESHOOTER not in enabled:
        command = f"gcloud services enable {TROUBLESHOOTER} --project={place.project}"
        yield Check("rights", (f"the rights of accounts cannot be read without {TROUBLESHOOTER}; run: {command}",))
    elif not enabled:
        yield not_checked("rights", "which APIs are enabled is not known")
    else:
        for account in ACCOUNTS:
            work = partial(rights_problems, clients.project(place.project), place, account)
            yield checked(f"rights of {place.prefix}{account.name}", work)
