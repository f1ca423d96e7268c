"""Use case: refresh a view, of any kind.

A refresh reads the present state, computes the whole view from it, and writes the view if it differs.
No lock is needed because of the order: the view with its etag is read first, then the versions, and the write names the
etag. Somebody who wrote the view in between may have read other versions; then the write fails, and the refresh starts
again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from onefold.changelog.metadata import unused_order
from onefold.core.errors import NoVersions, Rejected, ViewChanged
from onefold.core.names import TableId
from onefold.core.retry import retry_on_conflict
from onefold.core.versioned_names import VersionedNames
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.refresh.built_view import BuiltView
from onefold.refresh.creations import check_shown, creations_label, still_holds, was_read
from onefold.refresh.description import describe
from onefold.refresh.kind import ViewKind
from onefold.refresh.labels import (
    CHANGE_LABEL,
    CREATED_LABEL,
    LABEL,
    TABLE_LABEL,
    check_taken_over,
    labels_of,
)
from onefold.refresh.leaves import LeafRemoved, has_its_leaves, remove_view, write_view
from onefold.refresh.plan import Announce, TakeOver, ViewPlan
from onefold.refresh.stored_settings import check_settings
from onefold.refresh.tables_read import covered_versions
from onefold.schema.diff import change_id, compare, view_created, view_removed
from onefold.schema.versions import Version, active_versions, mixed_number_columns, unused_rules
from onefold.schema.waiting import Waiting


def _now() -> datetime:
    return datetime.now(UTC)


def plan_refresh(
    kind: ViewKind,
    version: str | None = None,
    prune: bool = False,
    now: Callable[[], datetime] = _now,
    take_over: bool = False,
) -> ViewPlan:
    """Read everything and compute the view; write nothing.

    Args:
        kind: the kind of view, of a table in a warehouse, by settings.
        version: the version that a message named. If the view covers the version under the same rules, was written after
            the table was created, and is settled, nothing else is read: two calls, which cost nothing, are enough. Not used
            where versions are found by labels.
        prune: plan to remove the view where no version is left.
        now: returns the present time.
        take_over: plan to replace a view that Onefold did not write.

    Raises:
        NoVersions: there is no version, and nothing to prune.
        ViewNameTaken: the name of the view belongs to something else.
        SchemaConflict: the versions cannot be one view.
        LimitExceeded: the view would pass a limit of BigQuery.
        TryAgain: an error that may pass.
    """
    warehouse, base, settings = kind.warehouse, kind.base, kind.settings
    names = settings.names_in(base.dataset)
    stored = warehouse.get_view(kind.id)
    if stored:
        kind.check_owner(stored)
    if version in settings.rules_for(base).retired and (stored is None or _is_current(stored, kind.fingerprint)):
        return _shortcut(base, stored)
    if names.are_noted:
        version = None  # such tables gain columns in place, and their views tell versions by a note only
    created = None
    if stored and version and kind.is_settled(stored) and _covers(stored, base, version, kind.fingerprint, names):
        created = warehouse.table_created(base.sibling(names.name(base.table, version)))
        if created and was_read(stored.labels.get(CREATED_LABEL, ""), created):
            return _shortcut(base, stored)
    read_at = now()
    found = kind.read_versions()
    if version and all(one.id for one in found):  # the version of a change table without versions has no name
        check_shown(warehouse, base.sibling(names.name(base.table, version)), version, found, created)
    versions = active_versions(found, settings.rules_for(base))
    if not versions and (prune or not (found and stored and kind.outlives_versions)):
        if settings.rules_for(base).tool and not prune:
            raise NoVersions(f"there is no table {base}: correct its name in onefold.yaml, or remove the entry")
        return _plan_removal(base, stored, prune, len(found), names, take_over)
    return _plan_view(kind, stored, found, versions, read_at, take_over)


def _plan_view(
    kind: ViewKind,
    stored: StoredView | None,
    found: Sequence[Version],
    versions: Sequence[Version],
    read_at: datetime,
    take_over: bool,
) -> ViewPlan:
    """Compute the view of what was read, and what people have to know about it.

    Args:
        kind: as for `plan_refresh`.
        stored: the view as it is; None where there is none.
        found: all versions.
        versions: those that the view reads.
        read_at: when they were read.
        take_over: as for `plan_refresh`.

    Raises:
        OnefoldError: as `plan_refresh`.
    """
    rules = kind.settings.rules_for(kind.base)
    view = kind.build(found, versions, stored)
    if stored:
        check_taken_over(stored, kind.base, view.query, take_over=take_over)
    labels = labels_of(view, stored, kind.fingerprint, creations_label(versions, read_at))
    plan = replace(
        _plan_write(kind, view, stored, {**labels, TABLE_LABEL: kind.owner}),
        warnings=(
            *unused_rules(found, rules),
            *unused_order(found, rules),
            *kind.warnings(view.query),
            *view.warnings,
            *(_waits(one, kind.base) for one in view.waiting),
        ),
        versions=tuple(found),
        advice=tuple(mixed_number_columns(versions, rules)),
        settings=kind.setting_changes(stored) if stored else (),
    )
    return _identified(plan, kind.id, _first_created(versions))


def _waits(waiting: Waiting, base: TableId) -> str:
    return f"waits for a decision: {waiting}: onefold changes accept {waiting.change} {base.dataset}.{base.table}"


def refresh(
    kind: ViewKind,
    *,
    version: str | None = None,
    prune: bool = False,
    announce: Announce | None = None,
    record: Announce | None = None,
    take_over: TakeOver | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], datetime] = _now,
) -> ViewPlan:
    """Bring the view up to date and return what was done; running it twice gives the same view as running it once.

    Args:
        kind: the kind of view, of a table in a warehouse, by settings.
        version: as for `plan_refresh`.
        prune: as for `plan_refresh`.
        announce: called before the view is written, where the plan changes the schema of the view or the view keeps
            announcements. So a change is announced at least once, even where the process dies in between. An announcement
            that the topic refuses is kept with the view, and handed to the next refresh. None: nothing is announced.
        record: called before that for every plan; records its changes in the ledger, and returns what the view has to keep.
            None: nothing is recorded.
        take_over: called with a view that Onefold did not write, before the view is replaced. None: such a view is an error.
        sleep: pauses for so many seconds between two tries.
        now: returns the present time.

    Raises:
        OnefoldError: as `plan_refresh` and `Warehouse.check_tags`.
        SettingsChanged: the view was written with other settings, and `settings.keep_view_settings` is True.
        TryAgain: others wrote the view during all tries.
        Rejected: the view would be removed, and the topic refuses the announcement, which nothing could keep any more.
    """
    asked, warehouse, settings = version, kind.warehouse, kind.settings

    def once() -> ViewPlan:
        nonlocal asked
        plan = plan_refresh(kind, asked, prune, now, take_over is not None)
        if plan.stored and settings.keep_view_settings:
            check_settings(plan.stored.id, plan.settings)
        if take_over and plan.stored and plan.takes_over:
            take_over(plan.stored)
        if plan.action == "update" and plan.stored and plan.draft:
            plan = replace(plan, stored=warehouse.check_tags(plan.stored, plan.draft))
        if record:
            plan = replace(plan, unannounced=record(plan))
        if announce and (plan.changes or plan.unannounced):
            plan = replace(plan, unannounced=announce(plan))
        elif plan.action == "remove":
            plan = replace(plan, unannounced=())
        try:
            plan = replace(plan, warnings=(*plan.warnings, *_apply(kind, plan)))
        except LeafRemoved:
            asked = None
            raise
        return plan

    return retry_on_conflict(kind.id, once, sleep)


def _shortcut(base: TableId, stored: StoredView | None) -> ViewPlan:
    """Return the plan of a view that stays as it is, for which nothing else has to be read."""
    return ViewPlan(base, "none", None, stored, None, (), shortcut=True, unannounced=stored.unannounced if stored else ())


def _covers(stored: StoredView, base: TableId, version: str, fingerprint: str, names: VersionedNames) -> bool:
    return _is_current(stored, fingerprint) and version in covered_versions(stored.query, base.table, names)


def _is_current(stored: StoredView, fingerprint: str) -> bool:
    """Return whether a view was written completely under the present rules."""
    return not stored.unfinished and stored.labels.get(LABEL) == fingerprint


def _plan_removal(
    base: TableId, stored: StoredView | None, prune: bool, retired: int, names: VersionedNames, take_over: bool
) -> ViewPlan:
    if stored and prune:
        check_taken_over(stored, base, None, take_over=take_over)
        plan = ViewPlan(base, "remove", None, stored, None, (view_removed(),), unannounced=stored.unannounced)
        return _identified(plan, stored.id)
    if prune:
        return ViewPlan(base, "none", None, None, None, ())
    hint = f"all {retired} of them are retired" if retired else "there is none"
    command = f"onefold refresh {base.dataset}.{base.table} --prune"
    advice = f"; remove the view that is left with `{command}`" if stored else ""
    raise NoVersions(
        f"no versioned table to unify in dataset {base.project}.{base.dataset}: expected tables "
        f"{names.described_versions(base.table)}, and {hint}{advice}"
    )


def _plan_write(
    kind: ViewKind,
    view: BuiltView,
    stored: StoredView | None,
    labels: dict[str, str],
) -> ViewPlan:
    description = describe(stored.description if stored else "", view.casts)
    draft = ViewDraft(view.query, description, labels, view.columns)
    if stored is None:
        return ViewPlan(kind.base, "create", view, None, draft, (view_created(), *kind.other_changes(None, view)))
    changes = compare(stored.columns, view.columns) if stored.query != view.query else ()
    changes = (*changes, *kind.other_changes(stored, view))
    done = _is_as_drafted(stored, draft) and has_its_leaves(kind.warehouse, view)
    return ViewPlan(kind.base, "none" if done else "update", view, stored, draft, changes, unannounced=stored.unannounced)


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


def _is_as_drafted(stored: StoredView, draft: ViewDraft) -> bool:
    if stored.unfinished:
        return False
    old, new = stored.labels.get(CREATED_LABEL, ""), draft.labels.get(CREATED_LABEL, "")
    labels = {**stored.labels, CREATED_LABEL: new} if still_holds(old, new) else dict(stored.labels)
    return (stored.query, stored.description, labels) == (draft.query, draft.description, dict(draft.labels))


def _apply(kind: ViewKind, plan: ViewPlan) -> tuple[str, ...]:
    """Carry out the plan and return warnings.

    Raises:
        Rejected: the view would be removed while an announcement has to be kept.
        ViewChanged: a version was created while the view was removed.
    """
    if plan.action == "remove" and plan.stored:
        if plan.unannounced:
            raise Rejected(
                f"{plan.stored.id} was not removed: the topic for schema changes refuses the announcement, and nothing "
                "would be left to keep it. Make the topic accept messages, or unset ONEFOLD_TOPIC_SCHEMA_CHANGES"
            )
        remove_view(kind.warehouse, plan.stored)
        # BigQuery cannot delete a view on a condition, so a version that was created meanwhile is looked for afterwards.
        if active_versions(kind.read_versions(), kind.settings.rules_for(plan.base)):
            raise ViewChanged(f"{plan.stored.id} was removed while a version of it was created: run it again")
    elif plan.action in ("create", "update") and plan.view and plan.draft:
        kind.before_write()
        return write_view(kind.warehouse, plan.view, plan.stored, replace(plan.draft, unannounced=plan.unannounced))
    elif plan.stored and plan.unannounced != plan.stored.unannounced:
        stored = plan.stored
        draft = ViewDraft(stored.query, stored.description, stored.labels, unannounced=plan.unannounced)
        kind.warehouse.update_view(stored, draft)
    return ()
