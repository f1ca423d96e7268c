"""The bytes of records: what an ordinary JSON encoder writes of a dictionary for each record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onefold.capture.records import Origin, change_records, snapshot_records
from onefold.landing.table import versioned_table
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.binlog.rows import Row
from onefold.mysql.table import SourceColumn, SourceType, Structure

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**64),
    st.floats(),
    st.text(),
    st.sampled_from(("%s", "%", '"', "\\", "\0", "\u2028", "é")),
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
COLUMNS = tuple(SourceColumn(f"column % {number}", SourceType("text"), "utf8mb4") for number in range(4))
SECONDS = st.integers(0, 2**32)


def encoded(records: Iterable[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() for record in records]


def expected(origin: Origin, row: Row, method: str, kind: str, sequence: str, seconds: int) -> dict[str, Any]:
    """A record as docs/reference/json describes it."""
    return {
        "data": {f"column___{number}": value for number, value in enumerate(row)},
        "metadata": {
            "source": origin.source,
            "database_name": origin.database,
            "table_name": origin.table.table,
            "table_version": origin.table.version,
            "ingestion_method": method,
            "change_type": kind,
            "change_sequence_number": sequence,
            "source_timestamp": 1000 * seconds,
            "primary_key": ["column___0"],
        },
    }


@st.composite
def origins(draw: st.DrawFn) -> tuple[Origin, Structure]:
    structure = Structure(draw(NAMES), COLUMNS, (COLUMNS[0].name,))
    return Origin(draw(NAMES), draw(NAMES), versioned_table(structure)), structure


ROWS = st.lists(st.tuples(*[VALUES] * len(COLUMNS)), max_size=4).map(tuple)
PAIRS = st.lists(st.tuples(*[st.tuples(*[VALUES] * len(COLUMNS))] * 2), min_size=1, max_size=4)


@given(origins(), ROWS, st.booleans(), SECONDS)
def test_inserted_deleted_and_copied_rows_have_the_bytes_of_an_ordinary_encoder(
    origin: tuple[Origin, Structure], rows: tuple[Row, ...], is_deleted: bool, seconds: int
) -> None:
    position = LogPosition(7, "bin.000255", 4096)
    before, after = (rows, ()) if is_deleted else ((), rows)
    event = RowsChanged(position, seconds, origin[0].database, origin[1], before, after)
    kind = "DELETE" if is_deleted else "INSERT"
    numbered = [
        expected(origin[0], row, "BINLOG", kind, f"7/FF/1000/{number:X}", seconds) for number, row in enumerate(rows)
    ]
    assert list(change_records(origin[0], event)) == encoded(numbered)
    copied = [expected(origin[0], row, "SNAPSHOT", "INSERT", "7/FF/1000", seconds) for row in rows]
    assert list(snapshot_records(origin[0], rows, position, seconds)) == encoded(copied)


@given(origins(), PAIRS, SECONDS)
def test_updated_rows_have_the_bytes_of_an_ordinary_encoder(
    origin: tuple[Origin, Structure], pairs: list[tuple[Row, Row]], seconds: int
) -> None:
    before, after = zip(*pairs, strict=True)
    event = RowsChanged(LogPosition(7, "bin.000255", 4096), seconds, origin[0].database, origin[1], before, after)

    def records() -> Iterator[dict[str, Any]]:
        for number, (old, new) in enumerate(pairs):
            sequence = f"7/FF/1000/{number:X}"
            if old[0] != new[0]:
                yield expected(origin[0], old, "BINLOG", "UPDATE-DELETE", sequence, seconds)
            yield expected(origin[0], new, "BINLOG", "UPDATE-INSERT", sequence, seconds)

    assert list(change_records(origin[0], event)) == encoded(records())
