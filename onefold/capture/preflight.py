"""All checks of a source and a destination, as a report. The checks change nothing and lock no table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from onefold.capture.checkpoint import Checkpoint, Progress, check_owner
from onefold.capture.checkpoint_store import InspectableCheckpointStore
from onefold.capture.options import CaptureOptions
from onefold.capture.quarantine import TableProblem
from onefold.capture.requirements import Requirement, check, problems_of
from onefold.capture.running_rules import RunningRules
from onefold.capture.source import CapturedSource, LogLost
from onefold.capture.start import check_rules
from onefold.capture.table_checks import CheckedTables, name_problem
from onefold.capture.table_problems import refusal
from onefold.core.errors import InvalidSettings, NotFound, OnefoldError, Rejected, TableRefused, TryAgain
from onefold.core.names import TableId
from onefold.core.text import shown_list
from onefold.landing.announce import existing, table_problems
from onefold.landing.table import VersionedTable, versioned_table
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure
from onefold.ports.warehouse import BaseWarehouse

Part = Literal["source", "destination"]
Value = TypeVar("Value")
_FIRST: tuple[Part, str] = ("source", "settings")
"""The check that asks the server first: where it has no answer, nothing is known of the source."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check. Without problems, what was checked is in order."""

    part: Part
    name: str
    problems: tuple[str, ...] = ()
    """One sentence each, with a remedy."""
    note: str = ""
    """What the check has found, for the report."""
    no_answer: bool = False
    """Whether the source does not answer, so that nothing is known of it."""


@dataclass(frozen=True)
class PreflightReport:
    """The results of all checks."""

    findings: tuple[CheckResult, ...]
    tables: int
    """The number of captured tables, including those in quarantine."""
    quarantine: tuple[TableProblem, ...]
    """Tables that the next start would put into quarantine."""

    @property
    def in_order(self) -> bool:
        return not self.quarantine and not any(one.problems for one in self.findings)

    @property
    def no_answer(self) -> bool:
        """Whether the source does not answer."""
        return any(one.no_answer for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the document of `--json`."""
        return {
            "ok": self.in_order,
            "checks": [_as_dict(one) for one in self.findings],
            "tables": self.tables,
            "quarantine": [{**asdict(one.table), **_without_table(one)} for one in self.quarantine],
        }


def _as_dict(one: CheckResult) -> dict[str, Any]:
    return {"part": one.part, "name": one.name, "problems": list(one.problems), "note": one.note, "ok": not one.problems}


def _without_table(problem: TableProblem) -> dict[str, str]:
    return {"kind": problem.kind, "reason": problem.reason, "remedy": problem.remedy}


@dataclass
class _Results:
    """The results so far. An error of a check becomes a problem, and the other checks go on."""

    found: list[CheckResult] = field(default_factory=list)

    def run(self, part: Part, name: str, work: Callable[[], Value], note: Callable[[Value], str]) -> Value | None:
        """Run a check, and return its value; None if it fails. An error that may pass is a problem, too.

        Args:
            part: what is checked.
            name: of the check, in the report.
            work: the check.
            note: the text of the report for the value of the check.
        """
        try:
            value = work()
        except OnefoldError as error:
            no_answer = (part, name) == _FIRST and isinstance(error, TryAgain)
            self.found.append(CheckResult(part, name, problems_of(error), no_answer=no_answer))
            return None
        self.found.append(CheckResult(part, name, note=note(value)))
        return value


def preflight(
    source: CapturedSource,
    requirements: Iterable[Requirement],
    store: InspectableCheckpointStore,
    warehouse: BaseWarehouse,
    options: CaptureOptions,
) -> PreflightReport:
    """Check everything that the next start of a process would check.

    Args:
        source: the server, and which tables are captured.
        requirements: the checks of the destination.
        store: of the checkpoint, which is read without reserving it.
        warehouse: of the versioned tables.
        options: of the start.
    """
    findings = _Results()
    findings.run(*_FIRST, source.check_settings, str)
    checkpoint = findings.run("source", "start", lambda: _checkpoint(store, options), _start_note)
    findings.run("source", "log", lambda: _check_log(source, checkpoint, options), str)
    findings.run("source", "GTIDs", lambda: _check_gtids(source, options), str)
    checked = findings.run("source", "tables", partial(_check_tables, source), lambda found: _tables_note(source, found))
    checked = checked or CheckedTables(frozenset(), ())
    findings.run("source", "foreign keys", lambda: _check_foreign_keys(source), str)
    for requirement in requirements:
        findings.run("destination", requirement.name, partial(check, (requirement,)), lambda _: "")
    problems = {problem.table: problem for problem in (*_name_problems(checked, checkpoint), *checked.problems)}
    if not any(result.part == "destination" and result.problems for result in findings.found):
        rules = RunningRules(options.rules, None if options.accept_fewer_rules else checkpoint)
        work = partial(_landing_problems, source, warehouse, options, rules, problems)
        landing = findings.run("destination", "versioned tables", work, lambda found: f"{len(found)} cannot take the rows")
        problems.update(landing or {})
    return PreflightReport(tuple(findings.found), len(checked.tables), tuple(problems[name] for name in sorted(problems)))


def _checkpoint(store: InspectableCheckpointStore, options: CaptureOptions) -> Checkpoint | None:
    found = store.peek()
    if found:
        check_owner(found, options.source, options.dataset)
        check_rules(found, options)
    return found


def _start_note(found: Checkpoint | None) -> str:
    return f"a checkpoint of epoch {found.epoch}" if found else "no checkpoint yet"


def _check_log(source: CapturedSource, checkpoint: Checkpoint | None, options: CaptureOptions) -> str:
    """Read the log where the next start would begin, and return that position for the report.

    Raises:
        LogLost: the log does not have the position; with a checkpoint the text names the epoch that would begin.
    """
    epoch = checkpoint.epoch if checkpoint else options.epoch
    start = checkpoint.reached if checkpoint else options.start
    try:
        reached = start or source.log_end(epoch)
        source.check_log(reached, epoch)
    except LogLost as error:
        if checkpoint is None:
            raise
        then = f"the next start begins epoch {epoch + 1}, and copies all tables again"
        raise LogLost(f"{error}; {then}") from error
    return f"from {_shown(reached)}{'' if start else ', its present end'}"


def _check_tables(source: CapturedSource) -> CheckedTables:
    """Check each table that is captured.

    Raises:
        NotFound: none is.
    """
    found = source.check_tables()
    if found.none_fits:
        raise NotFound(found.none_fits)
    return found


def _tables_note(source: CapturedSource, found: CheckedTables) -> str:
    """Return how many tables are captured, which are left out, and which databases are named and may be created later."""
    ghosts = (
        f"without those of online schema changes: {shown_list(sorted(map(str, found.ghosts)))}" if found.ghosts else None
    )
    return "; ".join(
        part for part in (f"{len(found.tables)} captured", ghosts, source.missing_databases(), found.unused_patterns) if part
    )


def _shown(reached: Progress) -> str:
    position = reached.position
    return f"{position.file}, {position.offset}" if position else f"behind {reached.executed}"


def _check_gtids(source: CapturedSource, options: CaptureOptions) -> str:
    """Tell for the report whether the log has GTIDs.

    Raises:
        Rejected: the log has none, and the options need them.
    """
    found = source.has_gtids()
    if options.follow_gtids and not found:
        raise Rejected(
            "--gtid-failover expects GTIDs in the log, and the source writes none: put `gtid_mode = ON` and "
            "`enforce_gtid_consistency = ON` under [mysqld] in its configuration, then restart it; or leave the option out"
        )
    return "on" if found else "off"


def _check_foreign_keys(source: CapturedSource) -> str:
    """Check that the user sees each foreign key by which a captured table may change.

    Raises:
        InvalidSettings: a right hides some; names each table with the GRANT.
    """
    if problems := source.hidden_foreign_keys():
        raise InvalidSettings(problems)
    return ""


def _name_problems(checked: CheckedTables, checkpoint: Checkpoint | None) -> Iterator[TableProblem]:
    owners = dict(checkpoint.owners) if checkpoint else {}
    names = {table.table for table in checked.tables}
    for table in checked.tables:
        if problem := name_problem(table, owners, names):
            yield problem


def _landing_problems(
    source: CapturedSource,
    warehouse: BaseWarehouse,
    options: CaptureOptions,
    rules: RunningRules,
    others: Mapping[TableName, TableProblem],
) -> dict[TableName, TableProblem]:
    """Return the problems of tables whose rows cannot land: by the rules of columns, or in a versioned table that exists.

    Args:
        source: the server, and which tables are captured.
        warehouse: of the versioned tables; each versioned table is read once.
        options: of the start, with the dataset of the versioned tables.
        rules: of columns.
        others: tables that have another problem already, and are not checked.
    """
    problems: dict[VersionedTable, tuple[TableId, list[str]]] = {}
    found = {}
    for name, structure in source.structures().items():
        if name in others:
            continue
        table = _landing_table(name, structure, rules)
        if isinstance(table, TableProblem):
            found[name] = table
            continue
        if table not in problems:
            landed, stored = existing(warehouse, options.dataset, table)
            id_ = TableId(warehouse.project, options.dataset, landed.name)
            problems[table] = id_, list(table_problems(id_, table.columns, stored.columns)) if stored else []
        id_, refused = problems[table]
        if refused:
            remedy = f"{id_} is not the table of this version: rename it, and start again"
            found[name] = TableProblem(name, "warehouse", f"{name}: {shown_list(refused, joint='; ')}", remedy)
    return found


def _landing_table(name: TableName, structure: Structure, rules: RunningRules) -> VersionedTable | TableProblem:
    """Return the versioned table of a source table, or why the rules of columns do not allow one."""
    try:
        rules.check(name, structure)
        return versioned_table(rules.current.landing(name.database, structure).structure)
    except TableRefused as error:
        return refusal(name, error, "structure")
