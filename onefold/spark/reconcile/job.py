"""The use case: a change log and a base make the new base. Everything is checked before anything is written."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from onefold.batches.arguments import UNAVAILABLE_VALUE, ReconcileArguments
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import fold_case
from onefold.spark.io.base_folder import BaseFolder, BaseOutput, Manifest, StagedFiles, StoredFiles, is_done, written
from onefold.spark.io.files import reading
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.frames import ChangeLog
from onefold.spark.reconcile.base import base_rows
from onefold.spark.reconcile.change_log import rows_of, within_sequences
from onefold.spark.reconcile.latest import BaseMerge, Winners, count_met, fold, in_memory
from onefold.spark.reconcile.parquet_merge import can_copy, copy_without, merge_files
from onefold.spark.reconcile.plan import FORMATS, JobPlan, JobTables, make_plan
from onefold.spark.reconcile.report import BaseWas, JobReport
from onefold.spark.reconcile.unavailable import UNAVAILABLE, completed

SHARE_OF_MEMORY = 0.1


class JobWarehouse(JobTables, Protocol):
    """What the job needs of BigQuery."""

    def keys_of(self, arguments: ReconcileArguments) -> tuple[str, ...]:
        """The columns that identify a row, where the arguments name none; raises an error where the tables tell none."""

    def merge(self, winners: Winners, plan: JobPlan) -> JobReport:
        """Bring the winners into the base."""


def reconcile(spark: SparkSession, arguments: ReconcileArguments, warehouse: JobWarehouse | None = None) -> JobReport:
    """Run the job; the same arguments twice are the same once.

    Raises:
        InvalidInput: everything that is wrong with the arguments and with what they name. Nothing was written.
        NotFound: the window holds no change. Nothing was written.
        TryAgain: trouble that may pass.
    """
    if not arguments.keys and warehouse is not None:
        arguments = replace(arguments, keys=warehouse.keys_of(arguments))
    if arguments.output is not None:
        done = is_done(Folder(spark, str(arguments.output)), _as_written(arguments))
        if done is not None:
            return replace(JobReport.of_written(done.report or {}), already=True)
    plan = make_plan(spark, arguments, warehouse)
    with reading("what changes and base name"):
        return replace(_carry_out(spark, plan, warehouse), window=arguments.window)


def _carry_out(spark: SparkSession, plan: JobPlan, warehouse: JobWarehouse | None) -> JobReport:
    arguments = plan.arguments
    if arguments.output is None and warehouse is not None:
        # Where nobody asked for a window there may be nothing new: the next merge reads on from here.
        with _in_memory(plan, may_be_none=arguments.whole) as winners:
            return warehouse.merge(winners, plan)
    begun = Manifest(_as_written(arguments), plan.keys)
    with written(spark, str(arguments.output), begun) as output:
        return _write(plan, output)


@contextmanager
def _in_memory(plan: JobPlan, *, may_be_none: bool = False) -> Iterator[Winners]:
    """Give the winners, with the values that their format could not tell.

    Raises:
        NotFound: there is no change.
    """
    changes = _changes(plan)
    with in_memory() as keep:
        folded = fold(changes, plan.keys, keep)
        if not may_be_none:
            _check_any(folded)
        if UNAVAILABLE not in changes.columns:
            yield folded
            return
        base = base_rows(plan.base, plan.columns, plan.arguments.position) if plan.base else None
        with completed(folded, changes, base) as winners:
            yield winners


def _changes(plan: JobPlan) -> DataFrame:
    """All changes of the window in one form."""
    return functools.reduce(DataFrame.unionByName, (rows for log in plan.logs for rows in _rows(log, plan)))


def _rows(log: ChangeLog, plan: JobPlan) -> Iterator[DataFrame]:
    landed = log.open(plan.columns)
    if landed.finished:
        yield within_sequences(landed.frame, plan.arguments)
        return
    for part in FORMATS[plan.arguments.format].parts(landed, plan.arguments, plan.columns):
        yield rows_of(part, plan.columns, plan.keys)


def _staged(plan: JobPlan, output: BaseOutput) -> tuple[Winners, StagedFiles]:
    """The winners in files, which become the new base's where all goes well."""
    changes = _changes(plan)
    if UNAVAILABLE in changes.columns:
        with _in_memory(plan) as winners:
            staged = output.stage(winners.rows)
        return replace(winners, rows=staged.rows), staged
    found: list[StagedFiles] = []

    def keep(rows: DataFrame) -> DataFrame:
        found.append(output.stage(rows))
        return found[0].rows

    folded = fold(changes, plan.keys, keep)
    _check_any(folded)
    return folded, found[0]


def _check_any(folded: Winners) -> None:
    if not folded.changes:
        raise NotFound("there is no change in the window: nothing was written")


def _write(plan: JobPlan, output: BaseOutput) -> JobReport:
    winners, staged = _staged(plan, output)
    if plan.base is None:
        output.take(staged)
        return _finished(plan, output, _report_of_first(winners, plan, _base_was(plan.arguments)))
    few = winners.slim_bytes <= _few_bytes(output.spark)
    files = _files_to_copy(output.spark, plan.base, plan) if few else ()
    if files:
        return _merge_files(plan, output, winners, staged, files)
    return _join(plan, output, winners, plan.base, few=few)


def _merge_files(
    plan: JobPlan, output: BaseOutput, winners: Winners, staged: StagedFiles, files: Sequence[str]
) -> JobReport:
    """Keep the base's files, without the rows that are replaced, beside those of the winners."""
    copied = merge_files(output.spark, str(plan.arguments.base), files, staged, plan.keys, output.uri)
    report = _report_of_merge(dict(copied.counts), winners, plan)
    if any(copied.late):
        copy_without(output.spark, staged, copied.late, output.uri)
    else:
        output.take(staged)
    late = sum(map(len, copied.late))
    return _finished(plan, output, report, StoredFiles(copied.files + staged.files, copied.rows + copied.winners - late))


def _join(plan: JobPlan, output: BaseOutput, winners: Winners, base: BaseFolder, *, few: bool) -> JobReport:
    """Write every row anew."""
    merging = BaseMerge(base_rows(base, plan.columns, plan.arguments.position), winners, few)
    met = merging.met().persist()
    try:
        counts = count_met(met)
        if counts["rows"] != counts.pop("winners"):
            raise InvalidInput(f"{plan.arguments.base} has keys that are not unique among those that changed")
        report = _report_of_merge(counts, winners, plan)
        output.write(merging.result(met, merging.applied(met, all_are=not report.lost and not report.repeated)))
        return _finished(plan, output, report)
    finally:
        met.unpersist()


def _files_to_copy(spark: SparkSession, base: BaseFolder, plan: JobPlan) -> tuple[str, ...]:
    """Those of a base that stays as it is: in the files of the new base its rows would be the same bytes."""
    if base.manifest is None or base.manifest.columns != plan.columns:
        return ()
    if not (plan.arguments.position or base.has_present_positions):
        return ()  # each position has to be looked at
    files = base.manifest.files
    return files if can_copy(spark, base.landed.name, files, str(plan.arguments.output)) else ()


def _base_was(arguments: ReconcileArguments) -> BaseWas:
    """What became of a base that was not read."""
    if arguments.base is None:
        return "absent"
    return "ignored" if arguments.mode == "rebuild" else "missing"


def _finished(plan: JobPlan, output: BaseOutput, report: JobReport, stored: StoredFiles | None = None) -> JobReport:
    landed = {column.name: plan.landed[fold_case(column.name)] for column in plan.columns}
    manifest = Manifest(_as_written(plan.arguments), plan.keys, plan.columns, landed, report=asdict(report))
    output.finish(manifest, report.rows, stored)
    return report


def _few_bytes(spark: SparkSession) -> int:
    """How much is sent to every worker: a part of the memory of the driver, which has to build it."""
    jvm: Any = spark._jvm
    return int(jvm.java.lang.Runtime.getRuntime().maxMemory() * SHARE_OF_MEMORY)


def _report_of_first(winners: Winners, plan: JobPlan, base: BaseWas) -> JobReport:
    live = winners.count - winners.deletions
    return JobReport(
        **_counted(winners, plan), base=base, inserted=live, tombstones=winners.deletions, rows=winners.count, live=live
    )


def _report_of_merge(counts: dict[str, int], winners: Winners, plan: JobPlan) -> JobReport:
    """Return what the winners do to the base, from the counts of those whose keys it has."""
    rows_met, live_met = counts.pop("rows"), counts.pop("live")
    counts["inserted"] += winners.count - winners.deletions - live_met
    counts["tombstones"] += winners.deletions - (rows_met - live_met)
    counts["disputed"] += winners.disputed
    rows = plan.base_rows + winners.count - rows_met
    live = plan.base_live + counts["inserted"] - counts["deleted"]
    return JobReport(**{**_counted(winners, plan), **counts}, base="read", base_rows=plan.base_rows, rows=rows, live=live)


def _counted(winners: Winners, plan: JobPlan) -> dict[str, Any]:
    return {
        "changes": winners.changes,
        "keys": winners.count,
        "disputed": winners.disputed,
        "without_sequence": winners.unplaced,
        # Positions of periodic pulls have a time or a text in place of a sequence.
        "ordered_by_text": 0 if plan.arguments.position else winners.by_text,
        "unavailable_values": winners.unavailable,
        "unknown_values": winners.unknown,
        "columns": {column.name: str(column.type) for column in plan.columns},
    }


def _as_written(arguments: ReconcileArguments) -> dict[str, Any]:
    """The arguments as values of JSON, without the output itself: a folder may be moved."""
    # Bases that were made before there was this argument do not name it.
    own = arguments.unavailable != UNAVAILABLE_VALUE
    return {
        **({"unavailable_value": arguments.unavailable} if own else {}),
        "changes": [str(uri) for uri in arguments.changes],
        "base": str(arguments.base) if arguments.base else None,
        "keys": list(arguments.keys),
        "from": _written_bound(arguments.start),
        "to": _written_bound(arguments.end),
        "format": arguments.format,
        "mode": arguments.mode,
        "position": arguments.position,
    }


def _written_bound(bound: datetime | str | None) -> str | None:
    return bound.isoformat() if isinstance(bound, datetime) else bound
