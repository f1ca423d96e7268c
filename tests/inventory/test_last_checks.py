"""A difference in one chunk counts until a later check says of its rows that they are the same, or repairs them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.zetasql_judge import Judge

from onefold.check.log import CHECK_COLUMNS
from onefold.core.names import TableId
from onefold.inventory.last_checks import checks_query, last_checks
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

T0 = datetime(2026, 11, 27, 8, tzinfo=UTC)


def row(hour: int, outcome: str, low: str | None = None, high: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "source_name": "a", "database_name": "shop", "table_name": "t", "checked_at": T0 + timedelta(hours=hour),
        "outcome": outcome, "chunk_column": "id", "chunk_low": low, "chunk_high": high, **more,
    }  # fmt: skip


FOUND = row(0, "different", None, "1000")


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        ([], "different"),
        ([row(1, "same", "1000", None)], "different"),
        ([row(1, "same", None, "999"), row(2, "same", "1000", None)], "different"),
        ([row(1, "skipped", None, "1000")], "different"),
        ([row(1, "same", None, "1000")], "same"),
        ([row(1, "fixed", None, None)], "fixed"),
        ([row(1, "same", "500", "1500"), row(2, "same", None, "500")], "same"),
        ([row(1, "same", None, "1000", chunk_column="at")], "different"),
        ([row(1, "same", None, "9", chunk_column="at"), row(2, "same", "9", None, chunk_column="at")], "same"),
        ([row(1, "same", None, "1000"), row(2, "different", "0", "5")], "different"),
        ([row(1, "failed", None, "1000")], "failed"),
        ([row(1, "same", source_name="b"), row(2, "same", database_name="other")], "different"),
    ],
)
def test_a_difference_is_settled_by_a_later_check_of_all_its_rows(later: list[dict[str, Any]], outcome: str) -> None:
    assert last_checks([*later, FOUND])["t"].outcome == outcome
    assert last_checks([*later[::-1], FOUND])["t"].at == max(one["checked_at"] for one in [FOUND, *later])


def test_the_log_tells_the_checks_since_the_oldest_difference_and_all_repaired_rows(dataset: EmulatedDataset) -> None:
    log = TableId("local", dataset.name, "_checks")
    warehouse = EmulatedWarehouse(dataset.client)
    warehouse.create_table(log, CHECK_COLUMNS, partition="checked_at")
    values = [
        f"('{source}', 'shop', 't', TIMESTAMP '2026-11-27 {hour:02}:00:00+00', '{outcome}', 'id', {low}, {high}, {fixed})"
        for source, hour, outcome, low, high, fixed in (
            ("eu", 8, "different", "NULL", "'1000'", "NULL"), ("eu", 9, "fixed", "NULL", "'1000'", "17"),
            ("eu", 10, "fixed", "NULL", "'1000'", "3"), ("us", 8, "different", "'5'", "NULL", "NULL"),
            ("us", 7, "same", "NULL", "'5'", "NULL"), ("us", 11, "same", "NULL", "'5'", "NULL"),
            ("us", 10, "skipped", "'5'", "NULL", "NULL"),
        )
    ]  # fmt: skip
    names = "source_name, database_name, table_name, checked_at, outcome, chunk_column, chunk_low, chunk_high, rows_fixed"
    dataset.run(f"INSERT INTO {dataset.quoted('_checks')} ({names}) VALUES {', '.join(values)}")
    rows = warehouse.fetch(checks_query(log))
    found = sorted((row["source_name"], row["checked_at"].hour, row["outcome"]) for row in rows)
    assert found == [("eu", 10, "fixed"), ("us", 8, "different"), ("us", 10, "skipped"), ("us", 11, "same")]
    check = last_checks(rows)["t"]
    assert (check.outcome, check.repaired, check.at) == ("different", 20, T0 + timedelta(hours=3))


def test_bigquery_takes_the_query(judge: Judge) -> None:
    columns = [(column.name, str(column.type)) for column in CHECK_COLUMNS]
    judge.accept(checks_query(TableId(None, None, "_checks")), {"_checks": columns})
