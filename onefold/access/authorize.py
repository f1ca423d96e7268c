"""Let the clean views of a dataset read what lies below them, so that people need a right on the clean views alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from onefold.access.apply import TRIES
from onefold.access.plan import writes_views
from onefold.core.errors import AccessChanged, InvalidInput, NotFound, TryAgain
from onefold.core.names import TableId
from onefold.core.retry import CONFLICT_BACKOFF
from onefold.ports.access import AuthorizedDatasets, Grant
from onefold.settings.environment import Settings

_SERVICE_ACCOUNT = "serviceAccount:"


@dataclass(frozen=True)
class CleanDatasets:
    """The datasets of the clean views of one dataset.

    Attributes:
        views: the dataset of the clean views.
        current: the dataset of the current views, which the clean views read.
        keys: the dataset of the key of hashes.
        tables: the dataset of the tables.
        plain: the dataset of the current views of its plain change tables, where there are any.
    """

    views: str
    current: str
    keys: str
    tables: str
    plain: str


@dataclass(frozen=True)
class Authorized:
    """A dataset that authorizes the clean views.

    Attributes:
        dataset: the dataset.
        is_new: whether it did not before.
        warnings: who else can read the key.
        views: the dataset whose views may read the dataset.
    """

    dataset: str
    is_new: bool
    warnings: tuple[str, ...] = ()
    views: str = ""


def clean_datasets(settings: Settings, project: str, dataset: str) -> CleanDatasets:
    """Return the datasets of the clean views of a dataset.

    Args:
        settings: those of the installation.
        project: the project of the dataset.
        dataset: the dataset of the tables.

    Raises:
        InvalidInput: the current views of the dataset lie in several datasets.
    """
    one, other = (TableId(project, dataset, table) for table in ("a", "b"))
    current = settings.current_view_of(one).dataset
    if current != settings.current_view_of(other).dataset:
        raise InvalidInput(
            "ONEFOLD_VIEW_DATASET has {table}: expected one dataset of current views, to authorize its "
            "views: take {table} out"
        )
    clean, keys = settings.clean_view_of(one).dataset, settings.key_table_of(one).dataset
    return CleanDatasets(str(clean), str(current), str(keys), dataset, settings.plain_dataset.format(dataset=dataset))


def authorize_views(
    lists: AuthorizedDatasets,
    project: str,
    datasets: CleanDatasets,
    sleep: Callable[[float], None] = time.sleep,
    dry_run: bool = False,
) -> tuple[Authorized, ...]:
    """Let the clean views read the current views and the key. What is authorized already stays as it is.

    Where the dataset of the current views of plain change tables exists, the clean views may read that, and its views the
    tables.

    Args:
        lists: the access lists of the project's datasets.
        project: the project.
        datasets: the datasets.
        sleep: waits for some seconds after a conflict.
        dry_run: find out what is new, and write nothing.

    Raises:
        InvalidInput: datasets do not exist; names all of them, before anything is written.
        OnefoldError: no answer, or a refusal.
    """
    _check_exist(lists, datasets)
    authorize = _would_authorize if dry_run else partial(_authorize, sleep=sleep)
    current = authorize(lists, project, datasets.current, datasets.views)
    keys = authorize(lists, project, datasets.keys, datasets.views)
    keys_access = lists.read(datasets.keys)
    writers = key_writers(datasets.views, lists.read(datasets.views).grants)
    warnings = (*key_readers(keys_access.dataset, keys_access.grants), *writers)
    plain = [
        Authorized(on, authorize(lists, project, on, views), views=views)
        for on, views in ((datasets.plain, datasets.views), (datasets.tables, datasets.plain))
        if datasets.plain != datasets.current and _exists(lists, datasets.plain)
    ]
    return (
        Authorized(datasets.current, current, views=datasets.views),
        Authorized(datasets.keys, keys, warnings, views=datasets.views),
        *plain,
    )


def _exists(lists: AuthorizedDatasets, dataset: str) -> bool:
    try:
        lists.read(dataset)
    except NotFound:
        return False
    return True


def _check_exist(lists: AuthorizedDatasets, datasets: CleanDatasets) -> None:
    needed = (datasets.current, datasets.views, datasets.keys)
    correction = "correct the name, or "  # of the only one that a person types
    if missing := [name for name in needed if not _exists(lists, name)]:
        raise InvalidInput(
            f"dataset {name} does not exist: {correction if name == datasets.current else ''}"
            f"run `bq mk --location=LOCATION {name}`, in the tables' location"
            for name in missing
        )


def _would_authorize(lists: AuthorizedDatasets, project: str, dataset: str, views: str) -> bool:
    return (project, views) not in lists.read(dataset).authorized_datasets


def _authorize(lists: AuthorizedDatasets, project: str, dataset: str, views: str, sleep: Callable[[float], None]) -> bool:
    """Authorize the views to read a dataset, and return whether they were not authorized before.

    Raises:
        TryAgain: others have changed the list during each try.
    """
    for _, pause in zip(range(TRIES), CONFLICT_BACKOFF.pauses(), strict=False):
        access = lists.read(dataset)
        if (project, views) in access.authorized_datasets:
            return False
        try:
            lists.authorize(access, views)
        except AccessChanged:
            sleep(pause)
        else:
            return True
    raise TryAgain(f"dataset {dataset}: others changed it during each of {TRIES} tries; run the command again")


def key_readers(dataset: str, grants: Iterable[Grant]) -> Iterator[str]:
    """Yield a warning for each grant on the key to others than owners and service accounts, which write the views.

    Args:
        dataset: the dataset of the key.
        grants: its grants.
    """
    for grant in sorted(grants, key=lambda grant: grant.sort_key):
        if not grant.is_owner and not grant.principal.startswith(_SERVICE_ACCOUNT):
            yield f"{grant} on {dataset}: whoever reads the key can compute every hash: take this right away"


def key_writers(dataset: str, grants: Iterable[Grant]) -> Iterator[str]:
    """Yield a warning for each grant by which others than service accounts can write a clean view that shows the key.

    Args:
        dataset: the dataset of the clean views.
        grants: its grants.
    """
    for grant in sorted(grants, key=lambda grant: grant.sort_key):
        if writes_views(grant) and not grant.principal.startswith(_SERVICE_ACCOUNT):
            yield (
                f"{grant} on {dataset}: whoever writes views there can read the key by one, and compute every hash: "
                "take this right away"
            )
