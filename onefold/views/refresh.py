"""Refresh a unified view: read the present state, compute the whole view from it, write it if it differs.

The order is what makes it safe without a lock: first the view with its etag, then the versions, then the write with
If-Match. Whoever wrote in between had read versions that may be older or newer than ours; the write fails, and
everything starts again from the read.

A view in two levels has leaves, and nothing ties a leaf's removal to the view that reads it. So leaves are written before
the view, removed after it, and looked for whenever the whole view is computed: one that is missing is written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from onefold.core.errors import LimitExceeded, NotFound, OnefoldError, Rejected, TryAgain, ViewChanged, ViewNameTaken
from onefold.core.names import TableId
from onefold.core.retry import retry_on_conflict
from onefold.core.versioned_names import VersionedNames
from onefold.ports.warehouse import StoredView, ViewDraft, ViewExists, Warehouse
from onefold.schema.diff import SchemaChange, change_id, compare, view_created, view_removed
from onefold.schema.versions import Version, active_versions, unused_rules
from onefold.settings.environment import Settings
from onefold.views.creations import creations_label, milliseconds, still_holds, was_read
from onefold.views.description import describe
from onefold.views.unified_view import (
    RENDERER,
    Leaf,
    UnifiedView,
    build_view,
    covered_versions,
    leaf_pattern,
    limit_problems,
    old_leaf_pattern,
)

LABEL = "onefold_rules"
"""A digest of the settings and the renderer that a view was written with."""
TABLE_LABEL = "onefold_table"
"""A digest of the table that a view belongs to: with some templates two tables could claim one view."""
LEAVES_LABEL = "onefold_leaves"
"""Says that there may be leaves to remove, also after the view itself reads none any more."""

CREATED_LABEL = "onefold_created"
"""When the versions were created that the view reads, as far as a label has room: see `creations`."""

CHANGE_LABEL = "onefold_change"
"""The identifier of the last change of the view's schema, from which that of the next one follows."""

Action = Literal["none", "create", "update", "remove"]


class _LeafRemoved(ViewChanged):
    """The view reads a leaf that is gone: no shortcut may hide that."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class ViewPlan:
    """What a refresh would do, and why. `view` is None where no version is left."""

    base: TableId
    action: Action
    view: UnifiedView | None
    stored: StoredView | None
    draft: ViewDraft | None
    changes: tuple[SchemaChange, ...]
    shortcut: bool = False
    """Whether the view was not even computed, because it already covers the version that was asked for."""
    warnings: tuple[str, ...] = ()
    """Settings that have no effect, and leaves of an earlier release that could not be removed."""
    unannounced: tuple[str, ...] = ()
    """Announcements that are still to be published: those that the view keeps; after a refresh, those that it keeps now."""
    change_id: str = ""
    """The identifier of `changes`, where there are any: the same after a write that failed, and of no other change."""


Announce = Callable[[ViewPlan], tuple[str, ...]]
"""Publishes what a plan still has to announce, and the changes that it makes; returns, as JSON, what the topic refused."""


def plan_refresh(
    warehouse: Warehouse,
    base: TableId,
    settings: Settings,
    version: str | None = None,
    prune: bool = False,
    now: Callable[[], datetime] = _now,
) -> ViewPlan:
    """Read everything and compute the view; write nothing.

    Args:
        version: the version that a message named: if the view covers it under the same rules, and was written after the
            table was created, that is all there is to know, at the price of two calls that cost nothing.
        prune: plan to remove the view where no version is left.

    Raises:
        NotFound: there is no version, and nothing to prune.
        ViewNameTaken: something that is not a view has its name.
        SchemaConflict, LimitExceeded: the versions cannot be one view.
        TryAgain: trouble that may pass.
    """
    id_, fingerprint = settings.view_of(base), fingerprint_of(settings, base)
    names = settings.names_in(base.dataset)
    stored = warehouse.get_view(id_)
    if stored:
        _check_ours(stored, base, names)
    created = None
    if stored and version and _covers(stored, base, version, fingerprint, names):
        created = warehouse.table_created(base.sibling(names.name(base.table, version)))
        if created and was_read(stored.labels.get(CREATED_LABEL, ""), created):
            return ViewPlan(base, "none", None, stored, None, (), shortcut=True, unannounced=stored.unannounced)
    read_at = now()
    found = warehouse.read_versions(base, names)
    if version:
        _wait_for(warehouse, base.sibling(names.name(base.table, version)), version, found, created)
    versions = active_versions(found, settings.rules_for(base))
    if not versions:
        return _plan_removal(base, stored, prune, len(found), names)
    view = build_view(id_, base, versions, settings.rules_for(base), stored.reserved if stored else 0)
    if problems := limit_problems(view):
        raise LimitExceeded(problems)
    plan = _plan_write(warehouse, base, view, stored, _labels(view, stored, fingerprint, creations_label(versions, read_at)))
    warnings = tuple(unused_rules(found, settings.rules_for(base)))
    return _identified(replace(plan, warnings=warnings), id_, _first_created(versions))


def refresh(
    warehouse: Warehouse,
    base: TableId,
    settings: Settings,
    *,
    version: str | None = None,
    prune: bool = False,
    announce: Announce | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], datetime] = _now,
) -> ViewPlan:
    """Bring the view up to date and return what was done; the same twice is the same once.

    Args:
        announce: called before the view is written, where the plan changes its schema or the view keeps announcements: so
            a change is announced at least once, even where the process dies in between. What the topic refuses is kept
            with the view, and handed to the next refresh. Without it nothing is announced.

    Raises:
        As `plan_refresh` and `Warehouse.check_tags`; TryAgain where others kept writing the view through all tries; Rejected
        where the view is to be removed and the topic refuses the announcement, since nothing is left that could keep it.
    """
    asked = version

    def once() -> ViewPlan:
        nonlocal asked
        plan = plan_refresh(warehouse, base, settings, asked, prune, now)
        if plan.action == "update" and plan.stored and plan.draft:
            plan = replace(plan, stored=warehouse.check_tags(plan.stored, plan.draft))
        if announce and (plan.changes or plan.unannounced):
            plan = replace(plan, unannounced=announce(plan))
        elif plan.action == "remove":
            plan = replace(plan, unannounced=())
        try:
            plan = replace(plan, warnings=(*plan.warnings, *_apply(warehouse, plan, settings)))
        except _LeafRemoved:
            asked = None
            raise
        return plan

    return retry_on_conflict(settings.view_of(base), once, sleep)


def _check_ours(stored: StoredView, base: TableId, names: VersionedNames) -> None:
    """A view without our labels is taken over only where it reads versions of the table, as the predecessor's does."""
    if not stored.is_view:
        raise ViewNameTaken(f"{stored.id} is a table, not a view: rename it, or set ONEFOLD_VIEW_NAME")
    owner = stored.labels.get(TABLE_LABEL)
    if owner and owner != owner_digest(str(base)):
        raise ViewNameTaken(
            f"{stored.id} is the view of another table than {base}: set ONEFOLD_VIEW_DATASET or ONEFOLD_VIEW_NAME so that "
            "each table has a view of its own"
        )
    reads_versions = re.search(rf"\b{names.search_pattern(base.table)}\b", stored.query)
    if not owner and LABEL not in stored.labels and stored.query and not reads_versions:
        raise ViewNameTaken(
            f"{stored.id} was not written by Onefold and reads no version of {base}: rename it, or set ONEFOLD_VIEW_NAME"
        )


def owner_digest(owner: str) -> str:
    """The value of TABLE_LABEL for what a view belongs to."""
    return hashlib.sha256(owner.encode()).hexdigest()[:16]


def _covers(stored: StoredView, base: TableId, version: str, fingerprint: str, names: VersionedNames) -> bool:
    same_rules = not stored.unfinished and stored.labels.get(LABEL) == fingerprint
    return same_rules and version in covered_versions(stored.query, base.table, names)


def _wait_for(
    warehouse: Warehouse, table: TableId, version: str, found: tuple[Version, ...], created: datetime | None
) -> None:
    """A table that exists but does not show in the metadata yet will; one that does not exist was dropped again."""
    shown = next((known for known in found if known.id == version), None)
    if shown is None and (created or warehouse.has_table(table)):
        raise TryAgain(f"{table} exists, but the dataset's metadata do not show it yet")
    if shown and shown.created and created and milliseconds(shown.created) < milliseconds(created):
        raise TryAgain(f"{table} was created again, but the dataset's metadata still show the former table")


def _plan_removal(base: TableId, stored: StoredView | None, prune: bool, retired: int, names: VersionedNames) -> ViewPlan:
    if stored and prune:
        plan = ViewPlan(base, "remove", None, stored, None, (view_removed(),), unannounced=stored.unannounced)
        return _identified(plan, stored.id)
    if prune:
        return ViewPlan(base, "none", None, None, None, ())
    hint = f"all {retired} of them are retired" if retired else "there is none"
    command = f"onefold refresh {base.dataset} {base.table} --prune"
    advice = f"; remove the view that is left with `{command}`" if stored else ""
    raise NotFound(
        f"no versioned table to unify in dataset {base.project}.{base.dataset}: tables matching "
        f"{names.versions_pattern(base.table)} were searched, and {hint}{advice}"
    )


def _plan_write(
    warehouse: Warehouse, base: TableId, view: UnifiedView, stored: StoredView | None, labels: dict[str, str]
) -> ViewPlan:
    description = describe(stored.description if stored else "", view.casts)
    draft = ViewDraft(view.query, description, {**labels, TABLE_LABEL: owner_digest(str(base))}, view.columns)
    if stored is None:
        return ViewPlan(base, "create", view, None, draft, (view_created(),))
    changes = compare(stored.columns, view.columns) if stored.query != view.query else ()
    done = _is_as_drafted(stored, draft) and _has_its_leaves(warehouse, view)
    return ViewPlan(base, "none" if done else "update", view, stored, draft, changes, unannounced=stored.unannounced)


def _identified(plan: ViewPlan, id_: TableId, first_created: str = "") -> ViewPlan:
    """Name the plan's changes, if any, in the label that is written with them."""
    if not plan.changes:
        return plan
    before = plan.stored.columns if plan.stored else None
    after = plan.view.columns if plan.view else None
    former = plan.stored.labels.get(CHANGE_LABEL, "") if plan.stored else first_created
    named = change_id(str(id_), before, after, former)
    draft = plan.draft and replace(plan.draft, labels={**plan.draft.labels, CHANGE_LABEL: named})
    return replace(plan, draft=draft, change_id=named)


def _first_created(versions: Sequence[Version]) -> str:
    """Return when the first version was created: a view that was removed with all of its versions comes back with others."""
    return str(min((version.created for version in versions if version.created), default=""))


def _labels(view: UnifiedView, stored: StoredView | None, fingerprint: str, created: str | None) -> dict[str, str]:
    """What people set, and ours."""
    labels = {**(stored.labels if stored else {}), LABEL: fingerprint}
    labels.pop(LEAVES_LABEL, None)
    labels.pop(CREATED_LABEL, None)
    if created:
        labels[CREATED_LABEL] = created
    if view.leaves or (stored and _leaves_read(view.id, stored.query)):
        labels[LEAVES_LABEL] = "yes"
    return labels


def _is_as_drafted(stored: StoredView, draft: ViewDraft) -> bool:
    if stored.unfinished:
        return False
    old, new = stored.labels.get(CREATED_LABEL, ""), draft.labels.get(CREATED_LABEL, "")
    labels = {**stored.labels, CREATED_LABEL: new} if still_holds(old, new) else dict(stored.labels)
    return (stored.query, stored.description, labels) == (draft.query, draft.description, dict(draft.labels))


def _has_its_leaves(warehouse: Warehouse, view: UnifiedView) -> bool:
    """Whether its leaves are there, and no others."""
    return not view.leaves or _present_leaves(warehouse, view.id) == _leaves_of(view)


def _leaves_of(view: UnifiedView) -> frozenset[str]:
    return frozenset(leaf.id.table for leaf in view.leaves)


def _leaves_read(view: TableId, query: str) -> frozenset[str]:
    return frozenset([*leaf_pattern(view.table).findall(query), *old_leaf_pattern(view.table).findall(query)])


def _present_leaves(warehouse: Warehouse, view: TableId) -> frozenset[str]:
    return _matching(warehouse, view, leaf_pattern(view.table))


def _matching(warehouse: Warehouse, view: TableId, *patterns: re.Pattern[str]) -> frozenset[str]:
    names = warehouse.list_views(view.dataset or "")
    return frozenset(name for name in names if any(pattern.fullmatch(name) for pattern in patterns))


def _present_leaves_of_any_name(warehouse: Warehouse, view: TableId) -> frozenset[str]:
    return _matching(warehouse, view, leaf_pattern(view.table), old_leaf_pattern(view.table))


def _may_have_leaves(stored: StoredView | None) -> bool:
    return stored is not None and (LEAVES_LABEL in stored.labels or bool(_leaves_read(stored.id, stored.query)))


def _apply(warehouse: Warehouse, plan: ViewPlan, settings: Settings) -> tuple[str, ...]:
    """Carry the plan out and return warnings."""
    if plan.action == "remove" and plan.stored:
        if plan.unannounced:
            raise Rejected(
                f"{plan.stored.id} was not removed: the topic for schema changes refuses the announcement, and nothing "
                "would be left to keep it. Make the topic accept messages, or unset ONEFOLD_TOPIC_SCHEMA_CHANGES"
            )
        _remove(warehouse, plan.stored)
        # A deletion cannot be made conditional, so a version that came meanwhile is looked for afterwards.
        if active_versions(
            warehouse.read_versions(plan.base, settings.names_in(plan.base.dataset)), settings.rules_for(plan.base)
        ):
            raise ViewChanged(f"{plan.stored.id} was removed while a version of it was created")
    elif plan.action in ("create", "update") and plan.view and plan.draft:
        return _write(warehouse, plan.view, plan.stored, replace(plan.draft, unannounced=plan.unannounced))
    elif plan.stored and plan.unannounced != plan.stored.unannounced:
        stored = plan.stored
        draft = ViewDraft(stored.query, stored.description, stored.labels, unannounced=plan.unannounced)
        warehouse.update_view(stored, draft)
    return ()


def _remove(warehouse: Warehouse, stored: StoredView) -> None:
    """The view goes last: while it is there, a removal that broke off is known and can be finished."""
    if _may_have_leaves(stored):
        for name in sorted(_present_leaves_of_any_name(warehouse, stored.id)):
            warehouse.delete_view(stored.id.sibling(name))
    warehouse.delete_view(stored.id)


def _write(warehouse: Warehouse, view: UnifiedView, stored: StoredView | None, draft: ViewDraft) -> tuple[str, ...]:
    """Write leaves first, then the view over them, then remove the leaves that it no longer reads.

    Returns warnings about leaves that remain.
    """
    for leaf in view.leaves:
        _write_leaf(warehouse, leaf, stored)
    if stored is None:
        warehouse.create_view(view.id, draft)
    else:
        warehouse.update_view(stored, draft)
    if view.leaves or _may_have_leaves(stored):
        return _remove_leaves(warehouse, view.id, keep=_leaves_of(view))
    return ()


def _write_leaf(warehouse: Warehouse, leaf: Leaf, stored: StoredView | None) -> None:
    """Create a leaf unless it is there, and give it the policy tags of the view: people may read it by its name.

    One that is there already is the same, since its name is a digest of its text; but it may lack the tags, where people put
    them on the view later or a process died between the two calls.
    """
    created = False
    with contextlib.suppress(ViewExists):
        warehouse.create_view(leaf.id, ViewDraft(leaf.query))
        created = True
    if stored is None:
        return
    try:
        warehouse.copy_tags(stored, leaf.id)
    except OnefoldError:
        if created:  # nothing reads it yet, and without its tags it shows the values to more people than the view does
            warehouse.delete_view(leaf.id)
        raise


def _remove_leaves(warehouse: Warehouse, view: TableId, keep: frozenset[str]) -> tuple[str, ...]:
    spare = _present_leaves_of_any_name(warehouse, view) - keep
    if not spare:
        return ()
    # Another refresh may have written the view since, and read some of them again,
    removed = spare - _leaves_read_now(warehouse, view)
    warnings = [warning for name in sorted(removed) for warning in _remove_leaf(warehouse, view, name)]
    # and may even have done so between our look and our removal: then they are written again.
    if removed & _leaves_read_now(warehouse, view):
        raise _LeafRemoved(f"{view} reads a leaf that was just removed")
    return tuple(warnings)


def _remove_leaf(warehouse: Warehouse, view: TableId, name: str) -> tuple[str, ...]:
    """Remove a leaf. One with a name of the renderer 1 may remain, with a warning: IAM lets the deployed accounts delete
    names with the fixed prefix alone, and nothing reads the old leaf any more.
    """
    try:
        warehouse.delete_view(view.sibling(name))
    except Rejected as error:
        if leaf_pattern(view.table).fullmatch(name):
            raise
        remains = f"{view.sibling(name)}, a leaf view of an earlier release that nothing reads, remains ({error})"
        return (f"{remains}: run `bq rm {view.dataset}.{name}` as somebody who may delete it",)
    return ()


def _leaves_read_now(warehouse: Warehouse, view: TableId) -> frozenset[str]:
    now = warehouse.get_view(view)
    return _leaves_read(view, now.query) if now else frozenset()


def fingerprint_of(settings: Settings, base: TableId) -> str:
    """Return a digest of all that decides a view's text besides its versions; a label of the view holds it."""
    rules = settings.rules_for(base)
    parts = (
        RENDERER,
        base,
        rules.conversions,
        rules.time_zone,
        rules.version_column,
        rules.types,
        sorted(rules.retired),
        rules.names,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
