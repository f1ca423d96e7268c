"""The decision whether the rows of a table are published: a table with a problem goes into quarantine, alone.

A table goes into quarantine when its rows in the log, its present structure, its rights, its name or the warehouse do not
allow to capture it. From then on its rows are not published. The table leaves quarantine as soon as a check of the present
table finds no problem: a copy is requested at the present end of the log, and rows of the log before that position are still
skipped, because the copy shows their result. So it does not matter how far behind the log is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from onefold.capture.copy_requests import request_copies
from onefold.capture.quarantine import Quarantined, TableProblem
from onefold.capture.quarantine_state import QuarantineState
from onefold.capture.records import quarantine_event
from onefold.capture.source import CapturedSource
from onefold.capture.state import CaptureState, lowest
from onefold.capture.table_checks import CheckedTables, exclusion
from onefold.capture.table_problems import TableProblems, refusal
from onefold.core.errors import SchemaConflict, TableRefused
from onefold.core.log import log
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer
from onefold.mysql.binlog.events import LogPosition, RowsChanged, Statement, UnreadableRows
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.alterations import IndexAltered
from onefold.mysql.ddl.effects import TableEffect, all_effects, effects
from onefold.mysql.table import Structure
from onefold.ports.publisher import Message

QUIET_SECONDS = 60
"""Seconds of the log without incomplete rows of a table, after which a complete row brings the table back."""
_MAX_STATEMENT = 100_000
"""Characters of a statement in which names of tables are looked for."""
_DML = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD")
_UNREADABLE = Structure("", ())


@dataclass
class QuarantineGuard:
    """Decides for each table whether it is captured now. The threads of the log reader and of the copier both ask."""

    source: CapturedSource
    state: CaptureState
    announcer: Announcer
    publish_event: Callable[[Message], object]
    name: str
    """The name of the source."""
    dataset: str
    stop: Stop
    quiet_seconds: int = QUIET_SECONDS
    _seen: dict[tuple[str, str], Structure] = field(default_factory=dict, repr=False)
    """By database and table, the last structure in the log: of a table whose rows are published, or of one in quarantine."""
    _checked: set[TableName] = field(default_factory=set, repr=False)
    """Tables that a check since the start has found in order."""
    _copied_instead: set[TableName] = field(default_factory=set, repr=False)
    """Tables that were copied because the log could not be read, though the table was in order: once per process."""
    _incomplete: dict[TableName, int] = field(default_factory=dict, repr=False)
    """When the log last had unreadable rows of a table, in seconds since 1970."""

    def start(self, checked: CheckedTables) -> None:
        """Apply the checks of the start: tables with a problem enter quarantine, others leave it."""
        patterns = self.source.patterns
        self.state.rules.start({table: known.structure for table, known in checked.known.items()})
        quarantined = self._quarantine.quarantined()
        self._quarantine.forget(e.table for e in quarantined if not patterns.match(e.table.database, e.table.table))
        position = self._read_position()
        for problem in checked.problems:
            self._enter(problem, position)
        refused = {problem.table for problem in checked.problems}
        self._checked = set(checked.tables) - refused
        names = {table.table for table in checked.tables}
        for table in sorted(self._checked):
            if problem_of_name := self._problems.of_name(table, names):
                self._enter(problem_of_name, position)
        for entry in self._quarantine.quarantined():
            if entry.table not in refused:
                self._leave_if_in_order(entry)

    # Events of the log.

    def passes(self, event: RowsChanged) -> bool:
        """Return whether the rows of an event are to be published. Every event of rows comes through here."""
        key = (event.database, event.structure.table)
        known = self._seen.get(key) == event.structure
        if known and self.state.quarantine.is_empty:
            return True
        table = TableName(*key)
        entry = self.state.quarantine.find(table, event.position)
        if entry:
            self._see_withheld_rows(entry, key, event)
            return False
        return known or self._is_in_order(table, event)

    def unreadable(self, event: UnreadableRows) -> None:
        """Put a table with unreadable rows into quarantine, or request its copy if the present table is in order."""
        table = TableName(event.database, event.table)
        self._incomplete[table] = event.timestamp
        self._seen[(event.database, event.table)] = _UNREADABLE
        if self._quarantine.find(table, event.position):
            return
        self._problem_in_log(TableProblem(table, event.kind, event.reason, _remedy(event)), event.position)

    def statement(self, event: Statement) -> None:
        """Check again each table in quarantine that a statement may have put in order.

        A table that the statement alters may have any structure afterwards. ANALYZE TABLE alters no table, and neither does
        `CREATE TABLE IF NOT EXISTS` of a table that exists. After a change of indexes only, the next row shows another key.
        """
        text = event.text[:_MAX_STATEMENT].replace("``", "`").casefold()
        if text.lstrip()[:7].upper().startswith(_DML):
            return
        found = all_effects(event.text, event.database, event.grammar)
        altered = [one for one in found if one.kind != "created" and set(one.alterations) != {IndexAltered()}]
        known = self._quarantine.tables_with_structure()
        self._quarantine.forget_structures(table for table in known if any(_is_about(one, table) for one in altered))
        if "system versioning" in " ".join(text.split()):
            self._add_system_versioning(event)
        is_grant = "grant" in text
        for entry in self._quarantine.quarantined():
            kind = entry.problem.kind
            if kind == "name" or (kind in ("grant", "copy") and is_grant) or _mentions(text, event.database, entry.table):
                self._leave_if_in_order(entry)

    def _add_system_versioning(self, event: Statement) -> None:
        """Put the tables of a statement into quarantine: from here on the log holds their history as rows."""
        if " DROP SYSTEM " in " ".join(event.text.upper().split()):
            return
        for effect in effects(event.text, event.database, event.grammar):
            table = TableName(effect.database, effect.table or "")
            is_captured = effect.table and self.source.patterns.match(table.database, table.table)
            if is_captured and not self._quarantine.find(table, event.position):
                reason = f"{table} is a system-versioned table, whose log holds its history as rows"
                remedy = f"leave the table out ({exclusion(table)})"
                self._problem_in_log(TableProblem(table, "structure", reason, remedy), event.position)

    def _see_withheld_rows(self, entry: Quarantined, key: tuple[str, str], event: RowsChanged) -> None:
        """Check a table again when the log has another structure of it, or complete rows again."""
        before = self._seen.get(key)
        if before == event.structure:
            return
        is_rows = entry.problem.kind == "rows"
        if is_rows and event.timestamp - self._incomplete.get(entry.table, 0) < self.quiet_seconds:
            return
        self._seen[key] = event.structure
        changed = before is not None or entry.problem.kind in ("structure", "rows")
        if entry.until is None and changed:
            self._leave_if_in_order(entry)

    def _is_in_order(self, table: TableName, event: RowsChanged) -> bool:
        """Check a table, or a structure of it, whose rows this process has not published before."""
        if table not in self._checked:
            if problem := self._problems.of_source(table):
                self._enter(problem, event.position)
                return False
            self._checked.add(table)
        problem = self._problems.of_name(table) or self._problems.of_landing(table, event.structure)
        if problem:
            self._problem_in_log(problem, event.position)
            return False
        if self._quarantine.changed_silently(table, event.structure, event.position):
            # Stored rows may have changed with the structure: a copy from here on shows them.
            reason = "its structure changed without a statement in the log"
            request_copies(self.state, [table], event.position, reason, "WARNING")
        self._quarantine.own(table.table)
        self._seen[(event.database, event.structure.table)] = event.structure
        return True

    # Copies.

    def may_copy(self, table: TableName) -> bool:
        """Check a table before it is copied. A table with a problem goes into quarantine."""
        problem = self._problems.present(table)
        if problem:
            self._enter(problem, self._read_position())
        return problem is None

    def copied(self, table: TableName, structure: Structure, position: LogPosition) -> None:
        """Note the structure that a copy had.

        Args:
            table: the copied table.
            structure: its structure when its rows were read.
            position: the position of the log at which its rows were read.
        """
        self._quarantine.changed_silently(table, structure, position, is_logged=False)
        self._quarantine.own(table.table)

    def refused(self, table: TableName, error: TableRefused | SchemaConflict) -> None:
        """Put a table into quarantine whose copy or delete scan was refused although the checks had found no problem."""
        found = self._problems.of_source(table)
        self._enter(found or refusal(table, error, "copy"), self._read_position())

    # Entering and leaving quarantine.

    def _problem_in_log(self, problem: TableProblem, position: LogPosition) -> None:
        """Handle a problem in the log, which may be behind: if the present table is in order, a copy is enough."""
        now = self._problems.present(problem.table)
        # If the log stays unreadable after such a copy, the cause is not that the log is read late.
        if now is None and problem.kind != "rows" and problem.table not in self._copied_instead:
            self._copied_instead.add(problem.table)
            self._leave(Quarantined(problem, position), f"{problem.reason}; it is in order by now")
        else:
            self._enter(now or problem, position)

    def _enter(self, problem: TableProblem, position: LogPosition) -> None:
        """Put a table into quarantine, or replace its problem. A new kind of problem is logged and published."""
        before = next((entry for entry in self._quarantine.quarantined() if entry.table == problem.table), None)
        known = before is not None and before.problem.kind == problem.kind
        entry = Quarantined(problem, before.since if before and known else position)
        self._checked.discard(problem.table)
        log(
            "WARNING" if known else "CRITICAL",
            f"{problem.table} is {'still ' if known else ''}in quarantine, its rows are not published: {problem}",
            event="quarantined", database=problem.table.database, table=problem.table.table, kind=problem.kind,
            reason=problem.reason, remedy=problem.remedy, position=entry.since.sequence(),
        )  # fmt: skip
        if not known:
            message = quarantine_event(self.name, self.dataset, entry)
            retry_until_stopped(lambda: self.publish_event(message), self.stop)
        self.state.enter_quarantine(entry)

    def _leave_if_in_order(self, entry: Quarantined) -> None:
        """Check a table in quarantine again: it leaves, or its problem is replaced by the present one."""
        problem = self._problems.present(entry.table)
        if problem is None and entry.problem.kind == "copy" and not self.source.may_lock(entry.table):
            return  # a right that only a copy needs
        if problem is None:
            self._leave(entry, "it is in order again")
        elif problem != entry.problem:
            self._enter(problem, self._read_position())

    def _leave(self, entry: Quarantined, reason: str) -> None:
        """Skip the rows of the log up to its present end, and request a copy there, which shows their result."""
        end = self.source.end_position(self.state.epoch)
        self.state.leave_quarantine(entry, end)
        self._incomplete.pop(entry.table, None)
        self._seen.pop((entry.table.database, entry.table.table), None)
        self._checked.add(entry.table)
        log(
            "NOTICE", f"{entry.table} leaves quarantine, and is copied if it still exists: {reason}",
            event="quarantine_left", database=entry.table.database, table=entry.table.table, reason=reason,
            position=end.sequence(),
        )  # fmt: skip

    def _read_position(self) -> LogPosition:
        return self.state.read_position or lowest(self.state.epoch)

    @property
    def _quarantine(self) -> QuarantineState:
        return self.state.quarantine  # a new epoch replaces it

    @property
    def _problems(self) -> TableProblems:
        return TableProblems(self.source, self.announcer, self.state.quarantine, self.state.rules)


def _remedy(event: UnreadableRows) -> str:
    if event.kind == "structure":
        return f"change the columns, or leave the table out ({exclusion(TableName(event.database, event.table))})"
    return (
        "let the session that wrote them connect again with binlog_row_image = FULL and without binlog_row_value_options: "
        "the table is copied with its next whole row, or at the next start of capture"
    )


def _is_about(effect: TableEffect, table: TableName) -> bool:
    """Return whether an effect concerns a table: an effect that names no table or no database concerns all of them."""
    database, name = effect.database or table.database, effect.table or table.table
    return (database.casefold(), name.casefold()) == (table.database.casefold(), table.table.casefold())


def _mentions(text: str, database: str, table: TableName) -> bool:
    """Return whether a statement may be about a table.

    Args:
        text: the statement in lower case.
        database: the default database of the session.
        table: the statement has to name it, together with its database where that is not the session's.
    """
    folded = table.database.casefold()
    return table.table.casefold() in text and (folded == database.casefold() or folded in text)
