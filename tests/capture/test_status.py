"""The log line of each minute: how far capture has come, and which tables are in quarantine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.capture_checkpoint import FULL, POSITION

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.quarantine import Quarantined, TableProblem
from onefold.capture.state import CaptureState
from onefold.capture.status import log_status, status_of
from onefold.mysql.catalog import TableName

NOW = 1_700_000_000


def line_of(checkpoint: Checkpoint, capsys: pytest.CaptureFixture[str], timestamp: int = 0) -> dict[str, Any]:
    nowhere: Any = None  # nothing is published
    changes, copies = MessageBatcher(nowhere), MessageBatcher(nowhere)
    changes.rows, copies.rows = 7, 5
    changes.note_losses("t", [(("price", "too large"), 2)])
    copies.note_losses("t", [(("price", "too large"), 1)])
    log_status("INFO", status_of("shop-db", CaptureState(checkpoint), changes, copies, timestamp, NOW))
    line: dict[str, Any] = json.loads(capsys.readouterr().out)
    return line


def test_the_line_has_the_confirmed_position_and_the_numbers_of_rows_and_copies(capsys: pytest.CaptureFixture[str]) -> None:
    up_to_date = replace(FULL, reached=replace(FULL.reached, as_of=NOW - 3))
    line = line_of(up_to_date, capsys, NOW - 42)
    assert line["message"] == "shop-db: confirmed up to mysql-bin.000007, 1234, 3 s behind the source"
    assert line["lag_seconds"] == 3
    assert (line["severity"], line["event"], line["source"]) == ("INFO", "captured", "shop-db")
    assert (line["position"], line["seconds_since_last_change"]) == (POSITION.sequence(), 42)
    assert (line["rows"], line["copied_rows"], line["losses"]) == (7, 5, {"t.price: too large": 3})
    assert (line["tables_waiting"], line["tables_copying"]) == (2, 1)
    assert line["tables_in_quarantine"] == 0
    assert "quarantine" not in line


def test_a_lag_that_is_unknown_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    line = line_of(FULL, capsys)
    assert line["message"] == "shop-db: confirmed up to mysql-bin.000007, 1234"
    assert "lag_seconds" not in line
    assert "seconds_since_last_change" not in line


def test_the_line_names_the_first_hundred_tables_in_quarantine(capsys: pytest.CaptureFixture[str]) -> None:
    tables = [TableName("shop", f"t{number:03}") for number in range(150)]
    entries = tuple(Quarantined(TableProblem(table, "rows", "why", "what"), POSITION) for table in tables)
    line = line_of(replace(FULL, quarantine=entries), capsys)
    assert line["tables_in_quarantine"] == 150
    assert line["quarantine"] == [f"shop.t{number:03}" for number in range(100)]
    assert line["message"].endswith("shop.t098, shop.t099 and 50 more")
