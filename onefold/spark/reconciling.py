"""The use case: a change log and a base make the new base. Everything is checked before anything is written."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Protocol

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.base import DELETED, POSITION
from onefold.errors import InvalidInput, NothingFound
from onefold.jobs import ReconcileArguments
from onefold.names import fold_case
from onefold.spark.base import base_rows
from onefold.spark.changes import Log, rows_of, within_sequences
from onefold.spark.filesystem import Folder
from onefold.spark.fold import FEW_BYTES, Folded, Merged, count_winners, disputes, fold_changes, merge
from onefold.spark.output import Manifest, finish, is_done, write_base
from onefold.spark.planning import FORMATS, Plan, Tables, make_plan
from onefold.spark.report import Report


class Warehouse(Tables, Protocol):
    """What the job needs of BigQuery."""

    def merge(self, winners: Folded, plan: Plan) -> Report:
        """Bring the winners into the base."""


def reconcile(spark: SparkSession, arguments: ReconcileArguments, warehouse: Warehouse | None = None) -> Report:
    """Run the job; the same arguments twice are the same once.

    Raises:
        InvalidInput: everything that is wrong with the arguments and with what they name. Nothing was written.
        NothingFound: the window holds no change. Nothing was written.
        TryAgain: trouble that may pass.
    """
    if arguments.output is not None:
        done = is_done(Folder(spark, str(arguments.output)), _as_written(arguments))
        if done is not None:
            return replace(Report(**(done.report or {})), done=False)
    plan = make_plan(spark, arguments, warehouse)
    winners = count_winners(fold_changes(_changes(plan), plan.keys), plan.keys)
    try:
        into_bigquery = arguments.output is None and warehouse is not None
        # Where nobody asked for a window there may be nothing new: the next merge reads on from here.
        if not winners.changes and not (into_bigquery and arguments.whole):
            raise NothingFound("there is no change in the window: nothing was written")
        if arguments.output is None and warehouse is not None:
            return warehouse.merge(winners, plan)
        return _write(spark, plan, winners)
    finally:
        winners.rows.unpersist()


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
    uri, arguments = str(plan.arguments.output), _as_written(plan.arguments)
    begun = Manifest(arguments, plan.keys)
    if plan.base is None:
        files = write_base(spark, uri, winners.rows, begun)
        report = _report_of_first(winners, plan)
    else:
        merged = merge(base_rows(plan.base, plan.columns), winners, few=winners.size <= FEW_BYTES)
        seen = Observation()
        observed = replace(merged, rows=merged.rows.observe(seen, *_metrics(merged)))
        files = write_base(spark, uri, observed.result(), begun)
        report = _report_of_merge(winners, plan, seen.get)
    landed = {column.name: plan.landed[fold_case(column.name)] for column in plan.columns}
    finish(spark, uri, Manifest(arguments, plan.keys, plan.columns, landed, files, asdict(report)))
    return report


def _metrics(merged: Merged) -> list[Value]:
    """What is counted while the new base is written."""
    was, gone = merged.of_base(DELETED), merged.of_winner(DELETED)
    there, both = merged.in_base & ~was, merged.in_base & merged.in_changes
    before, after = merged.of_base(POSITION), merged.of_winner(POSITION)
    counts = {
        "base_rows": merged.in_base,
        "met": both,
        "inserted": merged.applied & ~gone & ~F.coalesce(there, F.lit(False)),
        "updated": merged.applied & ~gone & there,
        "deleted": merged.applied & gone & there,
        "tombstones": merged.applied & gone & ~F.coalesce(there, F.lit(False)),
        "repeated": both & (before == after),
        "lost": both & (before > after),
        "disputed": both & disputes(before, after),
        "live": ~F.when(merged.applied, gone).otherwise(was),
    }
    return [F.count("*").alias("rows"), *(F.count_if(which).alias(name) for name, which in counts.items())]


def _report_of_merge(winners: Folded, plan: Plan, counted: Mapping[str, Any]) -> Report:
    counts = dict(counted)
    # Every winner meets one row of the base or none: more rows than that are keys that the base has twice.
    if counts["rows"] - counts["base_rows"] + counts.pop("met") != winners.count:
        raise InvalidInput(f"{plan.arguments.base} has keys that are not unique: the new base was not finished")
    counts["disputed"] += winners.disputed
    return Report(
        changes=winners.changes,
        keys=winners.count,
        without_sequence=winners.unplaced,
        base="read",
        columns={column.name: str(column.type) for column in plan.columns},
        **counts,
    )


def _report_of_first(winners: Folded, plan: Plan) -> Report:
    live = winners.count - winners.deletions
    return Report(
        changes=winners.changes,
        keys=winners.count,
        inserted=live,
        tombstones=winners.deletions,
        disputed=winners.disputed,
        without_sequence=winners.unplaced,
        base="ignored" if plan.arguments.mode == "rebuild" and plan.arguments.base else "absent",
        rows=winners.count,
        live=live,
        columns={column.name: str(column.type) for column in plan.columns},
    )


def _as_written(arguments: ReconcileArguments) -> dict[str, Any]:
    """The arguments as values of JSON, without the output itself: a folder may be moved."""
    return {
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
