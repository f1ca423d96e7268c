"""Entries of the ledger from the versions of a table: a pure function, so that each message gives the same ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from onefold.changes.effects import ReadView, Shown, effects_of
from onefold.changes.entry import Entry, Origin
from onefold.changes.ids import version_change_id, version_entry_id
from onefold.core.names import TableId
from onefold.schema.diff import SchemaChange, compare
from onefold.schema.versions import Version


@dataclass(frozen=True)
class ReportedChange:
    """What a message reports of a new version.

    Attributes:
        origin: who reports it.
        tenant: the database whose table changed; empty where that is unknown.
        statement: the statement of the source, with `?` in the place of each literal.
        changed_at: the time of the change at the source.
        version_before: the version of that table before; empty where it is the one before in the warehouse.
    """

    origin: Origin
    tenant: str = ""
    statement: str = ""
    changed_at: datetime | None = None
    version_before: str = ""


def version_entries(
    base: TableId,
    versions: Sequence[Version],
    missing: Collection[str],
    views: Sequence[ReadView],
    recorded_at: datetime,
    reported: tuple[str, ReportedChange] | None = None,
) -> Iterator[Entry]:
    """Yield an entry for each version that is new, and for the one of which a message reports a change.

    Args:
        base: the base name of the versioned tables.
        versions: the versions of the table, in order (`active_versions`).
        missing: the versions that are new: those that the stored view does not read.
        views: the views of the table that exist.
        recorded_at: the present time.
        reported: the version that a message names and what it reports of it; None where it reports nothing.

    Examples:
        >>> from datetime import UTC
        >>> from onefold.schema.columns import Column
        >>> from onefold.schema.types import parse_type
        >>> old = Version("abc", (Column("id", parse_type("INT64")),))
        >>> new = Version("def", (*old.columns, Column("zip", parse_type("STRING"))))
        >>> shop = TableId("p", "shop", "customer")
        >>> (entry,) = version_entries(shop, [old, new], {"def"}, [], datetime(2026, 1, 1, tzinfo=UTC))
        >>> entry.version_before, entry.version_after, [str(one) for one in entry.operations]
        ('abc', 'def', ['added zip STRING'])
    """
    wanted = {*missing, *([reported[0]] if reported else [])}
    shown: dict[int, list[Shown]] = {}
    for index, version in enumerate(versions):
        if version.id in wanted:
            entry = _entry(base, versions, index, recorded_at)
            former = index - 1
            if reported and reported[0] == version.id:
                entry, former = _reported_entry(base, entry, versions, index, reported[1])
            if index + former >= 0 and views:
                # A table that goes back to an earlier version changes no view: rows to come lack columns.
                counts = (index, index + 1) if former < index else (former + 1, former + 1)
                before, after = (shown.get(count) or _shown(views, versions[:count]) for count in counts)
                shown = {counts[1]: after}
                entry = _with_effects(entry, views, before, after)
            yield entry


def _shown(views: Sequence[ReadView], versions: Sequence[Version]) -> list[Shown]:
    return [view.shown(versions) for view in views]


def _entry(base: TableId, versions: Sequence[Version], index: int, recorded_at: datetime) -> Entry:
    before = versions[index - 1] if index else Version("", ())
    after = versions[index]
    return Entry(
        id=version_entry_id(base, after.id, after.created),
        recorded_at=recorded_at,
        origin="discovered",
        dataset=base.dataset or "",
        table=base.table,
        operations=_operations(before, after),
        version_before=before.id,
        version_after=after.id,
        change=version_change_id(base, before.id, after.id),
    )


def _operations(before: Version, after: Version) -> tuple[SchemaChange, ...]:
    """Return the changes of a table. The order of its columns is none: views keep their own order."""
    return tuple(change for change in compare(before.columns, after.columns) if change.kind != "reordered")


def _reported_entry(
    base: TableId, entry: Entry, versions: Sequence[Version], index: int, reported: ReportedChange
) -> tuple[Entry, int]:
    """Return an entry with what a message reports, and the index of the version before; -1 where there is none.

    The tenant's table may have had an earlier version than the one before in the warehouse, or go back to an earlier one.
    """
    named = (at for at, version in enumerate(versions) if version.id == reported.version_before and at != index)
    former = next(named, index - 1)
    before = versions[former] if former >= 0 else Version("", ())
    reported_entry = replace(
        entry,
        origin=reported.origin,
        tenant=reported.tenant,
        statement=reported.statement,
        changed_at=reported.changed_at,
        version_before=before.id,
        operations=_operations(before, versions[index]),
        change=entry.change if former < index else version_change_id(base, before.id, entry.version_after),
    )
    if not reported.tenant:
        return reported_entry, former
    # A process that was started anew does not know the version before; the time tells the change all the same.
    known = "" if reported.changed_at else reported.version_before
    return replace(
        reported_entry, id=version_change_id(base, known, entry.version_after, reported.tenant, reported.changed_at)
    ), former


def _with_effects(entry: Entry, views: Sequence[ReadView], before: Sequence[Shown], after: Sequence[Shown]) -> Entry:
    found = [
        effect
        for view, old, new in zip(views, before, after, strict=True)
        for effect in effects_of(view.name, old, new, entry.operations)
    ]
    return replace(entry, effects=tuple(found))
