"""The job that shreds the files of events that no run has taken yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from onefold.batches.shred_arguments import ShredArguments
from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.text import shown_lines, shown_list
from onefold.events.load.runs import runs_address
from onefold.events.registry.copies import Copies
from onefold.events.registry.frozen import Wanted
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.alarms import KNOWN_FOR, log_late, log_run
from onefold.events.shred.bad_reasons import most_frequent
from onefold.events.shred.counts import problems_of_counts
from onefold.events.shred.duplicates import DUPLICATE
from onefold.events.shred.manifest import RunManifest, ShreddedTable
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.report import ShredReport
from onefold.events.shred.runs import is_unfinished, not_taken, problems_of_input, start_of
from onefold.events.shred.set_aside import SetAside, StoredFile, problems_of_names
from onefold.events.shred.tally import EVENT_IDS, Tally
from onefold.events.shred.used_schemas import used_schemas
from onefold.events.shred.wide import plan_wide, target_of
from onefold.spark.shred.files import placed_tables
from onefold.spark.shred.form import compression_of
from onefold.spark.shred.named_schemas import named_schemas
from onefold.spark.shred.output import Output
from onefold.spark.shred.places import find_events, plain_address
from onefold.spark.shred.quarantine import DamagedFiles, with_readable
from onefold.spark.shred.registry import FolderCopies
from onefold.spark.shred.write import write_run

ReadRegistry = Callable[[Wanted, Copies], Registry]
"""Reads the registries. Takes what collects the schemas that the events name, and the copies of earlier runs."""


def shred(spark: SparkSession, arguments: ShredArguments, read_registry: ReadRegistry) -> ShredReport:
    """Shred the files of events that no manifest lists.

    Args:
        spark: the session.
        arguments: those of the job.
        read_registry: reads the schemas of the registries.

    Raises:
        InvalidInput: there are no such events, or the registry or the output cannot be used.
        InputsTaken: another run has read some of the same files, and finished first.
        OnefoldError: the registry or the output does not answer.
    """
    output = Output(spark, arguments.output)
    taken = output.read()
    found = _inputs(find_events(spark, arguments.events), arguments.events, output)
    if not arguments.dry_run:
        _log_late(output, datetime.now(UTC))
    inputs = not_taken(found, taken)
    known = output.quarantine.reasons(inputs)
    report = ShredReport(None, arguments.output, 0, len(found) - len(inputs), dry_run=arguments.dry_run, set_aside=known)
    files = not_taken(inputs, known)
    if not files:
        return report
    started = datetime.now(UTC)
    copies = FolderCopies(output.folder, dry_run=arguments.dry_run)
    own = {SchemaKey.parse(DUPLICATE)} if arguments.duplicates_window else set()
    registry = read_registry(lambda: named_schemas(spark, arguments, started, files) | own, copies)
    plan = _plan(arguments, registry, started)
    if arguments.duplicates_window:
        _check_duplicate(plan)
    report = replace(report, unusable=plan.unusable, stale=registry.stale)
    return _Job(spark, arguments, output, registry, plan, started).run(files, report)


def _plan(arguments: ShredArguments, registry: Registry, started: datetime) -> ShredPlan:
    if arguments.layout == "wide":
        return plan_wide(registry, arguments.input, started, arguments.unknown)
    form = arguments.input, started, arguments.unknown, arguments.target_warehouse
    return plan_shred(registry, arguments.file_format, *form)


@dataclass(frozen=True)
class _Written:
    """What was counted, and, unless nothing was to be written, the run and its tables."""

    tally: Tally
    run: str | None = None
    tables: tuple[ShreddedTable, ...] = ()


@dataclass(frozen=True)
class _Job:
    spark: SparkSession
    arguments: ShredArguments
    output: Output
    registry: Registry
    plan: ShredPlan
    started: datetime

    def run(self, files: Mapping[str, StoredFile], report: ShredReport) -> ShredReport:
        """Shred files, but for those that cannot be read, which are set aside; return the report."""
        removed = () if self.arguments.dry_run else self._without_abandoned()
        named = problems_of_names(files)
        work = self._count if self.arguments.dry_run else self._write
        written, read, damaged = with_readable(not_taken(files, named), work)
        unreadable = dict(sorted({**named, **damaged}.items()))
        for address, reason in () if self.arguments.dry_run else unreadable.items():
            self.output.quarantine.add(SetAside.of(address, files[address], reason, datetime.now(UTC)))
        aside = {**report.set_aside, **unreadable}
        report = replace(report, removed=removed, set_aside=aside, found_unreadable=tuple(unreadable))
        if written is None:
            return report
        if written.run:
            self._finish(written.run, written, read)
        return self._counted(replace(report, run=written.run, inputs=len(read)), written.tally)

    def _without_abandoned(self) -> tuple[str, ...]:
        removed = self.output.abandoned(self.started)
        for run in removed:
            self.output.remove(run)
        return tuple(removed)

    def _count(self, files: Mapping[str, StoredFile]) -> _Written:
        return _Written(write_run(self.spark, self.plan, files, None, self._earlier()))

    def _write(self, files: Mapping[str, StoredFile]) -> _Written:
        run = self.output.start(self.started)
        folder = self.output.run_folder(run)
        try:
            plan = replace(self.plan, run=runs_address(folder.qualified()))
            tally = write_run(self.spark, plan, files, folder, self._earlier())
        except DamagedFiles:
            self.output.remove(run)
            raise
        return _Written(tally, run, placed_tables(folder, self.plan, tally))

    def _earlier(self) -> dict[str, int] | None:
        """Return the folders and numbers of the ids with which this run is compared; None where all events are taken."""
        days = self.arguments.duplicates_window
        return self.output.ids_since(self.started - timedelta(days=days)) if days else None

    def _duplicates(self, tally: Tally) -> Mapping[str, int]:
        """Return what became of duplicates; an empty mapping where all events are taken."""
        earlier = self._earlier()
        if earlier is None:
            return {}
        return {
            "window_days": self.arguments.duplicates_window,
            "runs": len(earlier),
            "ids": sum(file.rows for file in tally.files if file.table == EVENT_IDS),
            "left_out": tally.left_out,
            "renamed": tally.renamed,
        }

    def _finish(self, run: str, written: _Written, files: Mapping[str, StoredFile]) -> None:
        """Write the manifest.

        Raises:
            TryAgain: the counts do not add up, so nobody should load the run.
        """
        tally, bad = written.tally, dict(sorted(written.tally.bad.items()))
        rows = {table.name: table.rows for table in written.tables}
        if problems := list(problems_of_counts(tally.events, bad, rows, tally.retried, tally.left_out, tally.renamed)):
            raise TryAgain(f"{self.output.folder.uri}, run {run}: {shown_list(problems, joint='; ')}: start the job again")
        manifest = RunManifest(
            run=run,
            format=self.plan.form.format,
            compression=compression_of(self.plan.form),
            registry=",".join(plain_address(address) for address in self.arguments.registry),
            inputs=tuple(files),
            schemas=used_schemas(self.registry, tally.schemas),
            tables=written.tables,
            events=tally.events,
            bad=bad,
            started_at=self.started,
            completed_at=datetime.now(UTC),
            reasons=most_frequent(tally.reasons),
            bad_entities=dict(sorted(tally.bad_entities.items())),
            retried=tally.retried,
            duplicates=self._duplicates(tally),
            warehouse=self.plan.form.warehouse,
        )
        self.output.finish(manifest)
        known = self.output.reasons_since(self.started - KNOWN_FOR)
        log_run(self.arguments.output, manifest, known, self.arguments.bad_percent)

    def _counted(self, report: ShredReport, tally: Tally) -> ShredReport:
        tables = {target_of(self.plan.tables[number]): rows for number, rows in sorted(tally.rows.items())}
        bad, apart = (dict(sorted(counts.items())) for counts in (tally.bad, tally.bad_entities))
        report = replace(report, events=tally.events, tables=tables, bad=bad, bad_entities=apart, retried=tally.retried)
        return replace(report, duplicates=self._duplicates(tally))


def _log_late(output: Output, now: datetime) -> None:
    if runs := output.late(now):
        log_late(output.folder.uri, runs, (now - start_of(runs[0])) / timedelta(hours=1))


def _check_duplicate(plan: ShredPlan) -> None:
    """Check that the registry has the schema of the context that events with another id get.

    Raises:
        InvalidInput: it has not.
    """
    schema = plan.schemas.get(DUPLICATE)
    if schema is None or schema.table is None:
        raise InvalidInput(
            f"--duplicates-window: the registry has no usable schema {DUPLICATE}, of the context that an event with another "
            "id gets: add it, as Iglu Central has it, or leave the option out"
        )


def _inputs(found: Mapping[str, StoredFile], places: Sequence[str], output: Output) -> dict[str, StoredFile]:
    """Return the files of events without those that a pattern matched in runs that are killed or still at work.

    Args:
        found: the files.
        places: the files, folders and patterns of the command line.
        output: the folder of the runs.

    Raises:
        InvalidInput: files of runs are read as events, other than bad rows of finished runs.
    """
    root = f"{plain_address(output.folder.qualified())}/"
    inside = {address: address.removeprefix(root) for address in found if address.startswith(root)}
    problems = {place: problems_of_input(path, output.runs.finished) for place, path in inside.items()}
    matched = {
        place for place, path in inside.items() if is_unfinished(path, output.runs.finished) and not _is_named(path, places)
    }
    if wrong := [f"--events: {place} {problem}" for place, problem in problems.items() if problem and place not in matched]:
        raise InvalidInput(shown_lines(wrong))
    return {address: file for address, file in found.items() if address not in matched}


def _is_named(path: str, places: Sequence[str]) -> bool:
    return any(path.partition("/")[0] in place for place in places)
