"""Rows and descriptions that cannot be read: only their own table is affected."""

from __future__ import annotations

import pytest
from support.binlog_events import (
    SIMPLE,
    XID,
    event,
    field,
    insert,
    rows_of,
    started,
    table_map,
    xa_prepare,
)

from onefold.mysql.binlog.decoder import LogDecoder
from onefold.mysql.binlog.events import (
    Committed,
    UnreadableRows,
)


def unreadable(decoder: LogDecoder, kind: int, body: bytes) -> UnreadableRows:
    """What a transaction gives for an event of rows, at its commit and not before."""
    assert list(decoder.read(event(kind, end=500, body=body))) == []
    found, committed = decoder.read(XID)
    assert isinstance(found, UnreadableRows)
    assert isinstance(committed, Committed)
    assert (found.database, found.table) == ("shop", "t")
    return found


def test_parts_of_json_make_only_their_table_unreadable() -> None:
    decoder = started()
    list(decoder.read(event(19, end=200, body=SIMPLE)))
    found = unreadable(decoder, 39, insert(1))
    assert (found.kind, "PARTIAL_JSON" in found.reason) == ("rows", True)
    assert len(rows_of(decoder, event(30, end=600, body=insert(1)))) == 1


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (table_map(b"\x8c", b"\0\0", b""), "is COMPRESSED"),
        (table_map(b"\x03", b"", field(1, b"\x00")), "SET GLOBAL binlog_row_metadata = 'FULL'"),
        (table_map(b"\x0f", b"\x28\x00", field(2, b"\xfc\x0f\x27") + field(4, b"\x01a")), "not understood (KeyError"),
        (table_map(b"\x03", b"", field(1, b"\x00") + field(4, b"\x01\xff")), "not understood (UnicodeDecodeError"),
    ],
)
def test_an_unreadable_description_makes_only_its_table_unreadable(description: bytes, reason: str) -> None:
    decoder = started()
    assert list(decoder.read(event(19, end=200, body=description))) == []
    found = unreadable(decoder, 30, insert(1))
    assert (found.kind, reason in found.reason) == ("structure", True)
    list(decoder.read(event(19, end=700, body=SIMPLE)))
    assert len(rows_of(decoder, event(30, end=800, body=insert(1)))) == 1


def test_rows_of_an_unknown_form_make_only_their_table_unreadable() -> None:
    decoder = started()
    list(decoder.read(event(19, end=200, body=SIMPLE)))
    assert unreadable(decoder, 30, insert(1)[:-2]).kind == "rows"


UNREADABLE = [
    pytest.param(table_map(b"\x8c", b"\0\0", b""), "structure", id="structure"),
    pytest.param(SIMPLE, "rows", id="rows"),
]


@pytest.mark.parametrize(("description", "kind"), UNREADABLE)
def test_unreadable_rows_that_were_rolled_back_are_ignored(description: bytes, kind: str) -> None:
    decoder = started()
    list(decoder.read(event(19, end=200, body=description)))
    assert list(decoder.read(event(39, end=300, body=insert(1)))) == []
    (ended,) = decoder.read(event(2, end=400, query="ROLLBACK"))
    assert isinstance(ended, Committed)
    assert ended.unfinished is None
    list(decoder.read(event(2, end=500, query="SAVEPOINT `a`")))
    list(decoder.read(event(39, end=600, body=insert(1))))
    list(decoder.read(event(2, end=700, query="ROLLBACK TO `a`")))
    assert [type(decoded) for decoded in decoder.read(XID)] == [Committed]
    assert unreadable(decoder, 39, insert(1)).kind == kind


@pytest.mark.parametrize(("description", "kind"), UNREADABLE)
def test_unreadable_rows_wait_for_the_commit_of_an_xa_transaction(description: bytes, kind: str) -> None:
    decoder = started()
    list(decoder.read(event(19, end=200, body=description)))
    list(decoder.read(event(39, end=300, body=insert(1))))
    (prepared,) = decoder.read(event(38, end=400, body=xa_prepare(False)))
    assert isinstance(prepared, Committed)
    assert prepared.unfinished
    assert prepared.unfinished.rows
    (found,) = (decode() for decode in prepared.unfinished.rows)
    assert isinstance(found, UnreadableRows)
    assert (found.kind, prepared.unfinished.tables) == (kind, frozenset({("shop", "t")}))
