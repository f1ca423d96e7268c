"""The use case: a change log and a base make the new base. Everything is checked before anything is written."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from onefold.errors import InvalidInput, NothingFound
from onefold.jobs import UNAVAILABLE_VALUE, ReconcileArguments
from onefold.names import fold_case
from onefold.spark.base import Base, base_rows
from onefold.spark.changes import Log, rows_of, within_sequences
from onefold.spark.copying import FILE, ROW, Kept, can_copy, places_by_file
from onefold.spark.files import reading
from onefold.spark.filesystem import Folder
from onefold.spark.fold import Folded, Merging, count_met, count_winners, fold_changes
from onefold.spark.output import Manifest, finish, is_done, write_base
from onefold.spark.planning import FORMATS, Plan, Tables, make_plan
from onefold.spark.report import BaseWas, Report
from onefold.spark.unavailable import UNAVAILABLE, completed

SHARE_OF_MEMORY = 0.1


class Warehouse(Tables, Protocol):
    """What the job needs of BigQuery."""

    def keys_of(self, arguments: ReconcileArguments) -> tuple[str, ...]:
        """The columns that identify a row, where the arguments name none; raises an error where the tables tell none."""

    def merge(self, winners: Folded, plan: Plan) -> Report:
        """Bring the winners into the base."""


def reconcile(spark: SparkSession, arguments: ReconcileArguments, warehouse: Warehouse | None = None) -> Report:
    """Run the job; the same arguments twice are the same once.

    Raises:
        InvalidInput: everything that is wrong with the arguments and with what they name. Nothing was written.
        NothingFound: the window holds no change. Nothing was written.
        TryAgain: trouble that may pass.
    """
    if not arguments.keys and warehouse is not None:
        arguments = replace(arguments, keys=warehouse.keys_of(arguments))
    if arguments.output is not None:
        done = is_done(Folder(spark, str(arguments.output)), _as_written(arguments))
        if done is not None:
            return replace(Report.of_written(done.report or {}), already=True)
    plan = make_plan(spark, arguments, warehouse)
    with reading("what changes and base name"):
        return replace(_carry_out(spark, plan, warehouse), window=arguments.window)


def _carry_out(spark: SparkSession, plan: Plan, warehouse: Warehouse | None) -> Report:
    changes = _changes(plan)
    folded = count_winners(fold_changes(changes, plan.keys), plan.keys)
    try:
        with _completed(folded, changes, plan) as winners:
            return _merged(spark, plan, winners, warehouse)
    finally:
        folded.release()


def _completed(folded: Folded, changes: DataFrame, plan: Plan) -> AbstractContextManager[Folded]:
    """Give the winners the values that their format could not tell."""
    if UNAVAILABLE not in folded.held.columns:
        return nullcontext(folded)
    base = base_rows(plan.base, plan.columns, plan.arguments.position) if plan.base else None
    return completed(folded, changes, base)


def _merged(spark: SparkSession, plan: Plan, winners: Folded, warehouse: Warehouse | None) -> Report:
    arguments = plan.arguments
    into_bigquery = arguments.output is None and warehouse is not None
    # Where nobody asked for a window there may be nothing new: the next merge reads on from here.
    if not winners.changes and not (into_bigquery and arguments.whole):
        raise NothingFound("there is no change in the window: nothing was written")
    if arguments.output is None and warehouse is not None:
        return warehouse.merge(winners, plan)
    return _write(spark, plan, winners)


def _changes(plan: Plan) -> DataFrame:
    """All changes of the window in one form."""
    return functools.reduce(DataFrame.unionByName, (rows for log in plan.logs for rows in _rows(log, plan)))


def _rows(log: Log, plan: Plan) -> Iterator[DataFrame]:
    landed = log.open(plan.columns)
    if landed.finished:
        yield within_sequences(landed.frame, plan.arguments)
        return
    for part in FORMATS[plan.arguments.format].parts(landed, plan.arguments, plan.columns):
        yield rows_of(part, plan.columns, plan.keys)


def _write(spark: SparkSession, plan: Plan, winners: Folded) -> Report:
    if plan.base is None:
        return _finished(spark, plan, winners.rows, _report_of_first(winners, plan, _base_was(plan.arguments)))
    few = winners.slim_bytes <= _few_bytes(spark)
    files = _files_to_copy(spark, plan.base, plan) if few else ()
    base = base_rows(plan.base, plan.columns, plan.arguments.position, placed=bool(files))
    merging = Merging(base, winners, few, where=(FILE, ROW) if files else ())
    met = merging.met().persist()
    try:
        report = _report_of_merge(met, winners, plan)
        applied = merging.applied(met, all_are=not report.lost and not report.repeated)
        if not files:
            return _finished(spark, plan, merging.result(met, applied), report)
        kept = Kept(plan.base.landed.name, files, places_by_file(merging.replaced(met)), report.rows - _applied(report))
        return _finished(spark, plan, applied, report, kept)
    finally:
        met.unpersist()


def _files_to_copy(spark: SparkSession, base: Base, plan: Plan) -> tuple[str, ...]:
    """Those of a base that stays as it is: in the files of the new base its rows would be the same bytes."""
    if base.manifest is None or base.manifest.columns != plan.columns:
        return ()
    names = [column.name for column in plan.columns]
    files = base.manifest.files
    return files if can_copy(spark, base.landed.name, files, names, str(plan.arguments.output)) else ()


def _applied(report: Report) -> int:
    return report.inserted + report.updated + report.deleted + report.tombstones


def _base_was(arguments: ReconcileArguments) -> BaseWas:
    """What became of a base that was not read."""
    if arguments.base is None:
        return "absent"
    return "ignored" if arguments.mode == "rebuild" else "missing"


def _finished(spark: SparkSession, plan: Plan, rows: DataFrame, report: Report, kept: Kept | None = None) -> Report:
    uri, arguments = str(plan.arguments.output), _as_written(plan.arguments)
    files = write_base(spark, uri, rows, Manifest(arguments, plan.keys), kept)
    landed = {column.name: plan.landed[fold_case(column.name)] for column in plan.columns}
    finish(spark, uri, Manifest(arguments, plan.keys, plan.columns, landed, files, asdict(report)))
    return report


def _few_bytes(spark: SparkSession) -> int:
    """How much is sent to every worker: a part of the memory of the driver, which has to build it."""
    jvm: Any = spark._jvm
    return int(jvm.java.lang.Runtime.getRuntime().maxMemory() * SHARE_OF_MEMORY)


def _report_of_first(winners: Folded, plan: Plan, base: BaseWas) -> Report:
    live = winners.count - winners.deletions
    return Report(
        **_counted(winners, plan), base=base, inserted=live, tombstones=winners.deletions, rows=winners.count, live=live
    )


def _report_of_merge(met: DataFrame, winners: Folded, plan: Plan) -> Report:
    """Count what the winners do to the base before anything is written."""
    counts = count_met(met)
    rows_met, live_met = counts.pop("rows"), counts.pop("live")
    if rows_met != counts.pop("winners"):
        raise InvalidInput(f"{plan.arguments.base} has keys that are not unique among those that changed")
    counts["inserted"] += winners.count - winners.deletions - live_met
    counts["tombstones"] += winners.deletions - (rows_met - live_met)
    counts["disputed"] += winners.disputed
    rows = plan.base_rows + winners.count - rows_met
    live = plan.base_live + counts["inserted"] - counts["deleted"]
    return Report(**{**_counted(winners, plan), **counts}, base="read", base_rows=plan.base_rows, rows=rows, live=live)


def _counted(winners: Folded, plan: Plan) -> dict[str, Any]:
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
