"""The rows of a message, appended to their tables: an error of one table does not keep the rows of others from landing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from onefold.core.errors import InvalidRecord, OnefoldError, Postponed, TryAgain
from onefold.core.names import TableId
from onefold.messages.change_records import ChangeMessage
from onefold.ports.rows import Appended, Row, RowErrors, RowWriter, TableWriter
from onefold.sink.rows import RowBuilder


@dataclass(frozen=True)
class LandingResult:
    """What became of the rows of one table.

    Attributes:
        message: the rows.
        refused: the reason for each index of a record that does not fit.
        error: why none of the rows is known to have landed; None where all others landed.
    """

    message: ChangeMessage
    refused: RowErrors = field(default_factory=dict)
    error: OnefoldError | None = None

    @property
    def rows(self) -> int:
        """The number of rows that have landed."""
        return 0 if self.error else len(self.message.records) - len(self.refused)


@dataclass(frozen=True)
class _Rows:
    """Rows that are ready to be appended, by the index of their record."""

    landed: LandingResult
    table: TableWriter
    rows: dict[int, Row]

    def after(self, outcome: Appended) -> LandingResult:
        if isinstance(outcome, OnefoldError):
            return replace(self.landed, error=outcome)
        # The writer numbers the rows that it was given, which are not all records of the message.
        indexes = list(self.rows)
        return replace(self.landed, refused=self.landed.refused | {indexes[number]: why for number, why in outcome.items()})


def append_messages(messages: Sequence[ChangeMessage], landing: RowWriter, now: datetime) -> list[LandingResult]:
    """Append the rows of several tables of one dataset, and return what became of them, in the same order.

    Args:
        messages: the rows of each table.
        landing: the tables.
        now: the time of landing of all rows.
    """
    parts: dict[bool, list[ChangeMessage]] = {True: [], False: []}
    for message in messages:
        parts[landing.opened(_id_of(message, landing)) is not None].append(message)
    # The columns of tables that are not known are read one after the other, which may take long.
    landed = {**_appended(parts[True], landing, now), **_appended(parts[False], landing, now)}
    return [landed[one.versioned_table] for one in messages]


def _appended(messages: Sequence[ChangeMessage], landing: RowWriter, now: datetime) -> dict[str, LandingResult]:
    """Append rows, and return what became of them by table. Where columns cannot be read now, no further ones are read."""
    built: list[_Rows | LandingResult] = []
    outage: OnefoldError | None = None
    for message in messages:
        one = LandingResult(message, error=outage) if outage else _built(message, landing, now)
        outage = one.error if isinstance(one, LandingResult) and isinstance(one.error, Postponed) else None
        built.append(one)
    ready = [one for one in built if isinstance(one, _Rows)]
    outcomes = iter(landing.append_each([(one.table, list(one.rows.values())) for one in ready]))
    done = [one.after(next(outcomes)) if isinstance(one, _Rows) else one for one in built]
    return {one.message.versioned_table: one for one in done}


def _built(message: ChangeMessage, landing: RowWriter, now: datetime) -> _Rows | LandingResult:
    """Return the rows of a table, or why there are none: the table is not there, or is none of capture's."""
    try:
        table = _opened(message, landing)
        builder = RowBuilder(message, table.columns, now)
    except OnefoldError as error:
        return LandingResult(message, error=error)
    rows: dict[int, Row] = {}
    refused: RowErrors = {}
    for index, record in enumerate(message.records):
        try:
            rows[index] = builder.row(record)
        except InvalidRecord as error:
            refused[index] = str(error)
    return _Rows(LandingResult(message, refused), table, rows)


def _opened(message: ChangeMessage, landing: RowWriter) -> TableWriter:
    """Return the table of a version.

    Raises:
        TryAgain: the table does not exist yet.
        Postponed: its columns cannot be read now.
    """
    id_ = _id_of(message, landing)
    try:
        table = landing.open(id_)
    except TryAgain as error:
        raise Postponed(str(error)) from error
    if table is None:
        raise TryAgain(f"expected a table {id_}, got none yet: its rows are delivered again until capture has made it")
    return table


def _id_of(message: ChangeMessage, landing: RowWriter) -> TableId:
    return TableId(landing.project, message.dataset, message.versioned_table)
