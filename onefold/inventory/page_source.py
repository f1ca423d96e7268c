"""What the page of a dataset shows, read from a warehouse: metadata and logs, and no row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from onefold.changes.entry import Entry
from onefold.changes.page.cells import Picture
from onefold.changes.page.dataset import (
    HIDDEN_TEXT,
    DatasetPage,
    PageCheck,
    PageReader,
    PageTable,
    PageVersion,
    PageView,
)
from onefold.changes.page.from_ledger import page_changes
from onefold.changes.page.held import HeldChange
from onefold.changes.page.hidden import hidden_columns
from onefold.changes.read import read_entries
from onefold.changes.reader_counts import NOBODY, KnownReaders
from onefold.changes.reader_table import read_readers
from onefold.changes.rows import unknown_warnings
from onefold.changes.versions import version_entries
from onefold.core.errors import AccessDenied, NotFound, OnefoldError, Rejected
from onefold.core.names import TableId, fold_case
from onefold.inventory.capture_lag import NO_LAG, CaptureLag
from onefold.inventory.contents import Contents, read_contents
from onefold.inventory.history import ordered
from onefold.inventory.summary import TableSummary, summaries
from onefold.landing.table import column_name
from onefold.merge.change_tables import read_change_versions
from onefold.ports.listing import StoredSize
from onefold.refresh.built_view import BuiltView
from onefold.refresh.held_note import read_held_note
from onefold.schema.column_policy import TablePolicies
from onefold.schema.columns import Column, Schema
from onefold.schema.diff import compare
from onefold.schema.versions import Version, active_versions, table_of
from onefold.settings.environment import Settings
from onefold.views.hidden_entries import has_rules
from onefold.views.table_policies import table_policies
from onefold.views.unified_kind import UnifiedKind


@dataclass(frozen=True)
class KeptElsewhere:
    """What is known of tables in addition to their metadata; empty where it is not kept.

    Attributes:
        entries: the entries of the ledger by base name. A version without one is compared with the version before it.
        readers: who reads the columns of the views.
        lag: how far the captures into the dataset are behind their sources.
        warnings: what could not be read.
    """

    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    readers: KnownReaders = NOBODY
    lag: CaptureLag = NO_LAG
    warnings: tuple[str, ...] = ()


NOTHING_ELSE = KeptElsewhere()


def read_kept(warehouse: Any, dataset: str, settings: Settings, lag: CaptureLag = NO_LAG) -> KeptElsewhere:
    """Return what the ledger and the newest run of readers tell of a dataset's tables; what cannot be read is a warning.

    Args:
        warehouse: where the ledger is.
        dataset: the dataset of the tables.
        settings: those of the installation.
        lag: how far the captures into the dataset are behind their sources.
    """
    if not settings.changes_dataset:
        return KeptElsewhere(lag=lag, warnings=lag.warnings)
    entries: dict[str, list[Entry]] = {}
    warnings = lag.warnings
    try:
        found = read_entries(warehouse, settings.changes_dataset, settings.contracts.verdicts, of_dataset=dataset)
        for entry in found:
            entries.setdefault(entry.table, []).append(entry)
        warnings = (*unknown_warnings(found), *warnings)
        return KeptElsewhere(entries, read_readers(warehouse, settings.changes_dataset), lag, warnings)
    except (AccessDenied, NotFound, Rejected) as error:
        lacks = f"the page lacks what the ledger and readers tell: {error}"
        return KeptElsewhere(entries, lag=lag, warnings=(lacks, *warnings))


def read_page(
    warehouse: Any, dataset: str, settings: Settings, kept: KeptElsewhere = NOTHING_ELSE, now: datetime | None = None
) -> DatasetPage:
    """Read what the page of a dataset shows: the queries of `read_contents`, and a few calls for each table.

    A table that cannot be read has an entry that says why.

    Args:
        warehouse: a `ListingWarehouse` and a `BaseWarehouse`.
        dataset: the dataset.
        settings: those of the installation.
        kept: what is known in addition to metadata.
        now: the present time.

    Raises:
        NotFound: the dataset does not exist.
    """
    time = now or datetime.now(UTC)
    contents = read_contents(warehouse, dataset, settings)
    settings = settings.with_plain(dataset, contents.plain)
    known = list(summaries(warehouse, dataset, contents, settings, now=time))
    source = _Source(warehouse, settings.with_listed(dataset, contents.labels), contents, kept)
    warnings = (*contents.warnings, *kept.warnings)
    return DatasetPage(warehouse.project, dataset, time, tuple(map(source.table, known)), warnings)


@dataclass(frozen=True)
class _Source:
    warehouse: Any
    settings: Settings
    contents: Contents
    kept: KeptElsewhere

    def table(self, summary: TableSummary) -> PageTable:
        """Return a table; where it cannot be read, its entry says why."""
        try:
            return self._read(summary)
        except OnefoldError as error:
            return _entry(summary, (), problems=(*summary.problems, f"it cannot be read: {error}"))

    def _read(self, summary: TableSummary) -> PageTable:
        base, rules = summary.table, self.settings.rules_for(summary.table)
        found = ordered(read_change_versions(self.warehouse, base, rules.names))
        if not found:
            raise NotFound(f"there is no table {base}")
        view, problems = self._view(base, found)
        columns = view.columns if view else None if problems else ()
        hidden = hidden_columns(columns or (), found, self._policies(summary, found), column_name)
        picture = Picture(found, found[-1].columns if not summary.versions else columns, rules, hidden, _held(view))
        texts = (*summary.problems, *problems)
        return _entry(
            summary,
            self._versions(base, found),
            columns=picture.columns(),
            problems=tuple(hidden.without_hidden(text, f"a problem is not shown {HIDDEN_TEXT}") for text in texts),
            changes=page_changes(self._entries(base, found), hidden),
            readers=tuple(self._readers(base)),
            lag_seconds=self.kept.lag.seconds if summary.kind == "captured" else None,
        )

    def _readers(self, base: TableId) -> Iterator[PageReader]:
        """Yield who reads the views of a table."""
        views = (self.settings.view_of(base), self.settings.current_view_of(base), self.settings.clean_view_of(base))
        for view in views:
            for one in self.kept.readers.readers_of(view.dataset or "", view.table):
                name = f"{one.readers} of {view.dataset}.{view.table}"
                yield PageReader(one.column, one.kind, name, one.jobs or one.readers, one.certain == one.readers)

    def _view(self, base: TableId, found: Sequence[Version]) -> tuple[BuiltView | None, tuple[str, ...]]:
        """Return the unified view as a refresh would write it, or why it cannot be built; neither without a version."""
        active = active_versions(found, self.settings.rules_for(base))
        if not active:
            return None, ()
        kind = UnifiedKind(self.warehouse, base, self.settings)
        try:
            return kind.build(found, active, self.warehouse.get_view(kind.id)), ()
        except OnefoldError as error:
            return None, (f"the unified view cannot be built: {error}",)

    def _policies(self, summary: TableSummary, found: Sequence[Version]) -> TablePolicies | None:
        """Return the policies of a table; None where it has no clean view and no policy names it.

        Where the dataset of clean views may not be read, nobody knows that there is none.
        """
        policies = table_policies(self.settings, summary.table, found)
        is_unknown = self.settings.clean_view_of(summary.table).dataset not in self.contents.read
        has_clean = is_unknown or any(view.kind == "clean" for view in summary.views)
        return policies if has_clean or has_rules(policies) else None

    def _entries(self, base: TableId, found: Sequence[Version]) -> list[Entry]:
        """Return the entries of the ledger, and those of versions that it lacks, as it would have them without a view."""
        kept = list(self.kept.entries.get(base.table, ()))
        created = {version.id: version.created for version in found}
        missing = {version.id for version in found[1:]} - {entry.version_after for entry in kept}
        derived = version_entries(base, found, missing, (), datetime.min.replace(tzinfo=UTC))
        return [*kept, *(replace(one, recorded_at=created[one.version_after] or one.recorded_at) for one in derived)]

    def _versions(self, base: TableId, found: Sequence[Version]) -> tuple[PageVersion, ...]:
        rules, sizes = self.settings.rules_for(base), self.contents.sizes or {}
        versions = []
        for version in found:
            table = table_of(base, version, rules.names)
            size = sizes.get(table.table) if table.dataset == base.dataset else None
            rows, bytes_ = (size.rows, size.size) if isinstance(size, StoredSize) else (None, None)
            retired = version.id in rules.retired
            versions.append(PageVersion(version.id, str(table), version.created, rows, bytes_, retired))
        return tuple(versions)


def _held(view: BuiltView | None) -> tuple[HeldChange, ...]:
    """Return what the contract of a table keeps out of its view: columns, fields, and types."""
    if view is None:
        return ()
    note, shown = read_held_note(view.query), Schema(view.columns)
    full = [Column(name, type_) for name, type_ in note.types.items()]
    fields = compare(full, [column for name in note.types if (column := shown.get(name))])
    paths = [*note.hidden, *(one.path for one in fields if one.kind == "removed")]
    waiting = {fold_case(one.path) for one in view.waiting}
    for_good = [HeldChange(path, is_waiting=False) for path in paths if fold_case(path) not in waiting]
    return (*for_good, *(HeldChange(one.path, True, one.change, one.version) for one in view.waiting))


def _entry(summary: TableSummary, versions: tuple[PageVersion, ...], **more: Any) -> PageTable:
    check = summary.check
    return PageTable(
        **{
            "name": summary.table.table,
            "kind": summary.kind,
            "versions": versions,
            "columns": (),
            "views": tuple(PageView(view.kind, str(view.id), view.state, view.reason) for view in summary.views),
            "check": PageCheck(check.at, check.outcome, check.repaired) if check else None,
            "landed_at": summary.landed_at,
            "merged_at": summary.merged_at,
            "rows": summary.rows,
            **more,
        }
    )
