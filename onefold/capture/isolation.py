"""One table that cannot be captured stops no other one: it goes into quarantine, and comes back with a copy.

A table goes into quarantine where its rows in the log, its present structure, its rights, its name or the warehouse do not
allow to capture it. Nothing of it is published from there on. It leaves where a check of the table as it is now finds no
problem: a copy is wanted as of the log's present end, and rows of the log before that place stay passed over, since the copy
shows what they did. So it does not matter how far behind the log is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from onefold.capture.announce import Announcer
from onefold.capture.quarantine import Kind, Problem, Quarantined
from onefold.capture.records import quarantine_event
from onefold.capture.source import Source
from onefold.capture.state import CaptureState, lowest
from onefold.capture.table_checks import CheckedTables, exclusion, name_problem
from onefold.capture.versioned_table import table_name
from onefold.core.errors import SchemaConflict, TableRefused
from onefold.core.log import log
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.mysql.binlog.events import LogPosition, RowsChanged, Statement, UnreadableRows
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.effects import Effect, all_effects, effects
from onefold.mysql.table import Structure
from onefold.ports.publisher import Message

QUIET = 60
"""Seconds of the log without rows that lack columns, after which a whole row of the table brings it back."""
_LOOKED_AT = 100_000
"""Characters of a statement in which names of tables are looked for."""
_DML = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD")
_UNREADABLE = Structure("", ())


@dataclass
class Isolation:
    """Decides of each table whether it is captured now. The reader's and the copier's thread both ask."""

    source: Source
    ledger: CaptureState
    announcer: Announcer
    tell: Callable[[Message], object]
    name: str
    """Of the source."""
    dataset: str
    stop: Stop
    quiet: int = QUIET
    _seen: dict[tuple[str, str], Structure] = field(default_factory=dict, repr=False)
    """The structure that the log last had of a table, where all is in order with it; or of one in quarantine."""
    _checked: set[TableName] = field(default_factory=set, repr=False)
    """Tables of which a check has found no problem since the start."""
    _passed_over: set[TableName] = field(default_factory=set, repr=False)
    """Tables that were copied because the log could not be read, though the table was in order: once in a process."""
    _incomplete: dict[TableName, int] = field(default_factory=dict, repr=False)
    """When the log last had rows of a table that could not be read, in seconds."""

    def start(self, checked: CheckedTables) -> None:
        """Take what the checks at the start have found: tables go into quarantine, and others leave it."""
        isolated = self.ledger.isolated
        patterns = self.source.patterns
        isolated.forget(
            one.table for one in isolated.quarantined() if not patterns.match(one.table.database, one.table.table)
        )
        place = self.ledger.read or lowest(self.ledger.epoch)
        for problem in checked.problems:
            self._hold(problem, place)
        self._checked = set(checked.tables) - {problem.table for problem in checked.problems}
        names = {table.table for table in checked.tables}
        for table in sorted(self._checked):
            if problem_ := self._name_problem(table, names):
                self._hold(problem_, place)
        bad = {problem.table for problem in checked.problems}
        for one in isolated.quarantined():
            if one.table not in bad:
                self._try(one)

    # What the log brings.

    def passes(self, event: RowsChanged) -> bool:
        """Whether rows of the log are to be published."""
        key = (event.database, event.structure.table)
        known = self._seen.get(key) == event.structure
        if known and self.ledger.isolated.is_empty:
            return True
        table = TableName(*key)
        held = self.ledger.isolated.held(table, event.position)
        if held:
            self._while_held(held, key, event)
            return False
        return known or self._first_seen(table, event)

    def unreadable(self, event: UnreadableRows) -> None:
        """Rows of the log that cannot be read: the table goes into quarantine, or is copied where it is in order by now."""
        table = TableName(event.database, event.table)
        self._incomplete[table] = event.timestamp
        self._seen[(event.database, event.table)] = _UNREADABLE
        if self.ledger.isolated.held(table, event.position):
            return
        self._found(Problem(table, event.kind, event.reason, _remedy(event)), event.position)

    def statement(self, event: Statement) -> None:
        """A statement may bring a table into quarantine, or out of it.

        Of a table that it alters, whatever structure comes next is expected. ANALYZE TABLE alters none, and neither does
        `CREATE TABLE IF NOT EXISTS` of one that is there.
        """
        text = event.text[:_LOOKED_AT].replace("``", "`").casefold()
        if text.lstrip()[:7].upper().startswith(_DML):
            return
        isolated = self.ledger.isolated
        altered = [one for one in all_effects(event.text, event.database, event.grammar) if one.kind != "created"]
        isolated.forget_structures(table for table in isolated.known() if any(_is_about(one, table) for one in altered))
        if "system versioning" in " ".join(text.split()):
            self._versioned(event)
        is_grant = "grant" in text
        for one in isolated.quarantined():
            kind = one.problem.kind
            if kind == "name" or (kind in ("grant", "copy") and is_grant) or _names(text, event.database, one.table):
                self._try(one)

    def _versioned(self, event: Statement) -> None:
        """From here on the log holds a table's history as rows, whatever the table is by now."""
        for effect in effects(event.text, event.database, event.grammar):
            table = TableName(effect.database, effect.table or "")
            captured = effect.table and self.source.patterns.match(table.database, table.table)
            adds = " DROP SYSTEM " not in " ".join(event.text.upper().split())
            if captured and adds and not self.ledger.isolated.held(table, event.position):
                reason = f"{table} is a system-versioned table, whose log holds its history as rows"
                remedy = f"leave the table out ({exclusion(table)})"
                self._found(Problem(table, "structure", reason, remedy), event.position)

    def _while_held(self, held: Quarantined, key: tuple[str, str], event: RowsChanged) -> None:
        """Another structure, or whole rows again, may mean that the table is in order."""
        before = self._seen.get(key)
        if before == event.structure:
            return
        if held.problem.kind == "rows" and event.timestamp - self._incomplete.get(held.table, 0) < self.quiet:
            return
        self._seen[key] = event.structure
        changed = before is not None or held.problem.kind in ("structure", "rows")
        if held.until is None and changed:
            self._try(held)

    def _first_seen(self, table: TableName, event: RowsChanged) -> bool:
        """A table, or a structure of it, that this process has not published before."""
        if table not in self._checked:
            inspected = self.source.inspect(table)
            if inspected.problem:
                self._hold(inspected.problem, event.position)
                return False
            self._checked.add(table)
        problem = self._name_problem(table) or self._landing_problem(table, event.structure)
        if problem:
            self._found(problem, event.position)
            return False
        if self.ledger.isolated.changed_silently(table, event.structure, event.position):
            self._copy_changed(table, event.position)
        self.ledger.isolated.own(table.table)
        self._seen[(event.database, event.structure.table)] = event.structure
        return True

    def _copy_changed(self, table: TableName, place: LogPosition) -> None:
        """Stored rows may have changed with the structure. A copy from here on shows it."""
        for one in self.ledger.want([table], place):
            log(
                "WARNING", f"{one} is to be copied again: its structure changed without a statement in the log",
                event="copy_wanted", database=one.database, table=one.table, position=place.sequence(),
                reason="its structure changed without a statement in the log",
            )  # fmt: skip

    # What a copy brings.

    def may_copy(self, table: TableName) -> bool:
        """Whether all is in order with a table before it is copied; else it is in quarantine from here on."""
        problem = self._present_problem(table)
        if problem:
            self._hold(problem, self._now())
        return problem is None

    def copied(self, table: TableName, structure: Structure, place: LogPosition) -> None:
        """The structure that a copy had at a place."""
        self.ledger.isolated.changed_silently(table, structure, place)
        self.ledger.isolated.own(table.table)

    def refused(self, table: TableName, error: TableRefused | SchemaConflict) -> None:
        """A copy, or its sweep, was refused, though the checks had found nothing."""
        found = self.source.inspect(table).problem
        self._hold(found or refusal(table, error, "copy"), self._now())

    # Into quarantine, and out of it.

    def _found(self, problem: Problem, place: LogPosition) -> None:
        """A problem in the log, which may be behind: where the table is in order by now, a copy is enough."""
        now = self._present_problem(problem.table)
        # A log that goes on to be unreadable behind such a copy is no matter of being behind.
        if now is None and problem.kind != "rows" and problem.table not in self._passed_over:
            self._passed_over.add(problem.table)
            self._release(Quarantined(problem, place), f"{problem.reason}; it is in order by now")
        else:
            self._hold(now or problem, place)

    def _hold(self, problem: Problem, place: LogPosition) -> None:
        before = next((one for one in self.ledger.isolated.quarantined() if one.table == problem.table), None)
        known = before is not None and before.problem.kind == problem.kind
        one = Quarantined(problem, before.since if before and known else place)
        self._checked.discard(problem.table)
        log(
            "WARNING" if known else "CRITICAL",
            f"{problem.table} is {'still ' if known else ''}in quarantine, its rows are not published: {problem}",
            event="quarantined", database=problem.table.database, table=problem.table.table, kind=problem.kind,
            reason=problem.reason, remedy=problem.remedy, position=one.since.sequence(),
        )  # fmt: skip
        if not known:
            message = quarantine_event(self.name, self.dataset, one)
            retry_until_stopped(lambda: self.tell(message), self.stop)
        self.ledger.hold(one)

    def _try(self, one: Quarantined) -> None:
        """Let a table leave where it is in order now."""
        problem = self._present_problem(one.table)
        if problem is None and one.problem.kind == "copy" and not self.source.may_lock(one.table):
            return  # a right that only a copy needs
        if problem is None:
            self._release(one, "it is in order again")
        elif problem != one.problem:
            self._hold(problem, self._now())

    def _release(self, one: Quarantined, reason: str) -> None:
        """What the log holds up to its present end is passed over: the copy shows it."""
        end = self.source.end_place(self.ledger.epoch)
        self.ledger.release(one, end)
        self._incomplete.pop(one.table, None)
        self._seen.pop((one.table.database, one.table.table), None)
        self._checked.add(one.table)
        log(
            "NOTICE", f"{one.table} leaves quarantine, and is copied where it is still there: {reason}",
            event="quarantine_left", database=one.table.database, table=one.table.table, reason=reason,
            position=end.sequence(),
        )  # fmt: skip

    def _now(self) -> LogPosition:
        return self.ledger.read or lowest(self.ledger.epoch)

    # What may be wrong with a table.

    def _present_problem(self, table: TableName) -> Problem | None:
        """With a table as it is at the source now."""
        inspected = self.source.inspect(table)
        if inspected.problem or inspected.structure is None:
            return inspected.problem
        return self._name_problem(table) or self._landing_problem(table, inspected.structure)

    def _name_problem(self, table: TableName, present: set[str] | None = None) -> Problem | None:
        """Two source tables whose versioned tables would have one name: the rows of both would mix."""
        owners = self.ledger.isolated.owners
        if table.table == table_name(table.table) and table.table not in owners:
            return None
        return name_problem(table, owners, present if present is not None else {one.table for one in self.source.tables()})

    def _landing_problem(self, table: TableName, structure: Structure) -> Problem | None:
        try:
            self.announcer.table(structure)
        except (SchemaConflict, TableRefused) as error:
            return refusal(table, error, "warehouse")
        return None


def refusal(table: TableName, error: TableRefused | SchemaConflict, kind: Kind) -> Problem:
    """The problem of a table that was refused."""
    if isinstance(error, TableRefused):
        return Problem(table, kind, f"{table}: {error.reason}", error.remedy)
    return Problem(table, kind, f"{table}: {'; '.join(error.problems)}", f"leave the table out ({exclusion(table)})")


def _remedy(event: UnreadableRows) -> str:
    if event.kind == "structure":
        return f"change the columns, or leave the table out ({exclusion(TableName(event.database, event.table))})"
    return (
        "let the session that wrote them connect again with binlog_row_image = FULL and without binlog_row_value_options: "
        "the table is copied with its next whole row, or at the next start of capture"
    )


def _is_about(effect: Effect, table: TableName) -> bool:
    """Whether an effect is one on a table: without a table, or a database, it is one on all."""
    database, name = effect.database or table.database, effect.table or table.table
    return (database.casefold(), name.casefold()) == (table.database.casefold(), table.table.casefold())


def _names(text: str, database: str, table: TableName) -> bool:
    """Whether a statement may be about a table: it names it, and its database where the session's is another one."""
    of = table.database.casefold()
    return table.table.casefold() in text and (of == database.casefold() or of in text)
