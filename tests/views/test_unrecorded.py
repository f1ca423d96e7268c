"""What a ledger refuses is in the log once, by the message that brought it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.functions import RefreshView
from support.merge_shop import CUSTOMER, Shop

from onefold.changes.ledger import Ledger
from onefold.changes.versions import ReportedChange
from onefold.schema.table_rules import TableRules
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

START = datetime(2026, 11, 1, tzinfo=UTC)


def test_each_message_logs_its_own_rows_and_the_number_of_the_others(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, nowhere = Shop(dataset), Ledger(EmulatedWarehouse(dataset.client), "nowhere")
    function = RefreshView(dataset, monkeypatch, nowhere, rules=TableRules(keys=("id",), overlap_minutes=0))
    for version, columns in (("a", CUSTOMER), ("b", CUSTOMER | {"zip": "STRING"})):
        shop.create(version, columns)
        function.deliver(version)
    capsys.readouterr()
    for number in range(3):
        at = START + timedelta(seconds=number)
        function.deliver("b", reported=ReportedChange("capture", f"shop_{number}", "", at, "a"))
    lines = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["event"] == "unrecorded"]
    entries = [line["entry"] for line in lines]
    assert [one["tenant"] for one in entries if "tenant" in one] == ["shop_0", "shop_1", "shop_2"]
    assert [one["earlier"] for one in entries if "earlier" in one] == [2, 3, 4]  # versions a and b, and tenants
    assert all("nowhere.schema_changes" in line["message"] for line in lines)
