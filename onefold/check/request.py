"""What a check is asked for, and the table that it is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from onefold.batches.source_arguments import CheckArguments
from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME
from onefold.check.typed_rows import comparable_columns
from onefold.core.names import TableId, fold_case, quote, quote_text
from onefold.landing.key_values import key_text
from onefold.landing.row_writer import Landing
from onefold.landing.table import VersionedTable
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure
from onefold.pull.read.plan import KeyRange, LoadState, PullRequest, TablePlan
from onefold.pull.read.ranges import whole_range
from onefold.pull.read.watermark import PullRange, Watermark
from onefold.refresh.held_note import HeldNote
from onefold.schema.casts import convert
from onefold.schema.column_policy import Action, TablePolicies
from onefold.schema.columns import Column, Schema
from onefold.schema.fit import fit
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.treatment import treat
from onefold.schema.types import Type
from onefold.settings.sources import TableLoad


@dataclass(frozen=True)
class CheckRequest(CheckArguments):
    """The arguments of a check, and the time of the request, which is in the names of files."""

    at: datetime = field(kw_only=True)


@dataclass(frozen=True)
class ComparedColumn:
    """A column that both sides have.

    Attributes:
        landed: as rows of the source land.
        shown: as the view has it, with the type of all versions.
        rules: the rules by which the view converts values.
        full: the type that it would have in the view if no contract kept its type; None where none does.
    """

    landed: Column
    shown: Column
    rules: TableRules
    full: Type | None = None

    def converted(self, x: str) -> str:
        """Return SQL that converts a landed value as the view does, from an expression of the value.

        A type that a contract keeps has NULL for a value that does not fit: nothing is rounded.
        """
        landed, shown, zone = landed_type(self.landed, self.rules), self.shown.type, self.rules.time_zone
        if self.full is None:
            return convert(x, landed, shown, zone)
        return fit(x, landed, shown, zone)

    def key_text(self, row: str, *, landed: bool) -> str:
        """Return SQL for the value as text, the same for both sides.

        Args:
            row: the alias of the row.
            landed: whether the row is one of the source; else it is one of the view.
        """
        own = self.landed if landed else self.shown
        type_ = landed_type(self.landed, self.rules) if landed else self.shown.type
        return key_text(f"{row}.{quote(own.name)}", type_, self.shown.type)


@dataclass(frozen=True)
class CheckedTable:
    """A table as it is at the source now, and its view.

    Attributes:
        request: what was asked for.
        base: the base name, with project and dataset.
        structure: the source's, without columns that a pull drops.
        target: the versioned table for what lands of the structure.
        load: how it is pulled.
        keys: the columns of the key in BigQuery.
        watermark: None for captured tables, and for those that are loaded full.
        view: shows the present rows.
        shown: the columns of the view.
        state: what the log of loads says.
        now: the source's time, in microseconds since 1970.
        border: the watermark from which rows are left out; None where all are compared.
        rules: the rules of the table.
        landing: how rows of a captured table land; None where they land as they are.
        policies: those of the table.
        plain: what is known of a plain change table; None for one that Onefold writes.
        held: what the contract of the table holds back in the view.
    """

    request: CheckRequest
    base: TableId
    structure: Structure
    target: VersionedTable
    load: TableLoad
    keys: tuple[str, ...]
    watermark: Watermark | None
    view: TableId
    shown: Schema
    state: LoadState
    now: int
    border: int | None
    rules: TableRules = field(default_factory=TableRules)
    landing: Landing | None = None
    policies: TablePolicies = field(default_factory=TablePolicies)
    plain: PlainTable | None = None
    held: HeldNote = field(default_factory=HeldNote)

    @property
    def name(self) -> TableName:
        """The table at the source."""
        return TableName(self.request.database, self.structure.table)

    @property
    def tenant(self) -> str:
        """SQL for the view's rows of this source and database; the row has the alias v. A plain table has no others."""
        if self.plain:
            return "TRUE"
        pairs = ((SOURCE_NAME, self.request.tenant_name), (DATABASE_NAME, self.request.database))
        return " AND ".join(f"v.{quote(column)} = {quote_text(value)}" for column, value in pairs)

    @property
    def landed_structure(self) -> Structure:
        """The structure without columns that rules drop, and with the type of the hash for columns that rules hash."""
        return self.landing.structure if self.landing else self.structure

    @property
    def converts(self) -> bool:
        """Whether rules drop, mask or hash columns before rows land."""
        return self.landing is not None and self.landing.columns is not None

    @property
    def replaced(self) -> frozenset[str]:
        """The columns in BigQuery that land masked or hashed."""
        converts = self.landing.columns if self.landing else None
        pairs = zip(self.target.source_names, converts or (), strict=False)
        return frozenset(fold_case(name) for name, (_, convert) in pairs if convert)

    @cached_property
    def clear(self) -> frozenset[str]:
        """The columns in the view whose values may be shown."""
        shown = (one.shown for one in self.columns)
        clear = {fold_case(one.name) for one in shown if treat(one, [one.type], self.policies).action is Action.CLEAR}
        return frozenset(clear) - self.replaced

    def is_clear(self, source: str) -> bool:
        """Return whether the values of a column may be shown, by its name at the source."""
        column = self.column(source)
        return column is not None and fold_case(column.shown.name) in self.clear

    @cached_property
    def columns(self) -> tuple[ComparedColumn, ...]:
        """The columns of the source that the view has, too; of a plain table those whose types can be compared."""
        shown = Schema(comparable_columns(self._landed, self.shown)[0]).minus(self.held.types) if self.plain else self.shown
        pairs = ((column, shown.get(column.name)) for column in self._landed)
        full = self.held.types
        return tuple(ComparedColumn(column, one, self.rules, full.get(one.name)) for column, one in pairs if one)

    @property
    def _landed(self) -> Schema:
        return Schema(self.target.columns).only(self.target.source_names)

    @property
    def columns_missing(self) -> tuple[str, ...]:
        """The columns of the source that the view does not have, though no contract hides them."""
        hidden = {*self.columns_hidden}
        return tuple(name for name in self.target.source_names if not self.shown.has(name) and name not in hidden)

    @property
    def columns_hidden(self) -> tuple[str, ...]:
        """The columns of the source that the contract of the table hides."""
        hidden = {fold_case(name) for name in self.held.hidden}
        return tuple(name for name in self.target.source_names if fold_case(name) in hidden)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns of the source that are not compared with those of a plain table, each with the reason."""
        if not self.plain:
            return ()
        kept = [f"{name} (a contract keeps its type)" for name in self.held.types if self._landed.has(name)]
        return (*comparable_columns(self._landed, self.shown)[1], *kept)

    def column(self, source: str) -> ComparedColumn | None:
        """Return a column by its name at the source; None where the view does not have it."""
        names = zip(self.landed_structure.columns, self.target.source_names, strict=True)
        landed = next((name for column, name in names if column.name == source), None)
        return self.landed(landed) if landed else None

    def landed(self, name: str) -> ComparedColumn | None:
        """Return a column by its name in BigQuery; None where the view does not have it."""
        return next((one for one in self.columns if fold_case(one.landed.name) == fold_case(name)), None)

    @cached_property
    def key_columns(self) -> tuple[ComparedColumn, ...]:
        """The columns of the key, all of which the view has."""
        return tuple(found for name in self.keys if (found := self.landed(name)))

    def plan(self, part: KeyRange, low: int | None = None) -> TablePlan:
        """Return the plan that reads rows into files of a check.

        Args:
            part: the range of the key.
            low: the lowest watermark; None for all rows. Rows without a watermark are read in both cases.
        """
        asked = self.request
        range_ = whole_range("dq", self.watermark, asked.at, None) if low is None else PullRange("dq", low)
        return TablePlan(
            PullRequest(asked.source, asked.database, "dq", at=asked.at), self.base.dataset or "", self.structure,
            self.target, self.load, self.keys, self.watermark, range_, self.now, parts=(part,), previous=self.state,
        )  # fmt: skip
