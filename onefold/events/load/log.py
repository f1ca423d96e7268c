"""The log of loads: what became of each run, and which runs wait. Alarms match these lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from onefold.core.errors import TryAgain
from onefold.core.text import counted
from onefold.events.load.external import ExternalReport
from onefold.events.load.report import EventTableReport, RunReport
from onefold.events.load.runs import started_at

WriteEvent = Callable[..., None]
"""Writes one event of the log, as `onefold.core.log.log`: severity, message, `event` and other fields."""


def log_report(report: RunReport, write: WriteEvent) -> None:
    """Write what became of a run and of its tables."""
    for table in report.tables:
        _log_table(report.run, table, write)
    if report.error and not isinstance(report.error, TryAgain):
        text = f"{report.run} is refused: {report.error}"
        write("CRITICAL", text, event="run_refused", run=report.run, reason=str(report.error))
    if report.state == "loaded":
        _log_loaded(report, write)


def _log_loaded(report: RunReport, write: WriteEvent) -> None:
    rows = sum(table.rows for table in report.tables)
    write(
        "NOTICE",
        f"{report.run}: {counted(rows, 'row')} of {counted(len(report.tables), 'table')} loaded",
        event="run_loaded",
        run=report.run,
        rows=rows,
        tables=len(report.tables),
        bad=report.bad,
    )


def _log_table(run: str, table: EventTableReport, write: WriteEvent) -> None:
    fields = {"run": run, "table": table.table, "rows": table.rows}
    if table.is_new_recovery:
        text = f"{table.table}: a version of the schema does not fit into the table of its model, and has this table"
        write("CRITICAL", text, event="recovery_table", **fields)
    if table.error and not isinstance(table.error, TryAgain):
        text = f"{table.table}: {counted(table.rows, 'row')} of {run} are not loaded: {table.error}"
        write("CRITICAL", text, event="table_not_loaded", **fields, reason=str(table.error))
    elif table.state == "loaded":
        write(
            "NOTICE" if table.action != "none" else "INFO",
            f"{table.table}: {counted(table.rows, 'row')} loaded",
            event="shredded_rows_loaded",
            **fields,
            action=table.action,
            added=list(table.added) or None,
            described=list(table.described) or None,
            job=table.job or None,
        )


def log_external(report: ExternalReport, write: WriteEvent) -> None:
    """Write what became of an external table; nothing where it is as it was."""
    if report.error:
        text = f"{report.name}: runs are not read in place: {report.error}"
        write("CRITICAL", text, event="external_table_failed", table=report.name, reason=str(report.error))
    elif report.is_news:
        text = f"{report.name}: {counted(len(report.added), 'run')} more can be read in place"
        write("NOTICE", text, event="external_table", table=report.name, action=report.action, runs=list(report.added))


def log_waiting(runs: Sequence[str], now: datetime, write: WriteEvent) -> None:
    """Write how many finished runs are not loaded and since when, also where there is none: a silent loader is an alarm.

    Args:
        runs: the addresses of the runs, the oldest first.
        now: the time.
        write: writes the event.
    """
    oldest = runs[0] if runs else None
    write(
        "INFO",
        f"{counted(len(runs), 'finished run')} not loaded" + (f", the oldest is {oldest}" if oldest else ""),
        event="runs_waiting",
        runs=len(runs),
        run=oldest,
        seconds=int((now - started_at(oldest)).total_seconds()) if oldest else 0,
    )
