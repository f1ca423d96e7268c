"""The checks that read rows of a table: each is a query that counts, and a query that shows examples."""

from __future__ import annotations

from collections.abc import Iterator

from onefold.changelog.position import natural_sql
from onefold.core.names import quote
from onefold.existing.audit.finding import RowCheck
from onefold.existing.current_query import RANK, latest_rows, only_newest
from onefold.existing.discover import Discovered
from onefold.existing.table import ROW, LogFile
from onefold.schema.diff import Severity

_MOST_EXAMPLES = 10
_HOUR = 3_600_000
_LANDED, _PREVIOUS = "_onefold_landed", "_onefold_previous"
_ALL_SHOWN = (
    "a current view shows each of these rows, too: correct the key, or what the tool writes; a history needs `rows: history`"
)


def row_checks(one: Discovered) -> Iterator[RowCheck]:
    """Yield the checks of a table that its tool's columns and its key allow.

    Args:
        one: the table and what it is.
    """
    found = one.found
    if found.rows == "own":
        return
    if found.key:
        yield from _of_keys(one)
    if found.key and found.order and found.rows == "history":
        yield from _of_order(one)
    yield from _of_deletions(one)
    yield from _of_values(one)
    if found.log and found.rows == "history" and not one.table.order_by:
        yield _another_log(one, found.log)


def _of_keys(one: Discovered) -> Iterator[RowCheck]:
    found = one.found
    if found.rows == "current":
        live = f"NOT ({found.deleted})" if found.deleted else "TRUE"
        severity = Severity.WARNING if found.confidence == "guess" else Severity.CRITICAL
        yield _repeated(
            one,
            "duplicates",
            severity,
            "keys with more than one row, in a table of one row for each key",
            live,
            _ALL_SHOWN,
        )
    elif found.active:
        text = "keys with more than one row that the tool calls the current one"
        yield _repeated(one, "duplicates", Severity.CRITICAL, text, found.active, _ALL_SHOWN)
    elif found.order:
        text = "changes that are in the table more than once"
        remedy = "equal changes count as one in a current view and in a base, whichever query reads them"
        order = [term.sql for term in found.order]
        yield _repeated(one, "repeated changes", Severity.INFO, text, "TRUE", remedy, order)


def _repeated(
    one: Discovered, name: str, severity: Severity, text: str, condition: str, remedy: str, also: list[str] | None = None
) -> RowCheck:
    """Return a check that groups rows by the key, and by further values, and finds groups of several rows."""
    key = [one.found.key_sql(column) for column in one.found.key]
    group = ", ".join([*key, *(also or [])])
    newest = only_newest(one.id, one.found)
    conditions = " AND ".join(part for part in (newest, condition) if part)
    rest = f"FROM {one.id.quoted} AS {ROW}\nWHERE {conditions}\nGROUP BY {group}\nHAVING COUNT(*) > 1"
    named = ", ".join(f"{sql} AS {quote(column)}" for sql, column in zip(key, one.found.key, strict=True))
    return RowCheck(
        name, severity, text,
        f"SELECT COUNT(*) FROM (SELECT 1 AS one {rest})",
        f"SELECT {named}, COUNT(*) AS row_count\n{rest}\nORDER BY row_count DESC\nLIMIT {_MOST_EXAMPLES}",
        remedy,
    )  # fmt: skip


def _of_order(one: Discovered) -> Iterator[RowCheck]:
    found = one.found
    first = found.order[0]
    if found.landed and not (first.column and quote(first.column) in found.landed):
        yield _late(one)
    if found.key_change:
        rows = latest_rows(one.id, found)
        yield _counted(
            "ghosts of changed keys", Severity.WARNING,
            "keys that were changed away, which a query that leaves out change_type DELETE alone still shows",
            f"FROM {rows}\nWHERE {ROW}.{RANK} = 1 AND {found.key_change}",
            "an UPDATE-DELETE is a deletion in every view and base of Onefold",
        )  # fmt: skip


def _late(one: Discovered) -> RowCheck:
    """Return the check for rows that landed after a newer row of their key.

    The rows of a key get a rank by the order of the source; read by landing, a rank must never be below the one before.
    """
    found = one.found
    key = ", ".join(map(found.key_sql, found.key))
    order = ", ".join(term.sql for term in found.order)
    # The time of landing may be a pseudo-column, which `r.*` of a subquery does not have.
    ranked = (
        f"(SELECT {ROW}.*, RANK() OVER (PARTITION BY {key} ORDER BY {order}) AS {RANK}, {found.landed} AS {_LANDED}\n"
        f"  FROM {one.id.quoted} AS {ROW}) AS {ROW}"
    )
    previous = f"LAG({ROW}.{RANK}) OVER (PARTITION BY {key} ORDER BY {ROW}.{_LANDED}, {ROW}.{RANK})"
    return _counted(
        "out of order", Severity.WARNING,
        "rows that landed after a newer row of their key: a query that takes the last row to land may show them",
        f"FROM (SELECT {ROW}.*, {previous} AS {_PREVIOUS}\nFROM {ranked}) AS {ROW}\n"
        f"WHERE {ROW}.{RANK} < {ROW}.{_PREVIOUS}",
        "Onefold orders changes by their position in the source, never by when they landed",
    )  # fmt: skip


def _of_deletions(one: Discovered) -> Iterator[RowCheck]:
    found = one.found
    if found.deleted and found.rows == "current":
        yield _counted(
            "deleted rows", Severity.WARNING, "rows that the source has deleted, and that a query of the table shows",
            f"FROM {one.id.quoted} AS {ROW}\nWHERE {found.deleted}", "a current view leaves them out",
        )  # fmt: skip
    elif found.deleted and found.key and found.order:
        rows = latest_rows(one.id, found)
        yield _counted(
            "deleted rows", Severity.INFO, "keys whose last change is a deletion",
            f"FROM {rows}\nWHERE {ROW}.{RANK} = 1 AND {found.deleted}",
            "a current view leaves them out, and a base keeps a tombstone, so that no older row brings them back",
        )  # fmt: skip


def _another_log(one: Discovered, log: LogFile) -> RowCheck:
    """Return the check for files of a log that came after files of numbers that are not lower: of another log.

    The hour leaves room for changes that are written late, since a change has the time of its statement.
    """
    files = (
        f"(SELECT {log.name} AS file, {log.server} AS server, MIN({log.time}) AS began, MAX({log.time}) AS ended\n"
        f"  FROM {one.id.quoted} AS {ROW}\n  WHERE {log.name} != ''\n  GROUP BY 1, 2)"
    )
    follows = f"{natural_sql('later.file')} <= {natural_sql('earlier.file')} AND later.began > earlier.ended + {_HOUR}"
    return _counted(
        "another log", Severity.WARNING,
        "files of the log that began an hour and more after files of the same or a higher number had ended, as after a "
        "failover: changes of the later log count as the older ones",
        f"FROM (SELECT later.file, later.server, MIN(later.began) AS began\n  FROM {files} AS later\n"
        f"  JOIN {files} AS earlier\n  ON {follows}\n  GROUP BY later.file, later.server) AS {ROW}",
        "have the tool write a new table from a snapshot of the present server, and read that one: no column orders the "
        "changes of two logs",
    )  # fmt: skip


def _of_values(one: Discovered) -> Iterator[RowCheck]:
    found, table = one.found, one.id.quoted
    if found.newest:
        yield _counted(
            "replaced rows", Severity.WARNING, f"rows of an earlier {found.newest}, which the tool has replaced",
            f"FROM {table} AS {ROW}\nWHERE NOT ({only_newest(one.id, found)})",
            "the query of `onefold discover --json` leaves them out",
        )  # fmt: skip
    if found.lost:
        yield _counted(
            "lost values", Severity.CRITICAL, "rows with a value that the tool set to NULL, since it did not fit its type",
            f"FROM {table} AS {ROW}\nWHERE {found.lost}",
            "no query brings them back: load the rows again with a wider type. Onefold keeps each type in a version",
        )  # fmt: skip


def _counted(name: str, severity: Severity, text: str, rest: str, remedy: str) -> RowCheck:
    """Return a check that counts rows of a query from its FROM on."""
    examples = f"SELECT {ROW}.*\n{rest}\nLIMIT {_MOST_EXAMPLES}"
    return RowCheck(name, severity, text, f"SELECT COUNT(*) {rest}", examples, remedy)
