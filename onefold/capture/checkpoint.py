"""The checkpoint: how far capture has come, as one small document that is replaced whole.

It may always be older than the truth, and never newer: what lies before its place has been confirmed by Pub/Sub.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from onefold.capture.quarantine import KnownStructure, Problem, Quarantined
from onefold.capture.xa import PreparedTransaction
from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet, read_executed
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table_filter import TableFilter

FORM = 2
"""Rises when a checkpoint is written that older code would misread."""
_FORM_WITHOUT_QUARANTINE = 1
"""Older code reads the checkpoint as long as no table is in quarantine: it would publish rows on top of missing ones."""


@dataclass(frozen=True)
class Progress:
    """A place between transactions: all that lies before it has been read."""

    place: LogPosition | None = None
    executed: GtidSet = field(default_factory=GtidSet)
    """The transactions that lie before it, as far as they are known."""
    fingerprint: str | None = None
    """When and by which server the place's file was begun."""
    prepared: tuple[PreparedTransaction, ...] = ()
    """Those that lie before it and have not ended there, the oldest first."""


@dataclass(frozen=True, order=True)
class CopyRequest:
    """A table that is to be copied, as it was at a place of the log or later."""

    table: TableName
    since: LogPosition = field(compare=False)


@dataclass(frozen=True)
class DeleteScan:
    """A copy that is finished: keys that it did not contain are to get a tombstone, now and again for some time."""

    copy: TableSnapshot
    finished_at: int
    """Seconds since 1970."""
    swept_at: int | None = None


@dataclass(frozen=True)
class Checkpoint:
    source: str
    dataset: str
    epoch: int = 1
    reached: Progress = field(default_factory=Progress)
    copied: bool = False
    """Whether a first copy of all tables has been asked for."""
    wanted: tuple[CopyRequest, ...] = ()
    copies: tuple[TableSnapshot, ...] = ()
    """Those that have begun."""
    sweeps: tuple[DeleteScan, ...] = ()
    dropped: tuple[tuple[str, str | None], ...] = ()
    """Tables that were there once, by database and name; without a name, all of a database. One of that name that is
    created again is another table, and is copied, so that the rows of the old one get their tombstones."""
    patterns: TableFilter | None = None
    """Which tables were captured; None where nobody knows any more."""
    quarantine: tuple[Quarantined, ...] = ()
    """Tables whose rows are not published."""
    structures: tuple[tuple[TableName, KnownStructure], ...] = ()
    """The last known structure of tables."""
    owners: tuple[tuple[str, str], ...] = ()
    """Base names, and the source tables that have them under another name than their own."""


def to_json(checkpoint: Checkpoint) -> bytes:
    """The document, in an order that only depends on what it says."""
    reached = checkpoint.reached
    body = {
        "form": FORM if checkpoint.quarantine else _FORM_WITHOUT_QUARANTINE,
        "source": checkpoint.source,
        "dataset": checkpoint.dataset,
        "epoch": checkpoint.epoch,
        "place": _place_json(reached.place) if reached.place else None,
        "executed": str(reached.executed) or None,
        "fingerprint": reached.fingerprint,
        "copied": checkpoint.copied,
        "wanted": [
            {"database": one.table.database, "table": one.table.table, "since": _place_json(one.since)}
            for one in sorted(checkpoint.wanted)
        ],
        "copies": [copy.to_json() for copy in checkpoint.copies],
        "sweeps": [
            {"copy": sweep.copy.to_json(), "finished_at": sweep.finished_at, "swept_at": sweep.swept_at}
            for sweep in checkpoint.sweeps
        ],
        "dropped": [list(name) for name in checkpoint.dropped],
        "prepared": [_prepared_json(one) for one in reached.prepared],
        "patterns": checkpoint.patterns and asdict(checkpoint.patterns),
        "quarantine": [_quarantined_json(one) for one in checkpoint.quarantine],
        "structures": _structures_json(checkpoint.structures),
        "owners": dict(checkpoint.owners),
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def from_json(data: bytes) -> Checkpoint:
    """Raises:
    InvalidInput: it is no checkpoint, or one of a later version of Onefold.
    """
    try:
        body = json.loads(data)
        if body["form"] not in (_FORM_WITHOUT_QUARANTINE, FORM):
            raise InvalidInput(f"the checkpoint has the form {body['form']}, this version knows {FORM}: update Onefold")
        return _read(body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the checkpoint cannot be read ({type(error).__name__}: {error}): name another one") from error


def check_owner(found: Checkpoint, source: str, dataset: str) -> None:
    """Raises InvalidInput where a checkpoint is of another source, or goes into another dataset."""
    named = (("source", found.source, source), ("dataset", found.dataset, dataset))
    problems = [
        f"the checkpoint is of the {kind} {theirs!r}, not of {ours!r}" for kind, theirs, ours in named if theirs != ours
    ]
    if problems:
        raise InvalidInput([*problems, "name another checkpoint, or the same source and dataset as before"])


def next_epoch(last: int, now: float) -> int:
    """Return an epoch that was never issued before.

    Rows wait for days in topics and dead letters. The time keeps an epoch from being issued twice where the checkpoint was
    lost; the last epoch does where the clock went backwards, or has not moved.

    Args:
        last: the epoch of the checkpoint; 0 without one.
        now: seconds since 1970.

    >>> next_epoch(3, 1_700_000_000.5), next_epoch(1_700_000_000, 1_700_000_000.9), next_epoch(1_700_000_000, 5.0)
    (1700000000, 1700000001, 1700000001)
    """
    return max(last + 1, int(now))


def raised(found: Checkpoint, epoch: int, reached: Progress, tables: Iterable[TableName]) -> Checkpoint:
    """A new epoch: reading goes on at a place that was read before, and these tables are copied again.

    Nothing of the last epoch is left to do: whatever it brings forth later ranks below these copies.
    """
    place = reached.place and replace(reached.place, epoch=epoch)
    wanted = tuple(CopyRequest(table, place) for table in tables) if place else ()
    return replace(
        found, epoch=epoch, reached=replace(reached, place=place), wanted=wanted, copies=(), sweeps=(), copied=True
    )


def _place_json(place: LogPosition) -> dict[str, Any]:
    return {"epoch": place.epoch, "file": place.file, "offset": place.offset}


def _place(body: Mapping[str, Any]) -> LogPosition:
    return LogPosition(int(body["epoch"]), str(body["file"]), int(body["offset"]))


def _prepared_json(one: PreparedTransaction) -> dict[str, Any]:
    tables = [[table.database, table.table] for table in sorted(one.tables)]
    return {
        "xid": one.xid, "place": _place_json(one.place), "timestamp": one.timestamp, "tables": tables,
        "published": one.published,
    }  # fmt: skip


def _prepared(body: Mapping[str, Any]) -> PreparedTransaction:
    tables = frozenset(TableName(database, table) for database, table in body["tables"])
    published = bool(body.get("published", True))  # as earlier versions did without saying it
    return PreparedTransaction(body["xid"], _place(body["place"]), int(body["timestamp"]), tables, published)


def _quarantined_json(one: Quarantined) -> dict[str, Any]:
    problem = one.problem
    return {
        "database": problem.table.database, "table": problem.table.table, "kind": problem.kind, "reason": problem.reason,
        "remedy": problem.remedy, "since": _place_json(one.since), "until": one.until and _place_json(one.until),
    }  # fmt: skip


def _quarantined(body: Mapping[str, Any]) -> Quarantined:
    table = TableName(body["database"], body["table"])
    problem = Problem(table, body["kind"], body["reason"], body["remedy"])
    return Quarantined(problem, _place(body["since"]), body["until"] and _place(body["until"]))


def _structures_json(structures: Iterable[tuple[TableName, KnownStructure]]) -> list[dict[str, Any]]:
    """By table and structure: a thousand databases have the same one."""
    found: defaultdict[tuple[str, str], dict[str, list[Any]]] = defaultdict(dict)
    for table, known in structures:
        found[(table.table, known.shape)][table.database] = [known.place.epoch, known.place.file, known.place.offset]
    return [{"table": table, "shape": shape, "databases": places} for (table, shape), places in sorted(found.items())]


def _structures(body: Iterable[Mapping[str, Any]]) -> tuple[tuple[TableName, KnownStructure], ...]:
    return tuple(
        sorted(
            (
                TableName(database, one["table"]),
                KnownStructure(one["shape"], LogPosition(int(epoch), str(file), int(offset))),
            )
            for one in body
            for database, (epoch, file, offset) in one["databases"].items()
        )
    )


def _patterns(body: Mapping[str, Any]) -> TableFilter:
    return TableFilter(tuple(body["include"]), tuple(body["exclude"]))


def _read(body: Mapping[str, Any]) -> Checkpoint:
    """Older documents have neither `prepared` nor `patterns`, nor what is known of single tables."""
    reached = Progress(
        _place(body["place"]) if body["place"] else None, read_executed(body["executed"] or ""), body["fingerprint"],
        tuple(_prepared(one) for one in body.get("prepared", ())),
    )  # fmt: skip
    return Checkpoint(
        body["source"],
        body["dataset"],
        int(body["epoch"]),
        reached,
        bool(body["copied"]),
        tuple(CopyRequest(TableName(one["database"], one["table"]), _place(one["since"])) for one in body["wanted"]),
        tuple(TableSnapshot.from_json(copy) for copy in body["copies"]),
        tuple(
            DeleteScan(TableSnapshot.from_json(one["copy"]), int(one["finished_at"]), one["swept_at"])
            for one in body["sweeps"]
        ),
        tuple((database, table) for database, table in body["dropped"]),
        _patterns(body["patterns"]) if body.get("patterns") else None,
        tuple(_quarantined(one) for one in body.get("quarantine", ())),
        _structures(body.get("structures", ())),
        tuple(sorted(body.get("owners", {}).items())),
    )
