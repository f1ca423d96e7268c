"""The present problem of a table: at the source, by its name among the other tables, and in the warehouse."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.capture.quarantine import Kind, TableProblem
from onefold.capture.quarantine_state import QuarantineState
from onefold.capture.running_rules import RunningRules
from onefold.capture.source import CapturedSource
from onefold.capture.table_checks import exclusion, name_problem
from onefold.core.errors import SchemaConflict, TableRefused
from onefold.core.names import table_name
from onefold.core.text import shown_list
from onefold.landing.announce import Announcer
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure


@dataclass(frozen=True)
class TableProblems:
    """Checks of single tables while capture runs."""

    source: CapturedSource
    announcer: Announcer
    state: QuarantineState
    rules: RunningRules

    def present(self, table: TableName) -> TableProblem | None:
        """Return what keeps a table, as it is at the source now, from being captured; None if nothing does."""
        inspected = self.source.inspect(table)
        if inspected.problem or inspected.structure is None:
            return inspected.problem
        return self.of_name(table) or self.of_landing(table, inspected.structure)

    def of_source(self, table: TableName) -> TableProblem | None:
        """Return the problem of a table at the source alone: its structure or a missing right."""
        return self.source.inspect(table).problem

    def of_name(self, table: TableName, present: set[str] | None = None) -> TableProblem | None:
        """Return the problem of two source tables that would share a base name, so that their rows would mix.

        Args:
            table: the table that is checked.
            present: the names of the captured tables that exist now; None to ask the source.
        """
        owners = self.state.owners
        if table.table == table_name(table.table) and table.table not in owners:
            return None
        return name_problem(table, owners, present if present is not None else {one.table for one in self.source.tables()})

    def of_landing(self, table: TableName, structure: Structure) -> TableProblem | None:
        """Return why the rows of a structure cannot land. As a side effect the versioned table is created."""
        try:
            self.rules.check(table, structure)
            landed = self.rules.current.landing(table.database, structure).structure
        except TableRefused as error:
            return refusal(table, error, "structure")
        try:
            self.announcer.table(landed)
        except (SchemaConflict, TableRefused) as error:
            return refusal(table, error, "warehouse")
        return None


def refusal(table: TableName, error: TableRefused | SchemaConflict, kind: Kind) -> TableProblem:
    """Return the problem of a table that was refused.

    Args:
        table: the refused table.
        error: why the table was refused. A SchemaConflict has no remedy but to leave the table out.
        kind: who refused it.
    """
    if isinstance(error, TableRefused):
        return TableProblem(table, kind, f"{table}: {error.reason}", error.remedy)
    return TableProblem(
        table, kind, f"{table}: {shown_list(error.problems, joint='; ')}", f"leave the table out ({exclusion(table)})"
    )
