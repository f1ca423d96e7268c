"""The last check of each table, from the log of checks: a difference counts until a later check settles it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from onefold.check.log import CHECKED_AT
from onefold.core.names import TableId, table_name

_WORST = ("failed", "different", "skipped", "fixed", "same")
_SUBJECT = ("source_name", "database_name", "table_name")
_CHUNK = ("chunk_column", "chunk_digest")
_Row = Mapping[str, Any]
_Range = tuple[float, float]


@dataclass(frozen=True)
class LastCheck:
    """The last check of a table against its source.

    Attributes:
        at: when it was.
        outcome: its result in a word, the worst one where the table has rows of several sources or databases; `different`,
            too, as long as no later check found the rows of an earlier difference to be the same, or repaired them.
        repaired: the rows that all checks in the log have repaired.
    """

    at: datetime
    outcome: str
    repaired: int = 0


def checks_query(log: TableId) -> str:
    """Return the query for the checks that tell the last one of each table of each source and database.

    They are the newest row of each chunk, as far back as the oldest of them with a difference, or else the newest of all. So
    a log of years gives few rows. `rows_fixed` is the number for the table.

    Args:
        log: the log of checks.
    """
    subject = ", ".join(f"c.{name}" for name in _SUBJECT)
    chunk = ", ".join(f"c.{name}" for name in (*_CHUNK, "chunk_low", "chunk_high"))
    return (
        f"WITH newest AS (\n  SELECT {subject}, {chunk}, c.outcome, c.{CHECKED_AT},\n"
        f"    SUM(c.rows_fixed) OVER (PARTITION BY {subject}) AS rows_fixed\n  FROM {log.quoted} AS c\n  WHERE TRUE\n"
        f"  QUALIFY ROW_NUMBER() OVER (\n    PARTITION BY {subject}, {chunk}, c.outcome IN ('failed', 'skipped')\n"
        f"    ORDER BY c.{CHECKED_AT} DESC\n  ) = 1\n)\n"
        "SELECT c.*\nFROM newest AS c\nWHERE TRUE\n"
        f"QUALIFY c.{CHECKED_AT} >= COALESCE(\n"
        f"  MIN(IF(c.outcome = 'different', c.{CHECKED_AT}, NULL)) OVER (PARTITION BY {subject}),\n"
        f"  MAX(c.{CHECKED_AT}) OVER (PARTITION BY {subject})\n)"
    )


def last_checks(rows: Iterable[_Row]) -> dict[str, LastCheck]:
    """Return the last check of each table, by its base name.

    Args:
        rows: the rows of `checks_query`, in any order.
    """
    by_subject: dict[tuple[str, ...], list[_Row]] = {}
    for row in sorted(rows, key=lambda row: row["checked_at"]):
        by_subject.setdefault(tuple(row.get(name) or "" for name in _SUBJECT), []).append(row)
    found: dict[str, LastCheck] = {}
    for (*_, table), own in by_subject.items():
        name, at, outcome = table_name(table), own[-1]["checked_at"], _outcome(own)
        known = found.get(name, LastCheck(at, outcome))
        repaired = known.repaired + int(own[-1].get("rows_fixed") or 0)
        found[name] = LastCheck(max(known.at, at), min(known.outcome, outcome, key=_WORST.index), repaired)
    return found


def _outcome(rows: Sequence[_Row]) -> str:
    """Return the outcome of the newest row of a subject, or that an earlier difference is there still."""
    newest: str = rows[-1]["outcome"]
    differs = any(row["outcome"] == "different" and not _is_settled(row, rows[at + 1 :]) for at, row in enumerate(rows))
    return min(newest, "different", key=_WORST.index) if differs else newest


def _is_settled(difference: _Row, later: Sequence[_Row]) -> bool:
    """Return whether later checks found the rows of a chunk to be the same, or repaired them.

    Chunks begin and end elsewhere as a table grows, so that several may cover one. Those of another column, or of another
    form, tell something about it only if they cover the table.
    """
    ranges: dict[tuple[Any, ...], list[_Range]] = {}
    for row in later:
        if row["outcome"] in ("same", "fixed"):
            ranges.setdefault(_form(row), []).append(_range(row))
    return any(
        _cover(good, _range(difference) if form == _form(difference) else (-inf, inf)) for form, good in ranges.items()
    )


def _form(row: _Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in _CHUNK)


def _range(row: _Row) -> _Range:
    """Return the bounds of a chunk, which are whole numbers as text; NULL for none."""
    low, high = row.get("chunk_low"), row.get("chunk_high")
    return -inf if low is None else int(low), inf if high is None else int(high)


def _cover(ranges: Iterable[_Range], wanted: _Range) -> bool:
    """Return whether ranges leave no gap in another one.

    Examples:
        >>> _cover([(0, 5), (5, inf)], (1, 9)), _cover([(0, 5), (6, inf)], (1, 9))
        (True, False)
    """
    reached, end = wanted
    for low, high in sorted(ranges):
        if low > reached:
            break
        reached = max(reached, high)
    return reached >= end
