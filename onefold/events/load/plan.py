"""Decides what a table needs before rows of a run are loaded: nothing, to be created, or more columns. Nothing is written.

The manifest table lists the columns that a table had when rows were loaded, and those that it may have because a loader was
about to change it. A table with other columns than these was altered by somebody else, and is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from onefold.core.errors import InvalidName, SchemaConflict
from onefold.core.text import shortened, shown_list
from onefold.events.registry.schema_key import ModelKey, SchemaKey
from onefold.ports.event_tables import MANIFEST_TABLE, Columns, EventTable, FoundTable, KnownColumns
from onefold.schema.table_columns import Grown, after, contains, differences, gaps, union

Action = Literal["create", "change", "none"]


class TableAltered(SchemaConflict):
    """A table of events with columns that no run has given it, or without columns that one has; lists all differences."""


@dataclass(frozen=True)
class Wanted:
    """What a run needs of a table.

    Attributes:
        table: the table with the columns of the run's files, and those that it had when it was adopted.
        registry_read_at: when the run began.
        files: the columns of the files, where `table` has more.
        adopted: the columns that the table had when it was adopted.
        models: those whose data a row of the run has.
    """

    table: EventTable
    registry_read_at: datetime
    files: Columns = ()
    adopted: Columns = ()
    models: frozenset[ModelKey] = frozenset()

    @property
    def of_files(self) -> Columns:
        """The columns of the run's files."""
        return self.files or self.table.columns


@dataclass(frozen=True)
class Facts:
    """What is known of a table. The order of the looks matters, because other loaders may be at work.

    Attributes:
        before: the columns that the manifest table listed before the look at the table.
        found: the table; None where there is none.
        after: the columns that the manifest table listed after the look at the table. A loader lists columns before it adds
            them, so each column that was found is there.
    """

    before: Sequence[KnownColumns]
    found: FoundTable | None
    after: Sequence[KnownColumns]


@dataclass(frozen=True)
class EventTablePlan:
    """What a table needs.

    Attributes:
        action: what has to be done.
        table: the table as it is to be.
        found: the table as it is; None where there is none.
        is_listed: whether the manifest table lists the columns that the table is to have.
        is_news: whether no rows were loaded yet with these columns, so that readers have to hear of them.
    """

    action: Action
    table: EventTable
    found: FoundTable | None
    is_listed: bool
    is_news: bool

    @property
    def is_announced(self) -> bool:
        """Whether readers have to hear of the table: it is new, also where a table of this name was dropped, or changes."""
        return self.is_news or self.action != "none"

    @property
    def had_other_base(self) -> bool:
        """Whether the labels of the table name another base so far, whose view reads it."""
        before = self.found.labels if self.found else None
        return bool(before and all(before)) and before != self.table.labels

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that the table lacks, and of those whose type has to grow; none where it is created."""
        if self.found is None:
            return ()
        has = dict(self.found.columns)
        return tuple(name for name, type_ in self.table.columns if has.get(name) != type_)

    @property
    def described(self) -> tuple[str, ...]:
        """The names of the columns that the table has without a description, and that get one."""
        if self.found is None or self.found.descriptions is None:
            return ()
        has, texts = dict(self.found.columns), dict(self.found.descriptions)
        return tuple(name for name, _ in self.table.descriptions if name in has and name not in texts)


def plan_table(wanted: Wanted, facts: Facts, grown: Grown) -> EventTablePlan:
    """Return what a table needs for the rows of a run: the columns of the run, and no more.

    Args:
        wanted: the table as the run has it.
        facts: what is known of the table.
        grown: the rule for types.

    Raises:
        TableAltered: the table has other columns than loaders gave it.
        SchemaConflict: the run has columns that are no state of the table; the table has rows of another schema; or the
            name of a recovery table is that of another one.
    """
    _check_schema(wanted.table, facts)
    listed = _known(wanted.table, facts.after, grown)
    _union(wanted.table, [listed], grown)
    if facts.found and not listed:
        _check_recovery(wanted.table, facts.found)
    if facts.found is None:
        columns = _union(wanted.table, [one.columns for one in facts.after if one.is_loaded], grown)
    else:
        if listed:  # a table that no run is listed for was there before: its columns stay
            _check_unaltered(wanted.table, facts.found, facts.before, listed, grown)
        columns = _brought(wanted.table, facts.found.columns, grown)
    table = replace(wanted.table, columns=columns, uri=_uri(wanted, columns, facts.after, grown))
    loaded = [one.columns for one in facts.after if one.is_loaded]
    # Also its schema: a loader of an older run with the same columns would set the description of the table back.
    is_listed = bool(listed) and contains(listed, columns, grown) and wanted.table.uri in {one.uri for one in facts.after}
    return EventTablePlan(action_for(table, facts.found), table, facts.found, is_listed, columns not in loaded)


def check_exists(table: EventTable, found: FoundTable | None) -> None:
    """Check that a table that was adopted is there.

    Raises:
        SchemaConflict: it is not.
    """
    if found is None and table.is_adopted:
        raise SchemaConflict(f"{table.name} was adopted, and does not exist: restore it, or load where it is")


def action_for(table: EventTable, found: FoundTable | None) -> Action:
    """Return what brings a table that was found to what it is to be."""
    if found is None:
        return "create"
    # The events have no schema and no labels: what people write there stays, and is no reason for a change.
    is_described = table.uri in ("", found.uri)
    is_labelled = found.labels is None or not table.version or found.labels == table.labels
    return "none" if found.columns == table.columns and is_described and is_labelled else "change"


def _check_schema(table: EventTable, facts: Facts) -> None:
    """Check that a table has no rows of another schema, which wants the same name.

    Raises:
        SchemaConflict: it has, by its description or by the rows of the manifest table.
    """
    uris = [facts.found.uri if facts.found else "", *(one.uri for one in facts.after if one.is_loaded)]
    models = {_model(uri): uri for uri in uris}
    if others := [uri for model, uri in models.items() if model and model != _model(table.uri)]:
        raise SchemaConflict(
            f"{table.name} has rows of {shown_list(others)}, and the run has those of {table.uri}: which of the two schemas "
            "has the table follows from `_registries/orders.json` of the shredder's output, which was removed or is that of "
            "another output; bring it back and shred the inputs of the run again, or rename the table and delete its rows "
            f"from {MANIFEST_TABLE}"
        )


def _model(uri: str) -> ModelKey | None:
    """Return the model of a schema; None for another description, which a person has written."""
    try:
        return SchemaKey.parse(uri).model_key
    except InvalidName:
        return None


def _check_recovery(table: EventTable, found: FoundTable) -> None:
    """Check a table that was there before any run, and has the name of a recovery table: its description names the version.

    Raises:
        SchemaConflict: it is another table.
    """
    if table.is_recovery and found.uri != table.uri:
        described = f"its description is {shortened(found.uri)}" if found.uri else "it has no description"
        raise SchemaConflict(
            f"{table.name} exists, and is not the recovery table of {table.uri}: {described}; rename it, and the loader "
            "makes its own, or describe it by that URI, if it holds data of that version alone"
        )


def _known(table: EventTable, listed: Sequence[KnownColumns], grown: Grown) -> Columns:
    known = union([one.columns for one in listed], grown)
    if known is None:
        raise SchemaConflict(
            f"{table.name}: runs list columns that are no states of one table: they are from different registries, or a "
            f"schema was replaced in place; delete the rows of the table from {MANIFEST_TABLE} that are wrong, or load the "
            "other registry into another place"
        )
    return known


def _union(table: EventTable, others: Sequence[Columns], grown: Grown) -> Columns:
    columns = union([*others, table.columns], grown)
    if columns is None:
        known = union(others, grown) or ()
        problems = [*filter(lambda gap: gap.is_refused, gaps(known, table.columns, grown))] or differences(
            known, table.columns, (), grown
        )
        named = [f"{table.name}: the run has columns that the table cannot hold: {problem}" for problem in problems]
        raise SchemaConflict([*named, *_other_order(table)])
    return columns


def _other_order(table: EventTable) -> list[str]:
    """Return what makes columns of a model differ from those of earlier runs, and what to do; nothing for the events."""
    if not table.uri:
        return []
    return [
        f"{table.name}: the run had the versions of {table.uri} in another order than earlier runs, or others: they are "
        "from different registries, or `_registries` of the shredder's output, which keeps the order, was removed or is "
        "that of another output; remove `_registries/orders.json`, make a registry that has the order of the table by "
        "`onefold schema import`, and shred the inputs of the run again"
    ]


def _brought(table: EventTable, found: Columns, grown: Grown) -> Columns:
    """Return the columns of a table that was found, brought to those of a run by changes that the warehouse can make.

    Args:
        table: the table with the columns of the run.
        found: the columns that it has.
        grown: the rule for types.

    Raises:
        SchemaConflict: the warehouse cannot make them.
    """
    different = gaps(found, table.columns, grown)
    if refused := [gap for gap in different if gap.is_refused]:
        remedy = "`onefold schema adopt` maps columns by their names, and lists what to do"
        problems = [f"{table.name}: the run has columns that the table cannot hold: {gap}" for gap in refused]
        raise SchemaConflict([*problems, f"{table.name}: {remedy}"])
    return after(found, different)


def _check_unaltered(
    table: EventTable, found: FoundTable, before: Sequence[KnownColumns], known: Columns, grown: Grown
) -> None:
    sure = union([one.columns for one in before if one.is_loaded], grown) or ()
    if problems := differences(known, found.columns, sure, grown):
        remedy = "nobody but the loader may alter the table: bring its columns back, or rename it to have it created anew"
        raise TableAltered([f"{table.name}: {problem}" for problem in (*problems, remedy)])


def _uri(wanted: Wanted, columns: Columns, listed: Sequence[KnownColumns], grown: Grown) -> str:
    """Return the schema that the table is at: that of the last run all of whose columns the table has."""
    had = [(one.registry_read_at, one.uri) for one in listed if contains(columns, one.columns, grown)]
    return max([*had, (wanted.registry_read_at, wanted.table.uri)])[1]
