"""Change tables of a merge: which there are, which of them are in use, and from when on each is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from onefold.changelog.metadata import LANDED_AT, METADATA, has_metadata, is_pulled, metadata_of, metadata_problems
from onefold.changelog.plain_tables import is_current_already
from onefold.core.errors import NothingToMerge, SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.core.versioned_names import VersionedNames
from onefold.merge.merge_state import MergeState
from onefold.merge.reading import Reading, Way, read_arrival, read_readings
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar
from onefold.schema.versions import Version, active_versions, table_of
from onefold.settings.unknown_keys import near_name

_TIMESTAMP = Scalar("TIMESTAMP")


@dataclass(frozen=True)
class ChangeTable:
    """A change table in one version, and the times of landing between which it is read; None for no bound.

    Attributes:
        id: its name.
        version: its version; that of a plain change table has no name.
        since: the first time that is read.
        until: the first time that is not read any more.
        reading: of a plain change table, what tells which of its rows are new; None where all of them are read.
        way: of a plain change table, how it is read from `since` on.
        added: the column with the dataset, which rows of a united table have and those of this table do not; None for none.
    """

    id: TableId
    version: Version
    since: datetime | None = None
    until: datetime | None = None
    reading: Reading | None = None
    way: Way | None = None
    added: str | None = None

    def windowed(self, state: MergeState, overlap: timedelta) -> ChangeTable:
        """Return the table, to be read from where the last merge of this version started, less the overlap.

        A version is read from its beginning where it was never merged, where its table was made after the last merge (a
        restored table has rows that landed before), and where the table does not tell when rows landed.

        Args:
            state: what the log says.
            overlap: how much of the last window is read again, for rows that became visible late.
        """
        tells = self.reading or tells_landing(self.version.columns)
        start = state.start_of(self.version.id) if tells else None
        if start and self.version.created and self.version.created > start:
            start = None
        if self.reading:
            way, since = self.reading.since(start, overlap)
            return replace(self, since=since, until=None, way=way)
        return replace(self, since=start - overlap if start else None, until=None, way=None)


def tells_landing(columns: Sequence[Column]) -> bool:
    """Return whether rows tell when they landed, by which a merge reads only what is new.

    Pulled rows do not: they have the time of their read, by the clock of the source, and a load job may make them visible
    hours later.

    Examples:
        >>> tells_landing([Column("_LANDED_AT", Scalar("TIMESTAMP"))])
        True
        >>> tells_landing([Column("_landed_at", Scalar("STRING"))])
        False
    """
    landed_at = Schema(columns).get(LANDED_AT)
    return landed_at is not None and landed_at.type == _TIMESTAMP and not is_pulled(columns)


def tells_arrival(source: ChangeTable) -> bool:
    """Return whether the rows of a change table tell when they came: by `_landed_at`, or, of a plain one, otherwise."""
    return source.reading.tells_arrival if source.reading else tells_landing(source.version.columns)


def find_changes(warehouse: BaseWarehouse, table: TableId, rules: TableRules) -> list[ChangeTable]:
    """Return the change table of that name; where there is none, all versions of it, retired ones too.

    A table of that name that holds no changes, such as the base of another table, is passed over where there are versions.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        rules: the settings of the table, with the form of the names of versions.

    Raises:
        NothingToMerge: there is neither.
    """
    versions = read_change_versions(warehouse, table, rules.names)
    if not versions:
        near = near_name(table.table, warehouse.list_bases(table.dataset or "", rules.names))
        advice = near or f", {rules.names.described_versions(table.table)}"
        raise NothingToMerge(f"there is neither a change table {table} nor a version of it{advice}: correct the name")
    return change_tables(table, versions, rules)


def read_change_versions(warehouse: BaseWarehouse, table: TableId, names: VersionedNames) -> tuple[Version, ...]:
    """Return the versions of a table, as `find_changes` looks for them; the version of a table of that name has no name.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        names: the form of the names of versions.
    """
    stored = warehouse.read_table(table)
    single = (Version("", stored.columns, stored.created),) if stored else ()
    if single and metadata_of(Schema(single[0].columns)).fields:
        return single
    # Without versions, a table that holds no changes is returned, too, for the error that says what it lacks.
    return tuple(warehouse.read_versions(table, names)) or single


def change_tables(table: TableId, versions: Iterable[Version], rules: TableRules) -> list[ChangeTable]:
    """Return the change tables of these versions, each to be read from its beginning.

    Args:
        table: the base name of the versions.
        versions: in any order; the one without a name is the table itself.
        rules: the settings of the table, with the form of the names of versions.
    """
    added = rules.version_column if rules.of_united else None
    return [ChangeTable(table_of(table, version, rules.names), version, added=added) for version in versions]


def changes_in_use(table: TableId, found: Sequence[ChangeTable], rules: TableRules) -> list[ChangeTable]:
    """Return the change tables whose versions are not retired, in the order of the versions.

    Args:
        table: the table, for the error.
        found: all change tables.
        rules: the settings of the table.

    Raises:
        NothingToMerge: all versions are retired.
    """
    by_id = {source.version.id: source for source in found}
    sources = [by_id[version.id] for version in active_versions((source.version for source in found), rules)]
    if not sources:
        raise NothingToMerge(f"all versions of {table} are retired in onefold.yaml: there is nothing to merge")
    return sources


def with_readings(
    warehouse: BaseWarehouse, found: Iterable[ChangeTable], state: MergeState, rules: TableRules, now: datetime
) -> list[ChangeTable]:
    """Return plain change tables with what tells which of their rows are new.

    Args:
        warehouse: where the tables are.
        found: the change tables.
        state: what the log says.
        rules: the settings of the table.
        now: the warehouse's time.
    """
    # The log notes one way for all tables of a united one, so no time at which each was read whole: all are, each time.
    whole_at = None if rules.of_united else state.whole_at
    found = tuple(found)
    starts = {one.id: state.start_of(one.version.id) for one in found}
    readings = read_readings(warehouse, starts, rules.landed_column, now, whole_at)
    return [replace(one, reading=readings[one.id]) for one in found]


def with_arrivals(
    warehouse: BaseWarehouse, found: Iterable[ChangeTable], rules: TableRules, now: datetime
) -> list[ChangeTable]:
    """Return plain change tables with what their rows tell of the time when they came, for a view, which asks nothing else.

    What was appended can be asked for only as long as the time travel window goes back, and a view has to be right later.

    Args:
        warehouse: as for `with_readings`.
        found: as for `with_readings`.
        rules: as for `with_readings`.
        now: as for `with_readings`.
    """
    return [replace(one, reading=read_arrival(warehouse, one.id, rules.landed_column, now)) for one in found]


def is_single(found: Sequence[Version]) -> bool:
    """Return whether a change table without versions was found, whose version has no name."""
    return len(found) == 1 and not found[0].id


def are_direct(versions: Iterable[Version], rules: TableRules) -> bool:
    """Return whether services write the rows themselves: no version that is in use has change metadata.

    Args:
        versions: all versions.
        rules: the settings of the table, which retire versions.

    Examples:
        >>> from onefold.schema.types import STRING
        >>> are_direct([Version("20260503", (Column("id", STRING),))], TableRules())
        True
    """
    used = [version for version in versions if version.id not in rules.retired]
    return bool(used) and not any(has_metadata(version.columns) for version in used)


def check_has_changes(table: TableId, found: Iterable[ChangeTable], rules: TableRules) -> None:
    """Check that the rows of a table are changes, which can be merged.

    Args:
        table: the table, for the error.
        found: all of its tables.
        rules: the settings of the table.

    Raises:
        NothingToMerge: services write the rows without change metadata, or Datastream keeps one row for each key. Neither is
            an error in a merge of many tables.
    """
    found = list(found)
    current = [one.version.columns for one in found if is_current_already(one.version.columns)]
    if any(metadata_of(columns).get("is_deleted") for columns in current):
        raise NothingToMerge(
            f"{table} has no key at the source, so Datastream's merge mode appends all of its changes, and they cannot be "
            "merged: give it a key at the source, or have the stream write in append-only mode"
        )
    if current:
        raise NothingToMerge(
            f"{table} is current already, with one row for each key: there is nothing to merge. Datastream keeps it so; "
            "`onefold current` writes a view without the metadata"
        )
    if are_direct((one.version for one in found), rules):
        raise NothingToMerge(
            f"{table} has nothing to merge: no version in use has {METADATA}, by which a row is a change. Its current view "
            "shows the latest rows"
        )


def check_changes(changes: Iterable[ChangeTable], keys: Sequence[str]) -> None:
    """Check that rows of these tables can be merged by these keys.

    Raises:
        SchemaConflict: everything that keeps them from being merged.
    """
    problems: list[str] = []
    for source in changes:
        problems += metadata_problems(str(source.id), source.version.columns)
        problems += key_is_missing(source, keys)
    if problems:
        raise SchemaConflict(problems)


def key_is_missing(source: ChangeTable, keys: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each column of the key that a version lacks: all of its rows would be rows of the key NULL."""
    added = fold_case(source.added or "")
    for key in keys:
        if fold_case(key) != added and not source.version.schema.has(key):
            advice = "`retire` the version in onefold.yaml, or name other keys" if source.version.id else "name other keys"
            yield f"{source.id} has no column {key} for the key; {advice}"
