"""Reads the ledger by its view, and what was decided since."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from onefold.changes.decided import decided, is_held, later_names
from onefold.changes.decisions import read_verdicts
from onefold.changes.entry import Entry
from onefold.changes.ledger import ledger_view
from onefold.changes.rows import entry_of
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import quote_text
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.contract_rules import Verdicts

_AGO = re.compile(r"([0-9]{1,5})([dh])", re.ASCII)


def read_entries(
    warehouse: BaseWarehouse,
    dataset: str,
    own: Verdicts,
    since: datetime | None = None,
    of_dataset: str | None = None,
    of_table: str | None = None,
) -> tuple[Entry, ...]:
    """Return the entries of the ledger, each once, with their present outcomes, by the time at which they were recorded.

    A row that this release does not know in full never stops the others: `Entry.unknown` says what of it is not known.

    Args:
        warehouse: where the ledger is.
        dataset: the dataset of the ledger.
        own: the decisions of onefold.yaml, which come before those of the warehouse.
        since: the time of the first entries to return; None for all.
        of_dataset: the dataset whose tables are asked for; None for all.
        of_table: the base name of the table that is asked for; None for all.

    Raises:
        NotFound: there is no ledger.
        OnefoldError: as `read_verdicts`.
    """
    view = ledger_view(warehouse.project, dataset)
    conditions = ["TRUE"]
    if since:
        conditions.append(f"recorded_at >= TIMESTAMP {quote_text(since.astimezone(UTC).isoformat(timespec='microseconds'))}")
    if of_dataset:
        conditions.append(f"dataset = {quote_text(of_dataset)}")
    if of_table:
        conditions.append(f"`table` = {quote_text(of_table)}")
    try:
        rows = warehouse.fetch(f"SELECT *\nFROM {view.quoted}\nWHERE {' AND '.join(conditions)}\nORDER BY recorded_at, id")
    except NotFound as error:
        raise NotFound(f"there is no ledger {view}: `onefold changes create` makes it ({error})") from error
    entries = tuple(map(entry_of, rows))
    if not any(map(is_held, entries)):
        return entries
    verdicts = own.over(read_verdicts(warehouse, dataset))
    return decided(entries, replace(verdicts, names=later_names(warehouse.project, entries, own)))


def since_time(text: str, now: datetime) -> datetime:
    """Return the time in UTC that an option names: `7d` or `12h` ago, or a date or time, in UTC where it names no zone.

    Examples:
        >>> str(since_time("7d", datetime(2026, 1, 8, tzinfo=UTC))), str(since_time("2026-01-01", datetime.now(UTC)))
        ('2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')

    Raises:
        InvalidInput: the text has another form, or the time is before the year 1 or after the year 9999 in UTC.
    """
    try:
        return _since_time(text, now)
    except (ValueError, OverflowError) as error:
        expected = "expected 7d, 12h, 2026-01-31 or 2026-01-31T08:00:00Z, as in `--since 7d`"
        raise InvalidInput(f"--since {text!r} is no time of the years 1 to 9999: {expected}") from error


def _since_time(text: str, now: datetime) -> datetime:
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{{"d": "days", "h": "hours"}[ago[2]]: int(ago[1])})
    time = datetime.fromisoformat(text)
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
