"""The document of a checkpoint: what one version of Onefold writes, later versions read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from onefold.capture.checkpoint import FORMAT, OLDEST_FORMAT, Checkpoint, CopyRequest, DeleteScan, Progress, RuledTable
from onefold.capture.quarantine import (
    DroppedColumns,
    KnownStructure,
    Quarantined,
    TableProblem,
    structure_from,
    structure_json,
)
from onefold.capture.xa import PreparedTransaction
from onefold.core.declared_types import check_types
from onefold.core.errors import InvalidInput
from onefold.core.text import reason_of
from onefold.landing.row_writer import AppliedRules
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import read_executed
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter


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
        "patterns": checkpoint.patterns and _patterns_json(checkpoint.patterns),
        "quarantine": [_quarantined_json(one) for one in checkpoint.quarantine],
        "structures": _structures_json(checkpoint.structures),
        "owners": dict(checkpoint.owners),
        **({"dropped_columns": list(map(_dropped_json, checkpoint.dropped_columns))} if checkpoint.dropped_columns else {}),
        **({"rules": checkpoint.rules.to_json()} if checkpoint.rules.rules else {}),
        **({"ruled_tables": _ruled_json(checkpoint.ruled_tables)} if checkpoint.ruled_tables else {}),
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
        if body["form"] not in range(OLDEST_FORMAT, FORMAT + 1):
            later = f"got {body['form']}, which a later version of Onefold has written"
            raise InvalidInput(f"expected a checkpoint of format {FORMAT} or older, {later}: update Onefold")
        found = _read(body)
        check_types(found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the checkpoint cannot be read ({reason_of(error)}): name another one") from error
    return found


def _position_json(position: LogPosition) -> dict[str, Any]:
    return {"epoch": position.epoch, "file": position.file, "offset": position.offset}


def _position(body: Mapping[str, Any]) -> LogPosition:
    return LogPosition(body["epoch"], body["file"], body["offset"])


def _prepared_json(one: PreparedTransaction) -> dict[str, Any]:
    tables = [[table.database, table.table] for table in sorted(one.tables)]
    return {
        "xid": one.xid, "place": _position_json(one.position), "timestamp": one.timestamp, "tables": tables,
        "published": one.published,
    }  # fmt: skip


def _prepared(body: Mapping[str, Any]) -> PreparedTransaction:
    tables = frozenset(TableName(database, table) for database, table in body["tables"])
    published = body.get("published", True)  # older versions published at XA PREPARE, and did not write this key
    return PreparedTransaction(body["xid"], _position(body["place"]), body["timestamp"], tables, published)


def _quarantined_json(one: Quarantined) -> dict[str, Any]:
    problem = one.problem
    return {
        "database": problem.table.database, "table": problem.table.table, "kind": problem.kind, "reason": problem.reason,
        "remedy": problem.remedy, "since": _position_json(one.since), "until": one.until and _position_json(one.until),
    }  # fmt: skip


def _quarantined(body: Mapping[str, Any]) -> Quarantined:
    table = TableName(body["database"], body["table"])
    problem = TableProblem(table, body["kind"], body["reason"], body["remedy"])
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
            position = LogPosition(epoch, file, offset)
            found[TableName(database, one["table"])] = KnownStructure(one["shape"], position, structure)
    return tuple((table, found[table]) for table in sorted(found))


def _ruled_json(tables: Iterable[RuledTable]) -> list[dict[str, Any]]:
    """Return the columns of tables with rules, grouped as the structures are."""
    found: defaultdict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
    for one in tables:
        found[(one.table.table, one.columns)].append(one.table.database)
    groups = sorted((table, sorted(columns), databases) for (table, columns), databases in found.items())
    return [{"table": table, "columns": columns, "databases": databases} for table, columns, databases in groups]


def _ruled(body: Iterable[Mapping[str, Any]]) -> tuple[RuledTable, ...]:
    found = {TableName(name, one["table"]): frozenset(one["columns"]) for one in body for name in one["databases"]}
    return tuple(RuledTable(table, found[table]) for table in sorted(found))


def _patterns_json(patterns: TableFilter) -> dict[str, Any]:
    return {"include": patterns.include, "exclude": patterns.exclude}


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
        body["epoch"],
        reached,
        body["copied"],
        tuple(CopyRequest(TableName(one["database"], one["table"]), _position(one["since"])) for one in body["wanted"]),
        tuple(TableSnapshot.from_json(copy) for copy in body["copies"]),
        tuple(
            DeleteScan(TableSnapshot.from_json(one["copy"]), one["finished_at"], one["swept_at"]) for one in body["sweeps"]
        ),
        tuple((database, table) for database, table in body["dropped"]),
        _patterns(body["patterns"]) if body.get("patterns") else None,
        tuple(_quarantined(one) for one in body.get("quarantine", ())),
        _structures(body.get("structures", ())),
        tuple(sorted(body.get("owners", {}).items())),
        tuple(_dropped(one) for one in body.get("dropped_columns", ())),
        AppliedRules.from_json(body["rules"]) if "rules" in body else AppliedRules(),
        _ruled(body.get("ruled_tables", ())),
        body.get("saved_at"),
    )
