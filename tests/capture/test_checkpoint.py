"""The document of a checkpoint: what is written is read again, also by later versions, and its owner is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.capture_checkpoint import FULL, POSITION

from onefold.capture.checkpoint import Checkpoint, CopyRequest, Progress, RuledTable, check_owner
from onefold.capture.checkpoint_json import from_json, to_json
from onefold.capture.epochs import epoch_with_copies
from onefold.capture.quarantine import DroppedColumns, KnownStructure, Quarantined, TableProblem
from onefold.core.errors import InvalidInput
from onefold.landing.row_writer import AppliedRules
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.settings.captures import ColumnRules


@pytest.mark.parametrize("checkpoint", [FULL, Checkpoint("shop-db", "shop")], ids=["full", "empty"])
def test_a_checkpoint_is_read_as_it_was_written(checkpoint: Checkpoint) -> None:
    assert from_json(to_json(checkpoint)) == checkpoint


def test_a_checkpoint_of_an_older_version_without_patterns_and_prepared_transactions_is_read() -> None:
    body = json.loads(to_json(FULL))
    del body["patterns"], body["prepared"]
    expected = replace(FULL, reached=replace(FULL.reached, prepared=()), patterns=None)
    assert from_json(json.dumps(body).encode()) == expected


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"form":1}', to_json(FULL).replace(b'"offset":1234', b'"offset":"x"')]
)
def test_an_invalid_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="the checkpoint cannot be read"):
        from_json(data)


T, COLUMNS = TableName("shop", "t"), frozenset({"a", "b"})
STRUCTURE = Structure("t", (SourceColumn("id", SourceType("int")),), ("id",))
EVERY = replace(
    FULL, reached=replace(FULL.reached, as_of=1_700_000_000), saved_at=1_700_000_001,
    quarantine=(Quarantined(TableProblem(T, "grant", "why", "do"), POSITION, POSITION),),
    structures=((T, KnownStructure("abc", POSITION, STRUCTURE)),), owners=(("a_b", "a b"),),
    dropped_columns=(DroppedColumns(T, COLUMNS, POSITION),),
    rules=AppliedRules((ColumnRules("t", ("a",), ("b",), ("c",)),), "key", ((T, ColumnRules("", ("d",))),)),
    ruled_tables=(RuledTable(T, COLUMNS), RuledTable(TableName("x", "t"), COLUMNS)),
)  # fmt: skip
"""A checkpoint in which every field has a value, those of rules, too."""


def leaves(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value of a document that is neither a list nor an object."""
    for name, value in body.items() if isinstance(body, dict) else enumerate(body):
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def test_a_value_of_another_type_is_refused_wherever_it_is() -> None:
    document = to_json(EVERY)
    assert from_json(document) == EVERY
    keys = [path for path in leaves(json.loads(document)) if "after" not in path]  # a key may have any value
    assert len(keys) > 60
    for path in keys:
        body = json.loads(document)
        place = body
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = [{"x": 1}]
        with pytest.raises(InvalidInput):
            from_json(json.dumps(body).encode())


def test_a_checkpoint_of_a_later_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="update Onefold"):
        from_json(to_json(FULL).replace(b'"form":1', b'"form":6'))


def test_a_checkpoint_keeps_dropped_columns_and_structures_of_the_log() -> None:
    columns = (
        SourceColumn("id", SourceType("bigint", unsigned=True)),
        SourceColumn("n", SourceType("decimal", 10, 2)),
        SourceColumn("kind", SourceType("enum", 1), "utf8mb4", ("a", "b,'c'")),
    )
    position, table = LogPosition(1, "mysql-bin.000001", 7), TableName("shop", "t")
    structure = Structure("t", columns, ("id",))
    known = tuple((TableName(name, "t"), KnownStructure("abc", position, structure)) for name in ("crm", "shop"))
    dropped = DroppedColumns(table, frozenset({"note", "old"}), position)
    kept = replace(
        FULL, structures=(*known, (TableName("x", "t"), KnownStructure("abc", position))), dropped_columns=(dropped,)
    )
    assert from_json(to_json(kept)) == kept
    assert len(json.loads(to_json(kept))["structures"]) == 2, "databases share a structure"
    assert (FULL.format, kept.format) == (1, 3), "older code would not copy a table that gets a dropped column again"


def test_a_checkpoint_of_another_source_or_dataset_is_refused() -> None:
    check_owner(FULL, "shop-db", "shop")
    with pytest.raises(InvalidInput) as refused:
        check_owner(FULL, "crm-db", "crm")
    assert len(refused.value.problems) == 3


def test_a_new_epoch_copies_all_tables_and_drops_running_copies() -> None:
    end = Progress(LogPosition(4, "mysql-bin.000001", 330), GtidSet(), None)
    new = epoch_with_copies(FULL, 4, end, [TableName("shop", "a")])
    assert (new.epoch, new.reached, new.copies, new.delete_scans) == (4, end, (), ())
    assert new.copy_requests == (CopyRequest(TableName("shop", "a"), end.position or POSITION),)
    assert new.dropped == FULL.dropped


# Written by hand from the version that first wrote these keys: a running capture has to read its old checkpoint.
_AT = '{"epoch":3,"file":"mysql-bin.000007","offset":1234}'
_SNAPSHOT = '"start":' + _AT + ',"after":[7,"größe",null],"rows":20000,"finished":%s,"began":0,"shape":"","limit":0'
DOCUMENT = (
    '{"form":2,"source":"shop-db","dataset":"shop","epoch":3,"place":' + _AT + ',"executed":"0-1-5,1-2-7",'
    '"fingerprint":"1700000000/1/10.11","copied":true,"wanted":[{"database":"shop","table":"a","since":' + _AT + "},"
    '{"database":"shop","table":"b","since":' + _AT + '}],"copies":[{"database":"shop","table":"customer",'
    + _SNAPSHOT % "false" + '}],"sweeps":[{"copy":{"database":"shop","table":"order",' + _SNAPSHOT % "true" + "},"
    '"finished_at":1700000000,"swept_at":1700000600}],"dropped":[["shop","gone"],["crm",null]],'
    """"prepared":[{"xid":"X'61',X'',1","place":""" + _AT + ',"timestamp":1700000000,"tables":[["shop","a"],["shop","b"]],'
    '"published":false}],"patterns":{"include":["shop","crm.*"],"exclude":["shop.log"]},"quarantine":[{"database":"shop",'
    '"table":"t","kind":"rows","reason":"why","remedy":"what","since":' + _AT + ',"until":null}],"structures":[{"table":"t",'
    '"shape":"0123","databases":{"shop":[3,"mysql-bin.000007",1234]}}],"owners":{"a_b":"a b"}}'
)  # fmt: skip


def test_the_document_of_a_checkpoint_stays_byte_for_byte_the_same() -> None:
    table = TableName("shop", "t")
    checkpoint = replace(
        FULL,
        quarantine=(Quarantined(TableProblem(table, "rows", "why", "what"), POSITION),),
        structures=((table, KnownStructure("0123", POSITION)),),
        owners=(("a_b", "a b"),),
    )
    assert to_json(checkpoint).decode() == DOCUMENT.removesuffix("}") + ',"as_of":null,"saved_at":null}'
    assert from_json(DOCUMENT.encode()) == checkpoint
