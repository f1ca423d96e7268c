"""The checkpoint: how far capture has come, as one small JSON document that is always replaced as a whole.

A checkpoint may be older than the true state, but never newer: Pub/Sub has confirmed everything before its position.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from onefold.capture.landing import AppliedRules
from onefold.capture.quarantine import DroppedColumns, KnownStructure, Problem, Quarantined, structure_from, structure_json
from onefold.capture.xa import PreparedTransaction
from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet, read_executed
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter

FORMAT = 4
"""The version of the document. It rises when older code would misread a checkpoint."""
_FORMAT_WITHOUT_RULES = 3
"""Code before the rules of columns would publish the columns as they are."""
_FORMAT_WITHOUT_DROPPED_COLUMNS = 2
"""Without dropped columns, older code may read a checkpoint. With them, it would not copy a table that gets one again."""
_FORMAT_WITHOUT_QUARANTINE = 1
"""Code before quarantine would publish rows on top of missing ones."""


@dataclass(frozen=True)
class Progress:
    """A position of the log between two transactions: everything before the position has been read."""

    position: LogPosition | None = None
    executed: GtidSet = field(default_factory=GtidSet)
    """The transactions before the position, as far as they are known."""
    fingerprint: str | None = None
    """When, and by which server, the file of the position was begun."""
    prepared: tuple[PreparedTransaction, ...] = ()
    """XA transactions that were prepared before the position and have not ended there, the oldest first."""
    as_of: int | None = None
    """Everything that the source had committed by then comes before the position. In seconds since 1970; None if unknown."""


@dataclass(frozen=True, order=True)
class CopyRequest:
    """A table that is to be copied, as it was at a position of the log or later."""

    table: TableName
    since: LogPosition = field(compare=False)


@dataclass(frozen=True)
class DeleteScan:
    """A finished copy: keys that landed and that the copy did not contain get a deletion, in repeated scans."""

    copy: TableSnapshot
    finished_at: int
    """Seconds since 1970."""
    scanned_at: int | None = None
    """When the last scan ended, in seconds since 1970; None before the first one."""


@dataclass(frozen=True)
class Checkpoint:
    """How far the capture of a source into a dataset has come, and what is left to do."""

    source: str
    dataset: str
    epoch: int = 1
    reached: Progress = field(default_factory=Progress)
    copied: bool = False
    """Whether a first copy of all tables has been requested."""
    copy_requests: tuple[CopyRequest, ...] = ()
    """Tables whose copy has not begun."""
    copies: tuple[TableSnapshot, ...] = ()
    """Copies that have begun."""
    delete_scans: tuple[DeleteScan, ...] = ()
    dropped: tuple[tuple[str, str | None], ...] = ()
    """Dropped tables, by database and name; without a name, all tables of a database. A table created under the name of a
    dropped one is another table, and is copied, so that the rows of the old table get deletions."""
    patterns: TableFilter | None = None
    """Which tables were captured; None in checkpoints of older versions."""
    quarantine: tuple[Quarantined, ...] = ()
    """Tables whose rows are not published."""
    structures: tuple[tuple[TableName, KnownStructure], ...] = ()
    """The last known structure of tables."""
    owners: tuple[tuple[str, str], ...] = ()
    """Base names with the source tables that are captured under them although their own names differ."""
    dropped_columns: tuple[DroppedColumns, ...] = ()
    """Columns that were dropped without a copy."""
    rules: AppliedRules = field(default_factory=AppliedRules)
    """The rules under which the columns landed."""

    @property
    def format(self) -> int:
        """The least format whose code reads this checkpoint correctly."""
        if self.rules.rules:
            return FORMAT
        if self.dropped_columns:
            return _FORMAT_WITHOUT_RULES
        return _FORMAT_WITHOUT_DROPPED_COLUMNS if self.quarantine else _FORMAT_WITHOUT_QUARANTINE

    saved_at: int | None = None
    """When a process saved the checkpoint, in seconds since 1970; None in checkpoints of older versions."""

    def without_times(self) -> Checkpoint:
        """Return the checkpoint without the times that change although nothing has happened."""
        return replace(self, saved_at=None, reached=replace(self.reached, as_of=None))


def to_json(checkpoint: Checkpoint) -> bytes:
    """Return the document. Equal checkpoints give equal bytes."""
    reached = checkpoint.reached
    body = {
        "form": checkpoint.format,
        "source": checkpoint.source,
        "dataset": checkpoint.dataset,
        "epoch": checkpoint.epoch,
        # The keys are older than today's names: a running capture has to read its old checkpoint.
        "place": _position_json(reached.position) if reached.position else None,
        "executed": str(reached.executed) or None,
        "fingerprint": reached.fingerprint,
        "copied": checkpoint.copied,
        "wanted": [
            {"database": one.table.database, "table": one.table.table, "since": _position_json(one.since)}
            for one in sorted(checkpoint.copy_requests)
        ],
        "copies": [copy.to_json() for copy in checkpoint.copies],
        "sweeps": [
            {"copy": scan.copy.to_json(), "finished_at": scan.finished_at, "swept_at": scan.scanned_at}
            for scan in checkpoint.delete_scans
        ],
        "dropped": [list(name) for name in checkpoint.dropped],
        "prepared": [_prepared_json(one) for one in reached.prepared],
        "patterns": checkpoint.patterns and asdict(checkpoint.patterns),
        "quarantine": [_quarantined_json(one) for one in checkpoint.quarantine],
        "structures": _structures_json(checkpoint.structures),
        "owners": dict(checkpoint.owners),
        **({"dropped_columns": list(map(_dropped_json, checkpoint.dropped_columns))} if checkpoint.dropped_columns else {}),
        **({"rules": checkpoint.rules.to_json()} if checkpoint.rules.rules else {}),
        "as_of": reached.as_of,
        "saved_at": checkpoint.saved_at,
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def from_json(data: bytes) -> Checkpoint:
    """Read a checkpoint from its document.

    Raises:
        InvalidInput: the document is not a checkpoint, or a later version of Onefold has written it.
    """
    try:
        body = json.loads(data)
        if body["form"] not in range(_FORMAT_WITHOUT_QUARANTINE, FORMAT + 1):
            found = f"got {body['form']}, which a later version of Onefold has written"
            raise InvalidInput(f"expected a checkpoint of format {FORMAT} or older, {found}: update Onefold")
        return _read(body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the checkpoint cannot be read ({type(error).__name__}: {error}): name another one") from error


def check_owner(found: Checkpoint, source: str, dataset: str) -> None:
    """Check that a checkpoint belongs to this capture.

    Args:
        found: the checkpoint.
        source: the name of the source that is to be captured.
        dataset: the dataset of its versioned tables.

    Raises:
        InvalidInput: the checkpoint is of another source or dataset; lists both problems.
    """
    named = (("source", source, found.source), ("dataset", dataset, found.dataset))
    problems = [
        f"expected a checkpoint of the {kind} {expected!r}, got one of the {kind} {actual!r}"
        for kind, expected, actual in named
        if expected != actual
    ]
    if problems:
        raise InvalidInput([*problems, "name another checkpoint, or the same source and dataset as before"])


def _position_json(position: LogPosition) -> dict[str, Any]:
    return {"epoch": position.epoch, "file": position.file, "offset": position.offset}


def _position(body: Mapping[str, Any]) -> LogPosition:
    return LogPosition(int(body["epoch"]), str(body["file"]), int(body["offset"]))


def _prepared_json(one: PreparedTransaction) -> dict[str, Any]:
    tables = [[table.database, table.table] for table in sorted(one.tables)]
    return {
        "xid": one.xid, "place": _position_json(one.position), "timestamp": one.timestamp, "tables": tables,
        "published": one.published,
    }  # fmt: skip


def _prepared(body: Mapping[str, Any]) -> PreparedTransaction:
    tables = frozenset(TableName(database, table) for database, table in body["tables"])
    published = bool(body.get("published", True))  # older versions published at XA PREPARE, and did not write this key
    return PreparedTransaction(body["xid"], _position(body["place"]), int(body["timestamp"]), tables, published)


def _quarantined_json(one: Quarantined) -> dict[str, Any]:
    problem = one.problem
    return {
        "database": problem.table.database, "table": problem.table.table, "kind": problem.kind, "reason": problem.reason,
        "remedy": problem.remedy, "since": _position_json(one.since), "until": one.until and _position_json(one.until),
    }  # fmt: skip


def _quarantined(body: Mapping[str, Any]) -> Quarantined:
    table = TableName(body["database"], body["table"])
    problem = Problem(table, body["kind"], body["reason"], body["remedy"])
    return Quarantined(problem, _position(body["since"]), body["until"] and _position(body["until"]))


def _dropped_json(one: DroppedColumns) -> dict[str, Any]:
    return {
        "database": one.table.database, "table": one.table.table, "names": sorted(one.names),
        "place": _position_json(one.position),
    }  # fmt: skip


def _dropped(body: Mapping[str, Any]) -> DroppedColumns:
    table = TableName(body["database"], body["table"])
    return DroppedColumns(table, frozenset(body["names"]), _position(body["place"]))


def _structures_json(structures: Iterable[tuple[TableName, KnownStructure]]) -> list[dict[str, Any]]:
    """Return the structures grouped by table and structure, because a thousand databases share the same one."""
    found: defaultdict[tuple[str, str, Structure | None], dict[str, list[Any]]] = defaultdict(dict)
    for table, known in structures:
        position = known.position
        of_structure = found[(table.table, known.shape, known.structure)]
        of_structure[table.database] = [position.epoch, position.file, position.offset]
    groups = sorted(found.items(), key=lambda group: (*group[0][:2], repr(group[0][2])))
    return [
        {"table": table, "shape": shape, "databases": by_name, **(structure_json(structure) if structure else {})}
        for (table, shape, structure), by_name in groups
    ]


def _structures(body: Iterable[Mapping[str, Any]]) -> tuple[tuple[TableName, KnownStructure], ...]:
    found: dict[TableName, KnownStructure] = {}
    for one in body:
        structure = structure_from(one["table"], one) if "columns" in one else None
        for database, (epoch, file, offset) in one["databases"].items():
            position = LogPosition(int(epoch), str(file), int(offset))
            found[TableName(database, one["table"])] = KnownStructure(one["shape"], position, structure)
    return tuple((table, found[table]) for table in sorted(found))


def _patterns(body: Mapping[str, Any]) -> TableFilter:
    return TableFilter(tuple(body["include"]), tuple(body["exclude"]))


def _read(body: Mapping[str, Any]) -> Checkpoint:
    """Read the body. Older documents lack all keys that are read by `get`."""
    reached = Progress(
        _position(body["place"]) if body["place"] else None, read_executed(body["executed"] or ""), body["fingerprint"],
        tuple(_prepared(one) for one in body.get("prepared", ())), body.get("as_of"),
    )  # fmt: skip
    return Checkpoint(
        body["source"],
        body["dataset"],
        int(body["epoch"]),
        reached,
        bool(body["copied"]),
        tuple(CopyRequest(TableName(one["database"], one["table"]), _position(one["since"])) for one in body["wanted"]),
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
        tuple(_dropped(one) for one in body.get("dropped_columns", ())),
        AppliedRules.from_json(body["rules"]) if "rules" in body else AppliedRules(),
        body.get("saved_at"),
    )
