"""Changes and base as tables of BigQuery: each version is read, the winners are staged and merged by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from onefold.batches.arguments import ReconcileArguments
from onefold.batches.values import Uri
from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.log import LogSeverity, log
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.merge.apply import merge_rows
from onefold.merge.base_table import BaseTable, base_table
from onefold.merge.change_query import UNKNOWN_TYPE, finished_changes_query, table_window
from onefold.merge.change_tables import ChangeTable, changes_in_use, find_changes
from onefold.merge.merge_state import MergeCounts, MergeState
from onefold.merge.migrate import prepare, rebuild_from
from onefold.merge.plan import MergePlan, keys_of, plan_merge
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.kind import Record
from onefold.refresh.plan import Announce
from onefold.schema.casts import UTC
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.types import Scalar
from onefold.settings.environment import Settings
from onefold.spark.io.bigquery_tables import StagingTables
from onefold.spark.io.frames import LandedFrame
from onefold.spark.reconcile.latest import Winners
from onefold.spark.reconcile.plan import JobPlan
from onefold.spark.reconcile.report import JobReport
from onefold.spark.values.casts import can_convert
from onefold.views.base_view import CurrentViewOverBase
from onefold.views.clean_refresh import keeps_clean
from onefold.views.plain import with_plain_table


@dataclass(frozen=True)
class TableLog:
    """One version of a change table. BigQuery applies a window of landing times, Spark one of sequences."""

    changes: ChangeTable
    rules: TableRules
    arguments: ReconcileArguments
    tables: StagingTables
    empty: frozenset[str] = frozenset()
    converts: bool = True

    @property
    def name(self) -> str:
        return str(self.changes.id)

    @property
    def columns(self) -> Schema:
        return self.changes.version.schema

    def open(self, unified: Sequence[Column]) -> LandedFrame:
        """Return the rows as they landed, or in the base's columns if Spark cannot make them of the landed rows.

        Raises:
            InvalidInput: only BigQuery can convert some columns, and the format is not the one that BigQuery reads.
        """
        target = Schema(unified)
        inconvertible = [column.name for column in self.columns if not self._can_convert(column, target)]
        # The connector filters by columns only: neither by `_PARTITIONTIME`, nor by what was appended when.
        is_table = self.changes.way is None or self.changes.since is None
        if is_table and not inconvertible and not self._has_version_column(target):
            where = table_window("", self.changes)
            rows = self.tables.read(self.changes.id, self.columns, where=where)
            return LandedFrame(self.name, rows.frame, rows.columns)
        if inconvertible and self.arguments.format != "datastream":
            names = shown_list(inconvertible)
            raise InvalidInput(f"{self.name}: {names} cannot be converted outside of BigQuery: cast them first")
        base = BaseTable(self.changes.id, tuple(unified), self.arguments.keys)
        query = finished_changes_query(self.changes, base, self.rules)
        columns = (*base.merged, Column(UNKNOWN_TYPE, Scalar("BOOL")))
        rows = self.tables.read_query(query, self.rules.base_place(self.changes.id), columns)
        return LandedFrame(self.name, rows.frame, rows.columns, finished=True)

    def _can_convert(self, column: Column, unified: Schema) -> bool:
        target = unified.get(column.name)
        if target is None or target.type == column.type:
            return True
        # Only BigQuery reads numbers as times, for it and Spark to give the same bytes.
        plain = self.rules.time_zone == UTC and landed_type(column, self.rules) == column.type
        return plain and can_convert(column.type, target.type)

    def _has_version_column(self, unified: Schema) -> bool:
        return self.rules.version_column is not None and unified.has(self.rules.version_column)


class BigQueryBases:
    """`onefold.spark.reconcile.job.JobWarehouse` over BigQuery. Nothing is written before the winners are known.

    Args:
        warehouse: BigQuery.
        tables: reads and stages tables of BigQuery.
        settings: the settings of the installation.
        announce: publishes changes of the current view that a merge refreshes, as for `onefold.refresh.write.refresh`.
        record: records these changes in the ledger, as for `refresh_current`.
    """

    def __init__(
        self,
        warehouse: BaseWarehouse,
        tables: StagingTables,
        settings: Settings,
        announce: Announce | None = None,
        record: Record | None = None,
    ) -> None:
        self._view = CurrentViewOverBase(warehouse, settings, announce, record)
        self._warehouse = warehouse
        self._tables = tables
        self._settings = settings
        self._plan: MergePlan | None = None
        self._keys_plan: MergePlan | None = None

    def keys_of(self, arguments: ReconcileArguments) -> tuple[str, ...]:
        tables = [self._id(uri) for uri in arguments.changes]
        if arguments.base is not None and arguments.base.table is not None:
            self._keys_plan = self._make_plan(tables[0], self._id(arguments.base), arguments)
            return self._keys_plan.base.keys
        found = {keys_of(self._warehouse, table, self._settings, MergeState(), has_base=False) for table in tables}
        if len({frozenset(map(fold_case, keys)) for keys in found}) > 1:
            keys_text = " and ".join(shown_list(keys) for keys in sorted(found))
            raise InvalidInput(f"the change tables have different keys, {keys_text}: name those of the output with --keys")
        return min(found)

    def read_changes(self, uri: Uri, arguments: ReconcileArguments) -> Sequence[TableLog]:
        """Return every version, with all rows or those of the window.

        Without a window, a base in BigQuery needs only the rows that are not merged into it yet.
        """
        table = self._id(uri)
        if arguments.base is not None and arguments.base.table is not None:
            # A plan that was made to find the keys is used once: the job has written nothing since.
            plan, self._keys_plan = self._keys_plan, None
            self._plan = plan or self._make_plan(table, self._id(arguments.base), arguments)
            rules, found = self._plan.rules, self._plan.changes
        else:
            rules = self._settings.rules_for(table)
            found = tuple(changes_in_use(table, find_changes(self._warehouse, table, rules), rules))
        return [TableLog(_in_window(changes, arguments), rules, arguments, self._tables) for changes in found]

    def base_columns(self, uri: Uri) -> Schema | None:  # noqa: ARG002
        """Return the unified columns, which the base has after the merge."""
        return Schema(self._plan.base.columns) if self._plan else None

    def merge(self, winners: Winners, plan: JobPlan) -> JobReport:
        """Stage the winners and merge them; with the mode `rebuild` they are the new base.

        Raises:
            InvalidInput: the changes are not in BigQuery.
        """
        if self._plan is None:
            raise InvalidInput(
                "expected changes in BigQuery for a base in BigQuery, got a folder: name its change table with --changes"
            )
        table = self._plan.base.table
        keeps_clean(self._warehouse, table, self._settings, partial(_log_clean, table))  # before anything is written
        ready = self._prepared(self._plan, plan.arguments)
        staged = self._tables.stage(winners.rows, ready.base.id, ready.base.merged)
        if plan.arguments.mode == "rebuild":
            ready = rebuild_from(self._warehouse, ready, staged.query)
        counts = MergeCounts(
            changes=winners.changes,
            keys=winners.count,
            disputed=winners.disputed,
            ordered_by_text=winners.ordered_by_text,
            unknown_types=winners.unknown_types,
        )
        versions = ready.versions if plan.arguments.whole else ()
        done = merge_rows(self._warehouse, ready, staged.query, versions, counts)
        self._view.after_merge(ready)
        return replace(_report(done, winners, plan), brought_up=ready.brought_up)

    def _make_plan(self, table: TableId, base: TableId, arguments: ReconcileArguments) -> MergePlan:
        self._settings = with_plain_table(self._warehouse, table, self._settings)
        self._view = replace(self._view, settings=self._settings)
        # A message names the base in the dataset of the table, wherever the base of a plain change table is.
        own = base_table(self._settings.rules_for(table).base_place(table))
        if base not in (own, base_table(table)) or len(arguments.changes) > 1:
            raise InvalidInput(f"--base {base}: name {own}, the base of {table}, and no other changes")
        if arguments.format != "datastream":
            raise InvalidInput(f"--base {base}: a base in BigQuery takes changes in the format datastream")
        return plan_merge(self._warehouse, table, self._settings, arguments.keys)

    def _prepared(self, plan: MergePlan, arguments: ReconcileArguments) -> MergePlan:
        """Bring the base up to date, and return the plan as of the time when the changes were read.

        Raises:
            TryAgain: the table or its base changed while the changes were read.
        """
        ready = prepare(self._warehouse, plan.base.table, self._settings, self._view, arguments.keys)
        if replace(ready.base, packed=plan.base.packed) != plan.base or ready.versions != plan.versions:
            raise TryAgain(f"{plan.base.table} got another version while its changes were read: run the job again")
        if any(_starts_earlier(now.since, then.since) for now, then in zip(ready.changes, plan.changes, strict=True)):
            raise TryAgain(f"{plan.base.id} was replaced while its changes were read, and lacks more: run the job again")
        return replace(ready, started_at=plan.started_at, landed=plan.landed)

    def _id(self, uri: Uri) -> TableId:
        if uri.table is None:
            raise InvalidInput(f"expected a table of BigQuery, got {uri}: name project.dataset.table")
        return TableId(uri.table.project or self._warehouse.project, uri.table.dataset, uri.table.table)


def _log_clean(table: TableId, severity: LogSeverity, text: str, event: str) -> None:
    log(severity, text, event=event, dataset=table.dataset, table=table.table)


def _starts_earlier(now: datetime | None, then: datetime | None) -> bool:
    """Return whether a window that begins at `now` holds more than one that begins at `then`; None is the very beginning."""
    return then is not None and (now is None or now < then)


def _in_window(changes: ChangeTable, arguments: ReconcileArguments) -> ChangeTable:
    """Return the change table with the window of the arguments; without one, with that from the last merge's start on."""
    if arguments.whole and arguments.mode == "merge":
        return changes
    start, end = (bound if isinstance(bound, datetime) else None for bound in (arguments.start, arguments.end))
    # A window names times of landing, which no other way of reading a plain change table knows.
    return replace(changes, since=start, until=end, way=changes.way if arguments.whole else None)


def _report(merged: MergeCounts, winners: Winners, plan: JobPlan) -> JobReport:
    return JobReport(
        changes=merged.changes,
        keys=merged.keys,
        inserted=merged.inserted or 0,
        updated=merged.updated or 0,
        below_floor=merged.below_floor,
        disputed=merged.disputed,
        without_sequence=winners.without_sequence,
        ordered_by_text=winners.ordered_by_text,
        unknown_types=winners.unknown_types,
        base="merged",
        columns={column.name: str(column.type) for column in plan.columns},
    )
