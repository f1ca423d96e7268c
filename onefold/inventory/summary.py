"""The tables of a dataset as people think of them: one entry for all versions of a table, with its views and problems."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

from onefold.check.log import CHECK_TABLE
from onefold.core.event_labels import LABEL_BASE
from onefold.core.names import KEY_TABLE, LEAF_PREFIX, TEMPORARY_PREFIX, TableId
from onefold.core.text import shown_list
from onefold.core.version_labels import LABELS
from onefold.inventory.contents import Contents
from onefold.inventory.last_checks import LastCheck
from onefold.merge.base_table import base_table, log_of
from onefold.ports.event_tables import MANIFEST_TABLE
from onefold.ports.listing import ListedTable
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.load.run_log import LOG_TABLE
from onefold.refresh.creations import creations_label, still_holds
from onefold.refresh.kind import ViewKind
from onefold.refresh.labels import CREATED_LABEL, LABEL, TABLE_LABEL
from onefold.schema.versions import Version, active_versions
from onefold.settings.environment import Settings
from onefold.views.clean_kind import CleanKind
from onefold.views.newest_load import kind_of
from onefold.views.table_views import Kind
from onefold.views.unified_kind import UnifiedKind

TableKind = Literal["captured", "pulled", "events", "direct", "plain", "united"]
State = Literal["up to date", "out of date", "missing", "not Onefold's", "not known"]
_OWN_TABLES = frozenset({LOG_TABLE, CHECK_TABLE, MANIFEST_TABLE, KEY_TABLE})
_OWN_PREFIXES = (TEMPORARY_PREFIX, LEAF_PREFIX)


@dataclass(frozen=True)
class ViewState:
    """A view of a table, and whether it is up to date.

    Attributes:
        kind: `unified`, `current` (of a pulled table its full view) or `clean`.
        id: its name.
        state: whether a refresh would write it.
        reason: why, where it is not up to date.
    """

    kind: Kind
    id: TableId
    state: State
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "view": str(self.id), "state": self.state, "reason": self.reason}


@dataclass(frozen=True)
class TableSummary:
    """One table: all of its versions together.

    Attributes:
        table: its base name, or the table itself where it has no versions.
        kind: how its rows come.
        versions: the versions that are not retired, by time of creation.
        retired: those that are.
        views: its views.
        rows: the rows of all versions; None where that is not known.
        size: their bytes; None where that is not known.
        landed_at: when rows came last.
        merged_at: when they were last merged into its base; None where there is none.
        check: its last check.
        problems: what a person has to look at.
    """

    table: TableId
    kind: TableKind
    versions: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    views: tuple[ViewState, ...] = ()
    rows: int | None = None
    size: int | None = None
    landed_at: datetime | None = None
    merged_at: datetime | None = None
    check: LastCheck | None = None
    problems: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        return {
            "table": str(self.table),
            "kind": self.kind,
            "versions": list(self.versions),
            "retired": list(self.retired),
            "views": [view.as_dict() for view in self.views],
            "rows": self.rows,
            "bytes": self.size,
            "landed_at": _iso(self.landed_at),
            "merged_at": _iso(self.merged_at),
            "checked_at": _iso(self.check.at) if self.check else None,
            "check": self.check.outcome if self.check else None,
            "problems": list(self.problems),
        }


def summaries(
    warehouse: Any,
    dataset: str,
    contents: Contents,
    settings: Settings,
    wanted: Callable[[str], bool] = lambda _: True,
    now: datetime | None = None,
) -> Iterator[TableSummary]:
    """Yield the tables of a dataset in the order of their names.

    Args:
        warehouse: where they are; no method of it is called.
        dataset: the dataset.
        contents: what was read of it.
        settings: those of the installation.
        wanted: returns whether a table is asked for, by its base name.
        now: the present time.
    """
    place = TableId(warehouse.project, dataset, "")
    labels = contents.labels
    settings = settings.with_listed(dataset, labels)
    names = settings.names_in(dataset)
    versions: dict[str, list[Version]] = {}
    plain: list[str] = []
    for name in sorted(labels):
        if split := names.split(name):
            version = Version(split[1], (), contents.tables[name].created, name)
            versions.setdefault(split[0], []).append(version)
        else:
            plain.append(name)
    left_out: dict[str, list[str]] = {}
    for left in names.skipped(tuple(labels)):
        left_out.setdefault(left.base, []).append(f"{left.table} is left out: {left.reason}")
    present = {*versions, *plain, *names.united}
    for name in filter(wanted, sorted({*versions, *names.united, *(one for one in plain if not _is_own(one, present))})):
        found = _Found(warehouse, place.sibling(name), contents, settings, versions.get(name, []), now or datetime.now(UTC))
        yield found.summary(tuple(left_out.get(name, ())))


def _is_own(name: str, present: Container[str]) -> bool:
    """Return whether a table without versions is one that Onefold keeps for itself."""
    if name in _OWN_TABLES or name.startswith(_OWN_PREFIXES):
        return True
    return any(name.endswith(suffix) and name.removesuffix(suffix) in present for suffix in ("_base", "_merges"))


@dataclass(frozen=True)
class _Found:
    """What was found of one table."""

    warehouse: Any
    base: TableId
    contents: Contents
    settings: Settings
    versions: list[Version]
    now: datetime

    def summary(self, skipped: tuple[str, ...]) -> TableSummary:
        rules = self.settings.rules_for(self.base)
        active = active_versions(self.versions, rules)
        retired = tuple(sorted(version.id for version in self.versions if version.id in rules.retired))
        views = tuple(self._views(active))
        check = self.contents.checks.get(self.base.table)
        bad = tuple(f"{view.kind} view: {view.reason}" for view in views if view.state != "up to date")
        failed = (f"the last check says: {check.outcome}",) if check and check.outcome in ("failed", "different") else ()
        used = tuple(version.id for version in active) or self._noted
        return replace(
            TableSummary(self.base, self._kind(), used, retired, views, check=check),
            **self._sizes(),
            problems=(*bad, *failed, *skipped),
        )

    @property
    def _is_united(self) -> bool:
        return self.settings.rules_for(self.base).of_united

    @property
    def _noted(self) -> tuple[str, ...]:
        """The datasets that the views of a united table note: its tables are in none of those that were read."""
        views = (self.settings.view_of(self.base), self.settings.current_view_of(self.base))
        stored = [one for view in views if self._is_united and (one := self.contents.views.get(view))]
        return tuple(sorted({note for one in stored for note in one.notes}))

    def _kind(self) -> TableKind:
        if self._is_united:
            return "united"
        if not self.versions:
            return "plain"
        if self.base.table in self.contents.loads or self.settings.pull_of(self.base):
            return "pulled"
        names = self.settings.names_in(self.base.dataset)
        labelled = any(LABEL_BASE in self.contents.tables[version.table].labels for version in self.versions)
        if labelled or names.pattern == LABELS:
            return "events"
        return "direct" if self.contents.with_metadata.isdisjoint(version.table for version in self.versions) else "captured"

    def _sizes(self) -> dict[str, Any]:
        sizes = self.contents.sizes
        if sizes is None:
            return {"landed_at": self.contents.loads.get(self.base.table)}
        tables = [version.table for version in self.versions] or [self.base.table]
        found = [sizes[name] for name in tables if name in sizes]
        place = self.settings.rules_for(self.base).base_place(self.base)
        log = sizes.get(log_of(place).table) if place == self.base else self.contents.own_sizes.get(log_of(place))
        written = [one.written_at for one in found if one.written_at]
        known = [one.size for one in found if one.size is not None]
        return {
            "rows": None if self._is_united else sum(one.rows for one in found),
            "size": sum(known) if known else None,
            "landed_at": self.contents.loads.get(self.base.table) or max(written, default=None),
            "merged_at": log.written_at if log and base_table(place) in self.contents.views else None,
        }

    def _views(self, active: Sequence[Version]) -> Iterator[ViewState]:
        warehouse = cast("BaseWarehouse", self.warehouse)
        unified = UnifiedKind(warehouse, self.base, self.settings)
        if self.versions or self._is_united:
            yield self._state("unified", unified, active)
        current, plain = kind_of(warehouse, self.base, self.settings, by_itself=True), self.settings.plain_table(self.base)
        kinds: list[tuple[Kind, ViewKind]] = [
            ("current", current),
            ("clean", CleanKind(warehouse, self.base, self.settings)),
        ]
        if plain and plain.mode == "tool":
            kinds.insert(0, ("unified", unified))
        for name, kind in kinds:  # a table need not have these
            if kind.id in self.contents.views:
                yield self._state(name, kind, active)

    def _state(self, name: Kind, kind: ViewKind, active: Sequence[Version]) -> ViewState:
        stored = self.contents.views.get(kind.id)
        if stored is None and kind.id.dataset not in self.contents.read:
            return ViewState(name, kind.id, "not known", f"dataset {kind.id.dataset} was not read")
        if stored is None:
            return ViewState(name, kind.id, "missing", "it does not exist: run `onefold refresh`")
        if not stored.is_view or stored.labels.get(TABLE_LABEL) != kind.owner:
            return ViewState(name, kind.id, "not Onefold's", f"{kind.id} was not written by Onefold for this table")
        reason = self._outdated(stored, kind, active)
        return ViewState(name, kind.id, "out of date" if reason else "up to date", reason)

    def _outdated(self, stored: ListedTable, kind: ViewKind, active: Sequence[Version]) -> str:
        """Return why a view has to be written again; an empty text where nothing tells so."""
        if stored.labels.get(LABEL) != kind.fingerprint:
            return "it was written with other settings, or by another release"
        if not self.versions:
            return ""
        names = self.settings.names_in(self.base.dataset)
        covered = {names.version_of(self.base.table, table) for table in stored.reads} - {None} | stored.notes
        wanted = {version.id for version in active}
        if new := sorted(wanted - covered):
            return f"it lacks the version {shown_list(new)}"
        if gone := sorted(str(one) for one in covered - wanted):
            return f"it reads the version {shown_list(gone)}, which is gone or retired"
        label = creations_label(active, self.now)
        is_same = label is None or still_holds(stored.labels.get(CREATED_LABEL, ""), label)
        return "" if is_same else "a version was created anew"


def _iso(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat(timespec="seconds") if time else None
