"""Use case: keep the clean view of a table.

The clean view names each column that it shows, so a current view with new columns shows nothing new through it. But a column
may keep its name and get other values, as a column of text does that takes up a struct of a new version. So the clean view
is written twice: before the current view takes up a version, with the actions that the version asks for, and afterwards,
with its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onefold.core.errors import AccessDenied, PolicyTagsDenied, Rejected
from onefold.core.log import LogSeverity
from onefold.core.names import TableId
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.announce import keep
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.views.clean_kind import CleanKind

Say = Callable[[LogSeverity, str, str], None]
"""Called with the severity, the text and the event of a line of the log."""


def keeps_clean(warehouse: BaseWarehouse, base: TableId, settings: Settings, say: Say = lambda *_: None) -> bool:
    """Return whether the clean view of a table has to be kept: because there are policies, or since it was written by some.

    A clean view outlives the policies of onefold.yaml. Then every column of it is undecided, and masked therefore.

    Args:
        warehouse: where the views are.
        base: the base name of the versioned tables.
        settings: those of the installation.
        say: called where the view is kept without policies, and where the account may not even see whether there is one.

    Raises:
        AccessDenied: the deployment has a dataset of clean views for the table, and the account may not read it. Nothing may
            be written then that a clean view there could show.
    """
    known = settings.clean_datasets
    is_deployed = known is not None and base.dataset in known
    if settings.policies is not None and (known is None or is_deployed):
        return True
    kind = CleanKind(warehouse, base, settings)
    try:
        stored = warehouse.get_view(kind.id)
    except AccessDenied as error:  # BigQuery's answer for a dataset that does not exist, to an account without rights
        if is_deployed:
            raise AccessDenied(_hidden_from_us(kind)) from error
        say("NOTICE", _unseen_views(kind.id), "no_clean")
        return False
    if settings.policies is None and stored is not None and kind.is_ours(stored):
        say("WARNING", without_policies(kind.id), "no_policies")
        return True
    return settings.policies is not None


def tighten_clean(warehouse: BaseWarehouse, base: TableId, settings: Settings) -> None:
    """Write the clean view over the current view as it is, for all versions, where there is a clean view.

    Where there is no current view, the clean view is closed until there is one; and where the warehouse refuses the text, as
    it does over a current view that reads a column which is gone, until that is written.

    Args:
        warehouse: where the views are.
        base: the base name of the versioned tables.
        settings: those of the installation.

    Raises:
        OnefoldError: as `onefold.refresh.write.refresh`. The current view must not be written then: the clean view could
            show what the policies hide.
        PolicyTagsDenied: likewise; a closed view would be refused, too.
    """
    if _exists(warehouse, base, settings):
        kind, announce = CleanKind(warehouse, base, settings, closing=True), keep if settings.topic_schema_changes else None
        try:
            refresh(kind, announce=announce)
        except PolicyTagsDenied:
            raise
        except Rejected:
            refresh(replace(kind, refused=True), announce=announce)


def without_policies(view: TableId) -> str:
    """Return the warning about a clean view that has outlived the policies of onefold.yaml."""
    return (
        f"onefold.yaml has no `policies`, so every column of {view} is masked: put the policies back, or remove the view if "
        "nobody needs it any more"
    )


def _hidden_from_us(kind: CleanKind) -> str:
    return (
        f"the account may not read dataset {kind.id.dataset}, which has the clean views of this deployment "
        f"(ONEFOLD_CLEAN_DATASETS): give it its role there again, as `make deploy` does. Until then {kind.source} is not "
        "written, because a clean view could show what is new in it"
    )


def _unseen_views(view: TableId) -> str:
    """Return the note about a dataset that the account may not see, and that no deployment is known to have made."""
    return (
        f"the account may not see whether dataset {view.dataset} exists. If it has clean views, they are not kept, and may "
        "show what a new version brings: give the account its role there again, and name the dataset of the tables in "
        "ONEFOLD_CLEAN_DATASETS"
    )


def _exists(warehouse: BaseWarehouse, base: TableId, settings: Settings) -> bool:
    # A person's command without onefold.yaml knows no policies: CleanKind refuses it, as it refuses other policies.
    if not settings.keep_view_settings and not keeps_clean(warehouse, base, settings):
        return False
    return warehouse.get_view(settings.clean_view_of(base)) is not None
