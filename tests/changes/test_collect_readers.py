"""Who reads each column: views, scheduled queries and jobs, counted by kind."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from support.told_texts import LAST, ToldTexts, job

from onefold.changes.collect_readers import collect_readers
from onefold.changes.reader_counts import ColumnReaders, KnownReaders
from onefold.ports.query_texts import MOST_REFERENCED, ScheduledText, ViewText

NOW = datetime(2026, 5, 4, tzinfo=UTC)
CURRENT = ("shop", "order_current")
COLUMNS = {CURRENT: ("id", "amount", "note"), ("reports", "daily"): ("total",), ("crm", "lead"): ("id",)}
OWN = ViewText(CURRENT, "SELECT * FROM shop.order_base", own=True)
DAILY = ViewText(("reports", "daily"), "SELECT SUM(amount) AS total FROM shop.order_current WHERE note != 'secret'")


def collected(told: ToldTexts, *datasets: str) -> KnownReaders:
    return collect_readers(told, told, "shop", datasets or None, NOW)


def shown(found: KnownReaders, column: str) -> str:
    return found.summary(*CURRENT, column)


def test_readers_are_counted_by_kind() -> None:
    query = "SELECT id FROM shop.order_current WHERE note = 'secret'"
    told = ToldTexts(
        COLUMNS, [OWN, DAILY], [ScheduledText("configs/1", "CREATE TABLE x.y AS SELECT id FROM shop.order_current")],
        [
            job("person", query, "a", "b", jobs=7), job("person", f"{query} LIMIT 1", "b"), job("dashboard", query, "r"),
            job("service account", "SELECT total FROM reports.daily", "s", jobs=2),
        ],
    )  # fmt: skip
    found = collected(told)
    assert shown(found, "id") == "1 scheduled query, 1 dashboard, 2 persons"
    assert shown(found, "NOTE") == "1 view, 1 dashboard, 1 service account, 2 persons"
    assert shown(found, "amount") == "1 view, 1 service account"
    assert found.readers_of(*CURRENT, "id")[-1] == ColumnReaders(*CURRENT, "id", "person", 2, 2, 8, 0, LAST)
    # Only columns of the datasets of Onefold's views count, and Onefold's own views are no readers.
    assert {one.dataset for one in found.rows} == {"shop"}
    assert (found.days, found.incomplete, found.unparsed, found.collected_at) == (30, 0, 0, NOW)


def test_datasets_that_are_named_count_too() -> None:
    told = ToldTexts(COLUMNS, [OWN], jobs=[job("person", "SELECT id FROM crm.lead")])
    assert collected(told).rows == ()
    assert [one.table for one in collected(told, "crm").rows] == ["lead"]


def test_what_cannot_be_told_is_maybe_and_jobs_with_full_lists_are_incomplete() -> None:
    many = frozenset(("shop", f"order_v_{number}") for number in range(MOST_REFERENCED))
    told = ToldTexts(
        COLUMNS, [OWN],
        jobs=[
            job("person", "CALL x.y('secret')", "a", referenced={CURRENT}, jobs=3),
            job("person", "SELECT id FROM shop.order_current", "b", referenced=many, incomplete=4, jobs=4),
        ],
    )  # fmt: skip
    found = collected(told)
    assert (shown(found, "id"), shown(found, "amount")) == ("2 persons (1 of them maybe)", "1 person (maybe)")
    assert (found.incomplete, found.unparsed) == (4, 1)
    assert [(one.jobs, one.incomplete) for one in found.readers_of(*CURRENT, "id")] == [(7, 4)]


def test_no_literal_and_no_name_of_a_reader_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("SELECT id FROM shop.order_current", "SELEC ;", "CALL x.y()")
    told = ToldTexts(COLUMNS, [OWN, DAILY], jobs=[job("person", f"{text} /* secret */", "secret-digest") for text in texts])
    kept = json.dumps([one.as_dict() for one in collected(told, "reports").rows])
    assert "id" in kept
    assert "secret" not in kept + "".join(capsys.readouterr())


def test_a_text_that_breaks_the_parser_stops_no_other_text() -> None:
    deep = f"SELECT {'(' * 1_500}1{')' * 1_500}, id FROM shop.order_current"
    told = ToldTexts(
        COLUMNS, [OWN], jobs=[job("person", deep, "a"), job("person", "SELECT id FROM shop.order_current", "b")]
    )
    found = collected(told)
    assert (shown(found, "id"), found.unparsed) == ("2 persons (1 of them maybe)", 1)
