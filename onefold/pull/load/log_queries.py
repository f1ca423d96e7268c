"""The queries of the log of loads."""

from __future__ import annotations

from datetime import datetime

from onefold.core.names import TableId, quote_text, time_literal
from onefold.pull.load.run_log import LOGGED_AT


def state_query(log: TableId, since: datetime | None) -> str:
    """Return a query of the last load of each table, window, version and state, with the greatest times of all of them.

    Loads of all rows are told apart from others: those that are done, and those of truncated tables that began. A request
    counts as one of the time when it was logged, at most: one that is dated later would let none that follows count.

    Args:
        log: the log of loads.
        since: the first time of logging that is read, so that few partitions are; None for the whole log.
    """
    whole = "IFNULL(IF(l.state = 'begun', l.truncated, l.replaces AND l.days IS NULL), FALSE)"
    group = f"PARTITION BY l.table_name, l.pull_window, l.version, l.state, {whole}"
    rows = (
        f"SELECT l.table_name, l.pull_window, l.version, l.state, l.load_id, l.watermark_column, l.watermark, l.begun_at, "
        f"l.{LOGGED_AT}, l.columns_described, l.key_columns, l.source_created, l.row_versions, "
        f"l.read_at, l.source_table, l.columns_read, l.columns_dropped, {whole} AS whole, "
        f"MAX(LEAST(l.requested_at, l.{LOGGED_AT})) OVER ({group}) AS requested_at, "
        f"MAX(l.read_at) OVER ({group}) AS latest_read_at, "
        f"ROW_NUMBER() OVER ({group} ORDER BY l.begun_at DESC, l.logged_at DESC) AS _rank\n"
        f"FROM {log.quoted} AS l\nWHERE TRUE" + _since("l", since)
    )
    return f"SELECT w.* EXCEPT (_rank)\nFROM (\n{rows}\n) AS w\nWHERE w._rank = 1"


def history_query(log: TableId, table: str, since: datetime) -> str:
    """Return a query of the loads of a table that replaced rows, or tell the keys of days, and of the first load of all.

    Args:
        log: the log of loads.
        table: the base name.
        since: the first time of logging that is read.
    """
    rows = (
        f"SELECT l.pull_window, LEAST(l.requested_at, l.{LOGGED_AT}) AS requested_at, "
        "l.begun_at, l.replaces, l.days, l.keys_of_days, l.watermark_column, "
        "ROW_NUMBER() OVER (ORDER BY l.requested_at) AS _rank\n"
        f"FROM {log.quoted} AS l\n"
        f"WHERE l.state = 'loaded' AND l.pull_window != 'dq' AND l.table_name = {quote_text(table)}{_since('l', since)}"
    )
    return (
        f"SELECT w.* EXCEPT (_rank)\nFROM (\n{rows}\n) AS w\nWHERE w.replaces OR w.keys_of_days IS NOT NULL OR w._rank = 1"
    )


def replacements_query(log: TableId, table: str, since: datetime) -> str:
    """Return a query of the loads that replace rows of a table: when each began, when it was done, and its days.

    Args:
        log: the log of loads.
        table: the base name.
        since: the first time of logging that is read.
    """
    return (
        "SELECT l.load_id, MIN(l.begun_at) AS begun_at, ANY_VALUE(l.days) AS days, "
        "MAX(IF(l.state = 'loaded', l.logged_at, NULL)) AS done_at\n"
        f"FROM {log.quoted} AS l\n"
        f"WHERE l.replaces AND l.table_name = {quote_text(table)}{_since('l', since)}\n"
        "GROUP BY l.load_id"
    )


def begun_query(log: TableId, load_id: str, since: datetime) -> str:
    """Return a query of when a load began first, of any process.

    Args:
        log: the log of loads.
        load_id: its name.
        since: the first time of logging that is read.
    """
    return (
        f"SELECT MIN(l.begun_at) AS begun_at\nFROM {log.quoted} AS l\n"
        f"WHERE l.state = 'begun' AND l.load_id = {quote_text(load_id)}{_since('l', since)}"
    )


def _since(row: str, since: datetime | None) -> str:
    return f" AND {row}.{LOGGED_AT} >= {time_literal(since)}" if since else ""
