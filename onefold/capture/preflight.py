"""All checks of a source and of what capture writes to, as a report. Nothing is changed, and no table is locked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from onefold.capture.announce import TableWarehouse, table_problems
from onefold.capture.checkpoint import Checkpoint, Progress, check_owner
from onefold.capture.checkpoint_store import InspectableCheckpointStore
from onefold.capture.quarantine import Problem
from onefold.capture.requirements import Requirement, check, problems_of
from onefold.capture.run import CaptureOptions
from onefold.capture.source import LogLost, Source
from onefold.capture.table_checks import CheckedTables, name_problem
from onefold.capture.versioned_table import VersionedTable, versioned_table
from onefold.core.errors import OnefoldError, Rejected
from onefold.core.names import TableId
from onefold.mysql.catalog import TableName

Part = Literal["source", "destination"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class CheckResult:
    """One thing that was checked. Without problems it is in order."""

    part: Part
    name: str
    problems: tuple[str, ...] = ()
    """Sentences, each with its remedy."""
    note: str = ""
    """What was found."""


@dataclass(frozen=True)
class PreflightReport:
    """Everything that was checked."""

    findings: tuple[CheckResult, ...]
    tables: int
    """How many are captured, those in quarantine included."""
    quarantine: tuple[Problem, ...]
    """Tables that the next start would put into quarantine."""

    @property
    def in_order(self) -> bool:
        return not self.quarantine and not any(one.problems for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return {
            "ok": self.in_order,
            "checks": [{**asdict(one), "ok": not one.problems, "problems": list(one.problems)} for one in self.findings],
            "tables": self.tables,
            "quarantine": [{**asdict(one.table), **_without_table(one)} for one in self.quarantine],
        }


def _without_table(problem: Problem) -> dict[str, str]:
    return {"kind": problem.kind, "reason": problem.reason, "remedy": problem.remedy}


@dataclass
class _Results:
    """What was found so far. An error is a problem of what was checked, and keeps nothing else from being checked."""

    found: list[CheckResult] = field(default_factory=list)

    def ask(self, part: Part, name: str, work: Callable[[], Value], note: Callable[[Value], str]) -> Value | None:
        """Return what work gives, or None where it fails. Trouble that may pass is a problem, too."""
        try:
            value = work()
        except OnefoldError as error:
            self.found.append(CheckResult(part, name, problems_of(error)))
            return None
        self.found.append(CheckResult(part, name, note=note(value)))
        return value


def preflight(
    source: Source,
    requirements: Iterable[Requirement],
    store: InspectableCheckpointStore,
    warehouse: TableWarehouse,
    options: CaptureOptions,
) -> PreflightReport:
    """Return what the next start of a process would find.

    Args:
        source: the server, and which tables are captured.
        requirements: what is written to.
        store: of the checkpoint, which is read and left to whoever has it.
        warehouse: of the versioned tables.
        options: those of the start.
    """
    findings = _Results()
    findings.ask("source", "settings", source.check_settings, str)
    checkpoint = findings.ask("source", "start", lambda: _checkpoint(store, options), _start_note)
    findings.ask("source", "log", lambda: _check_log(source, checkpoint, options), str)
    findings.ask("source", "GTIDs", lambda: _check_gtids(source, options), str)
    checked = findings.ask("source", "tables", source.check_tables, lambda found: f"{len(found.tables)} captured")
    checked = checked or CheckedTables(frozenset(), ())
    for one in requirements:
        findings.ask("destination", one.name, partial(check, (one,)), lambda _: "")
    problems = {one.table: one for one in (*_name_problems(checked, checkpoint), *checked.problems)}
    if not any(one.part == "destination" and one.problems for one in findings.found):
        work = partial(_landing_problems, source, warehouse, options.dataset, problems)
        landing = findings.ask("destination", "versioned tables", work, lambda found: f"{len(found)} cannot take the rows")
        problems.update(landing or {})
    return PreflightReport(tuple(findings.found), len(checked.tables), tuple(problems[name] for name in sorted(problems)))


def _checkpoint(store: InspectableCheckpointStore, options: CaptureOptions) -> Checkpoint | None:
    found = store.peek()
    if found:
        check_owner(found, options.source, options.dataset)
    return found


def _start_note(found: Checkpoint | None) -> str:
    return f"a checkpoint of epoch {found.epoch}" if found else "no checkpoint yet"


def _check_log(source: Source, checkpoint: Checkpoint | None, options: CaptureOptions) -> str:
    """Read where the next start would."""
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
    return f"from {_named(reached)}{'' if start else ', its present end'}"


def _named(reached: Progress) -> str:
    return f"{reached.place.file}, {reached.place.offset}" if reached.place else f"behind {reached.executed}"


def _check_gtids(source: Source, options: CaptureOptions) -> str:
    found = source.has_gtids()
    if options.follow_gtids and not found:
        raise Rejected(
            "--gtid-failover needs GTIDs, and the source writes none; put `gtid_mode = ON` and "
            "`enforce_gtid_consistency = ON` under [mysqld] in its configuration, then restart it; or leave the option out"
        )
    return "on" if found else "off"


def _name_problems(checked: CheckedTables, checkpoint: Checkpoint | None) -> Iterator[Problem]:
    owners = dict(checkpoint.owners) if checkpoint else {}
    names = {table.table for table in checked.tables}
    for table in checked.tables:
        if problem := name_problem(table, owners, names):
            yield problem


def _landing_problems(
    source: Source,
    warehouse: TableWarehouse,
    dataset: str,
    others: Mapping[TableName, Problem],
) -> dict[TableName, Problem]:
    """Return the problems of tables whose versioned table is there and cannot take their rows; each is read once."""
    problems: dict[VersionedTable, list[str]] = {}
    found = {}
    for name, structure in source.structures().items():
        if name in others:
            continue
        table = versioned_table(structure)
        id_ = TableId(warehouse.project, dataset, table.name)
        if table not in problems:
            stored = warehouse.read_table(id_)
            problems[table] = list(table_problems(id_, table.columns, stored.columns)) if stored else []
        if problems[table]:
            remedy = f"{id_} is not the table of this version: rename it, and start again"
            found[name] = Problem(name, "warehouse", f"{name}: {'; '.join(problems[table])}", remedy)
    return found
