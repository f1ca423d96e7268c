"""A table before its check: its structure at the source, what was loaded of it, and its view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pymysql

from onefold.check.request import CheckedTable, CheckRequest
from onefold.core.errors import NotFound, SchemaConflict
from onefold.core.names import TableId, quote_text, table_name, time_literal
from onefold.core.text import shown_list
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.landing.table import versioned_table
from onefold.merge.plain import check_own_dataset
from onefold.mysql.catalog import TableName, describe_one
from onefold.mysql.connection import query
from onefold.mysql.table import Structure
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.pull.load.run_log import LOG_TABLE
from onefold.pull.read.clock import micros
from onefold.pull.read.plan import LoadState
from onefold.pull.read.planner import Skipped
from onefold.pull.read.pulled import Loads
from onefold.pull.read.pulled_table import pulled_table
from onefold.pull.read.table_settings import check_settings, pulled_structure, watermark_of
from onefold.pull.read.watermark import Watermark
from onefold.refresh.held_note import read_held_note
from onefold.schema.column_policy import ColumnPolicies
from onefold.schema.columns import Schema
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, full_view

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Inspector:
    """Finds out how a table is checked.

    Attributes:
        request: what was asked for.
        source: the source.
        settings: those of the installation, which know the plain change tables of a dataset of captured tables.
        warehouse: where the views are.
        loads: tells what was loaded before.
        columns: the rules of columns of a captured source.
    """

    request: CheckRequest
    source: Source
    settings: Settings
    warehouse: BaseWarehouse
    loads: Loads
    columns: LandingRules = NO_RULES

    def inspect(self, connection: pymysql.Connection, table: str) -> CheckedTable:
        """Return a table as it is checked now.

        Args:
            connection: to the source.
            table: its name at the source.

        Raises:
            Skipped: there is nothing to compare.
            NotFound: the table, or its view, does not exist.
            InvalidSettings: the settings do not fit the table; all problems at once.
            TableRefused: the rules of columns cannot be applied to the table.
            SchemaConflict: the view lacks a column of the key.
            NoOwnDataset: there is no dataset for the view of a plain change table.
        """
        base = self.base_of(table)
        plain = self.settings.plain_table(base)
        check_own_dataset(self.warehouse, base, self.settings)
        load = self._load(table)
        whole = self._structure(connection, table)
        rules = self.settings.rules_for(replace(base, project=None))
        named = tuple(rules.keys)
        if not self.request.captured:
            check_settings(whole, load, named or whole.primary_key)
        structure = pulled_structure(whole, load)
        columns = NO_RULES if plain else self.columns
        landing = columns.landing(self.request.database, structure)
        if self.request.captured and columns.rules:
            self._check_landed(base, landing.structure)
        target = pulled_table(landing.structure)
        keys = named or target.primary_key
        watermark = None if self.request.captured else watermark_of(structure, load, self.source.time_zone)
        # Of a table that is loaded full nothing but the number of rows is compared.
        if not keys and (self.request.captured or watermark):
            raise Skipped("it has no key, so its rows cannot be told apart: name `keys` under `tables`")
        state = LoadState() if self.request.captured else self._state(base, target.version)
        now = source_time(connection)
        view = self._stored(self.settings.current_view_of(base) if self.request.captured else full_view(base))
        found = CheckedTable(
            self.request, base, structure, target, load, keys, watermark, view.id, Schema(view.columns), state,
            now, self._border(base, watermark, now), rules, landing,
            (self.settings.policies or ColumnPolicies()).of_table(base), plain, read_held_note(view.query),
        )  # fmt: skip
        _check_columns(found)
        return found

    def base_of(self, table: str) -> TableId:
        """Return the base name of a table; where one dataset has the tables of all schemas, the schema is before the name.

        Args:
            table: its name at the source.
        """
        base = TableId(self.warehouse.project, self.request.dataset, table_name(table))
        with_schema = base.sibling(f"{table_name(self.request.database)}_{base.table}")
        is_joined = self.settings.plain_table(with_schema) and not self.settings.plain_table(base)
        return with_schema if is_joined else base

    def log_dataset(self, table: str) -> str:
        """Return the dataset of the log of a table's checks: no log is written to the dataset of somebody else.

        Args:
            table: its name at the source.
        """
        plain = self.settings.plain_table(self.base_of(table))
        return plain.dataset if plain else self.request.dataset

    def _check_landed(self, base: TableId, landed: Structure) -> None:
        """Check that a captured table lands as these rules say: only capture knows the rules that have followed a rename.

        Without them a check would read, compare and show values that those rules hide.

        Raises:
            Skipped: there is no version of this structure under these rules.
        """
        table = versioned_table(landed)
        name = table.name
        if all(self.warehouse.get_view(base.sibling(one.name)) is None for one in (table, table.among({table.former}))):
            raise Skipped(
                f"nothing has landed in its present structure by the rules of `captures` ({name} does not exist): if the "
                "log of capture has rule_followed or fewer_rules_accepted for it, let `captures` say the same; else wait "
                "for a row"
            )

    def _load(self, table: str) -> TableLoad:
        if self.request.captured:
            return TableLoad()
        load = self.source.load_of(self.request.database, table)
        if load is None:
            raise Skipped(f"no pattern of sources.{self.source.cluster}.tables matches it: it is not pulled")
        return load

    def _structure(self, connection: pymysql.Connection, table: str) -> Structure:
        name = TableName(self.request.database, table)
        description = describe_one(connection, name)
        if description is None:
            raise NotFound(
                f"{name} does not exist at the source, or the user may not see it: correct the name, or grant SELECT"
            )
        if description.structure is None:
            raise Skipped("it is system-versioned, which pulls do not support")
        return description.structure

    def _state(self, base: TableId, version: str) -> LoadState:
        state = self.loads.state_of(replace(base, project=None), "15m")
        if state.version is None:
            raise Skipped("it was never loaded: pull it first")
        if state.version != version:
            raise Skipped("its structure has changed since its last load: the next pull reads it in the new one")
        return state

    def _stored(self, view: TableId) -> StoredView:
        stored = self.warehouse.get_view(view)
        if stored is None:
            raise NotFound(f"there is no view {view}: run `onefold refresh` for the table")
        return stored

    def _border(self, base: TableId, watermark: Watermark | None, now: int) -> int | None:
        if watermark is None:
            return None
        if watermark.is_time:
            return now - self.request.padding // MICROSECOND
        log = base.sibling(LOG_TABLE)
        before = datetime.now(UTC) - self.request.padding
        rows = self.warehouse.fetch(
            f"SELECT CAST(MAX(SAFE_CAST(l.watermark AS BIGNUMERIC)) AS STRING) AS greatest\nFROM {log.quoted} AS l\n"
            f"WHERE l.state = 'loaded' AND l.table_name = {quote_text(base.table)} "
            f"AND l.watermark_column = {quote_text(watermark.column)} AND l.logged_at <= {time_literal(before)}"
        )
        if rows[0]["greatest"] is None:
            raise Skipped("nothing of it was loaded before the padding: check it later")
        return int(rows[0]["greatest"])


def source_time(connection: pymysql.Connection) -> int:
    """Return the source's time, in microseconds since 1970."""
    ((text,),) = query(connection, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)")
    return micros(datetime.fromisoformat(text).replace(tzinfo=UTC))


def _check_columns(table: CheckedTable) -> None:
    """Check that the view has the columns by which rows are told apart and left out.

    Raises:
        SchemaConflict: names the columns that it lacks, or whose types cannot be compared.
    """
    lacking = [name for name in table.keys if table.landed(name) is None]
    if table.watermark and table.column(table.watermark.column) is None:
        lacking.append(table.watermark.column)
    if lacking and table.plain:
        raise SchemaConflict(
            f"{table.view}: its key {shown_list(lacking)} cannot be compared; left out are {shown_list(table.left_out)}"
        )
    if lacking:
        raise SchemaConflict(
            f"{table.view} has no column {shown_list(lacking, joint=' and no column ')}: run `onefold refresh`"
        )
