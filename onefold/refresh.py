"""Refresh a unified view: read the present state, compute the whole view from it, write it if it differs.

The order is what makes it safe without a lock: first the view with its etag, then the versions, then the write with
If-Match. Whoever wrote in between had read versions that may be older or newer than ours; the write fails, and
everything starts again from the read.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from onefold.changes import Change, compare, view_created, view_removed
from onefold.descriptions import describe
from onefold.errors import LimitExceeded, NothingFound, TryAgain, ViewChanged, ViewNotOurs
from onefold.names import TableId, versioned_name, versions_pattern
from onefold.settings import Settings
from onefold.versions import Version, in_order
from onefold.view import UnifiedView, build_view, covered_versions, leaf_pattern, limit_faults
from onefold.warehouse import StoredView, ViewDraft, Warehouse

LABEL = "onefold_rules"
TRIES = 10
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0

Action = Literal["none", "create", "update", "remove"]


@dataclass(frozen=True)
class Plan:
    """What a refresh would do, and why. `view` is None where no version is left."""

    base: TableId
    action: Action
    view: UnifiedView | None
    stored: StoredView | None
    draft: ViewDraft | None
    changes: tuple[Change, ...]
    shortcut: bool = False
    """Whether the view was not even computed, because it already covers the version that was asked for."""


def plan_refresh(
    warehouse: Warehouse, base: TableId, settings: Settings, version: str | None = None, prune: bool = False
) -> Plan:
    """Read everything and compute the view; write nothing.

    Args:
        version: the version that a message named: if the view covers it under the same rules, that is all there is to
            know, at the price of one call.
        prune: plan to remove the view where no version is left.

    Raises:
        NothingFound: there is no version, and nothing to prune.
        ViewNotOurs: something that is not a view has its name.
        SchemaConflict, LimitExceeded: the versions cannot be one view.
        TryAgain: trouble that may pass.
    """
    id_, fingerprint = settings.view_of(base), settings.fingerprint(base)
    stored = warehouse.get_view(id_)
    if stored and not stored.is_view:
        raise ViewNotOurs(f"{id_} is a table, not a view: rename it, or set ONEFOLD_VIEW_NAME")
    if stored and version and _covers(stored, base, version, fingerprint):
        return Plan(base, "none", None, stored, None, (), shortcut=True)
    found = warehouse.read_versions(base)
    _wait_for(warehouse, base, version, found)
    versions = in_order(found, settings.rules_for(base))
    if not versions:
        return _plan_removal(base, stored, prune, len(found))
    view = build_view(id_, base, versions, settings.rules_for(base))
    if faults := limit_faults(view):
        raise LimitExceeded(faults)
    return _plan_write(base, view, stored, fingerprint)


def refresh(
    warehouse: Warehouse,
    base: TableId,
    settings: Settings,
    *,
    version: str | None = None,
    prune: bool = False,
    announce: Callable[[Plan], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Plan:
    """Bring the view up to date and return what was done; the same twice is the same once.

    Args:
        announce: told of a plan that changes the view's schema, before it is written: so a change is announced at
            least once, even where the process dies in between.

    Raises:
        As `plan_refresh`, and TryAgain where others kept writing the view through all tries.
    """
    for attempt in range(TRIES):
        try:
            plan = plan_refresh(warehouse, base, settings, version, prune)
            if plan.changes:
                announce(plan)
            _apply(warehouse, plan)
            return plan
        except ViewChanged:
            sleep(random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)))  # noqa: S311
    raise TryAgain(f"{settings.view_of(base)}: others wrote it during each of {TRIES} tries")


def _covers(stored: StoredView, base: TableId, version: str, fingerprint: str) -> bool:
    return stored.labels.get(LABEL) == fingerprint and version in covered_versions(stored.query, base.table)


def _wait_for(warehouse: Warehouse, base: TableId, version: str | None, found: tuple[Version, ...]) -> None:
    """A table that exists but does not show in the metadata yet will; one that does not exist was dropped again."""
    if version and all(version != known.id for known in found):
        table = base.sibling(versioned_name(base.table, version))
        if warehouse.has_table(table):
            raise TryAgain(f"{table} exists, but the dataset's metadata do not show it yet")


def _plan_removal(base: TableId, stored: StoredView | None, prune: bool, retired: int) -> Plan:
    if stored and prune:
        return Plan(base, "remove", None, stored, None, (view_removed(),))
    hint = f"all {retired} of them are retired" if retired else "there is none"
    advice = "; remove the view that is left with `onefold refresh --prune`" if stored else ""
    raise NothingFound(
        f"no versioned table to unify in dataset {base.project}.{base.dataset}: tables matching "
        f"{versions_pattern(base.table)} were searched, and {hint}{advice}"
    )


def _plan_write(base: TableId, view: UnifiedView, stored: StoredView | None, fingerprint: str) -> Plan:
    description = describe(stored.description if stored else "", view.casts)
    labels = {**(stored.labels if stored else {}), LABEL: fingerprint}
    draft = ViewDraft(view.query, description, labels)
    if stored is None:
        return Plan(base, "create", view, None, draft, (view_created(),))
    same = (stored.query, stored.description, dict(stored.labels)) == (draft.query, draft.description, labels)
    changes = compare(stored.columns, view.columns) if stored.query != view.query else ()
    return Plan(base, "none" if same else "update", view, stored, draft, changes)


def _apply(warehouse: Warehouse, plan: Plan) -> None:
    if plan.action == "remove" and plan.stored:
        warehouse.delete_view(plan.stored.id)
        _remove_leaves(warehouse, plan.stored.id, plan.stored.query, keep=frozenset())
    elif plan.action in ("create", "update") and plan.view and plan.draft:
        _write(warehouse, plan.view, plan.stored, plan.draft)


def _write(warehouse: Warehouse, view: UnifiedView, stored: StoredView | None, draft: ViewDraft) -> None:
    """Leaves first, then the view over them, then away with the leaves that it no longer reads."""
    for leaf in view.leaves:
        try:
            warehouse.create_view(leaf.id, ViewDraft(leaf.query))
        except ViewChanged:
            continue  # it is there already, and its name is a digest of its text
    if stored is None:
        warehouse.create_view(view.id, draft)
    else:
        warehouse.update_view(stored, draft)
    keep = frozenset(leaf.id.table for leaf in view.leaves)
    _remove_leaves(warehouse, view.id, stored.query if stored else "", keep)


def _remove_leaves(warehouse: Warehouse, view: TableId, old_query: str, keep: frozenset[str]) -> None:
    pattern = leaf_pattern(view.table)
    if not keep and not pattern.search(old_query):
        return  # no leaves before, none now
    present = (name for name in warehouse.list_views(view.dataset or "") if pattern.fullmatch(name))
    removed = [name for name in present if name not in keep]
    for name in removed:
        warehouse.delete_view(view.sibling(name))
    # Another refresh may have taken one of them up between our write and its removal: then it is written again.
    now = warehouse.get_view(view) if removed else None
    if now and any(name in now.query for name in removed):
        raise ViewChanged(f"{view} reads a leaf that was just removed")
