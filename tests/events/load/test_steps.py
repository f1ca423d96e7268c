"""Loads into the embedded BigQuery that are killed at each step, repeated, done by two at once, or met by altered tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.bigquery import SchemaField
from support.event_loads import TABLE, EventScene, states
from support.sweeps import sweep
from support.turns import Killed, at_once

from onefold.adapters.bigquery.event_tables import BigQueryEventTables

ID, ZIP, GEO = ("id", "INT64"), ("zip", "STRING"), ("geo", "STRUCT<lat FLOAT64>")
FIRST, SECOND, THIRD = (f"2026-11-23-08-00-0{number}" for number in range(3))


class KilledAt:
    """A warehouse whose process is killed right before, or right after, one of the calls that change something."""

    CHANGES = ("prepare", "record_plan", "create", "change", "load", "_record", "finish")

    def __init__(self, inner: BigQueryEventTables, call: int, after: bool) -> None:
        self.calls = 0
        for name in self.CHANGES:
            setattr(inner, name, self._killing(getattr(inner, name), call, after))
        self.warehouse = inner

    def _killing(self, method: Callable[..., Any], call: int, after: bool) -> Callable[..., Any]:
        def killing(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            mine = self.calls == call
            if mine and not after:
                raise Killed
            result = method(*arguments, **options)
            if mine:
                raise Killed
            return result

        return killing


@pytest.mark.long
def test_a_loader_that_is_killed_before_or_after_any_change_is_finished_by_the_next_one(events: EventScene) -> None:
    columns = [ID]
    events.shred("2026-11-23-08-00-00", "1-0-0", columns, {"id": 0})
    events.load()
    for number in range(1, 60):
        columns = [*columns, (f"c{number}", "INT64")]
        events.shred(f"2026-11-23-08-01-{number:02}", f"1-0-{number}", columns, {"id": number, f"c{number}": number})
        killed = KilledAt(events.warehouse, (number + 1) // 2, after=number % 2 == 0)
        try:
            list(events.loader(killed.warehouse).load())
        except Killed:
            assert states(events.load()) in (["loaded"], [])
        else:
            break
    else:
        raise AssertionError("the loader never came to an end")
    # Its changes of a run whose table gets a column: each was met on both sides.
    assert (number + 1) // 2 > 8
    assert events.rows("id") == [(one,) for one in range(number + 1)]
    assert [name for name, _ in events.columns()] == ["id", *(f"c{one}" for one in range(1, number + 1))]


@pytest.mark.long
def test_a_table_that_is_created_survives_a_kill_before_and_after_any_change(events: EventScene) -> None:
    for number in range(1, 60):
        run = f"2026-11-23-08-01-{number:02}"
        model = f"com_acme_click_{number}"
        events.shred(run, f"{number}-0-0", [ID], {"id": number}, table=model)
        killed = KilledAt(events.warehouse, (number + 1) // 2, after=number % 2 == 0)
        try:
            list(events.loader(killed.warehouse).load())
        except Killed:
            events.load()
        assert events.rows("id", table=model) == [(number,)]
        if killed.calls < (number + 1) // 2:
            break
    assert number > 14


def test_two_loaders_at_once_load_each_run_once(events: EventScene) -> None:
    runs = [(FIRST, [ID]), (SECOND, [ID, ZIP]), (THIRD, [ID, ZIP, GEO])]
    for number, (run, columns) in enumerate(runs):
        events.shred(run, f"1-0-{number}", columns, {"id": number})
    found: list[str] = []

    def load() -> None:
        for _ in range(10):  # as a message that is delivered until all is done
            done = states(events.load())
            if all(state == "loaded" for state in done):
                return
            found.extend(done)

    at_once(load, load, load)
    assert states(events.load()) == [], found
    assert events.rows("id") == [(0,), (1,), (2,)]
    assert events.columns() == [ID, ZIP, GEO]


def test_a_second_message_after_the_load_and_before_its_record_starts_no_second_job(
    events: EventScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    warehouse = events.warehouse

    def killed(steps: Any) -> None:
        listed = list(steps)
        if any(step.state == "loaded" for step in listed):
            raise Killed
        BigQueryEventTables._record(warehouse, listed)

    monkeypatch.setattr(warehouse, "_record", killed)
    with pytest.raises(Killed):
        list(events.loader(warehouse).load())
    assert events.rows("id") == [(1,)]
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(1,)]


def dropped(fields: list[SchemaField]) -> list[SchemaField]:
    return [field for field in fields if field.name != "id"]


def retyped(fields: list[SchemaField]) -> list[SchemaField]:
    return [SchemaField("id", "STRING") if field.name == "id" else field for field in fields]


def moved(fields: list[SchemaField]) -> list[SchemaField]:
    return [*fields[:-2], fields[-1], fields[-2]]


def nested(fields: list[SchemaField]) -> list[SchemaField]:
    return [*fields[:-1], SchemaField("geo", "RECORD", fields=[SchemaField("lat", "FLOAT"), SchemaField("x", "DATE")])]


@pytest.mark.parametrize(
    ("change", "difference"),
    sweep(
        [
            (dropped, "column id INT64 is missing"),
            (retyped, "column id: expected INT64, got STRING"),
            (moved, "the order: expected zip, geo, got geo, zip"),
            (nested, "column geo: expected STRUCT<lat FLOAT64>, got STRUCT<lat FLOAT64, x DATE>"),
            (lambda fields: fields[:-1], "column geo STRUCT<lat FLOAT64> is missing"),
        ]
    ),
)
def test_a_table_that_was_altered_waits_for_its_repair(
    events: EventScene, change: Callable[[list[SchemaField]], list[SchemaField]], difference: str
) -> None:
    events.shred(FIRST, "1-0-0", [ID, ZIP, GEO], {"id": 1})
    events.load()
    before = events.dataset.client.get_table(f"{events.dataset.name}.{TABLE}").schema
    events.alter(change)
    events.shred_two(SECOND, [ID, ZIP, GEO], {"id": 2})
    (report,) = events.load()
    assert report.state == "unfinished"
    assert [table.state for table in report.tables] == ["failed", "loaded"]
    assert f"{TABLE}: {difference}" in str(report.tables[0].error)
    assert events.rows("id", table="com_acme_view_1") == [(2,)]
    events.alter(lambda _: list(before))
    (report,) = events.load()
    assert [table.state for table in report.tables] == ["loaded", "loaded before"]
    assert events.rows("id") == [(2,)]
    assert events.rows("id", table="com_acme_view_1") == [(2,)]


def test_a_name_that_a_view_has_is_an_error_of_that_table(events: EventScene) -> None:
    events.dataset.run(f"CREATE VIEW {events.dataset.quoted(TABLE)} AS SELECT 1 AS id")
    events.shred_two(FIRST, [ID], {"id": 1})
    (report,) = events.load()
    assert [table.state for table in report.tables] == ["failed", "loaded"]
    assert "expected a table, got a view" in str(report.tables[0].error)


def test_a_table_that_was_renamed_is_created_anew_without_its_rows(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    events.load()
    events.dataset.run(f"ALTER TABLE {events.dataset.quoted(TABLE)} RENAME TO {TABLE}_old")
    events.shred(SECOND, "1-0-0", [ID], {"id": 2})
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(2,)]
    assert events.rows("id", table=f"{TABLE}_old") == [(1,)]


def test_a_load_that_bigquery_refuses_is_tried_anew_when_the_files_are_right(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, {"id": 2})
    files = sorted(events.folder.rglob("*.parquet"))
    content = files[1].read_bytes()
    files[1].unlink()
    for _ in range(3):  # each attempt uses up an identifier
        (report,) = events.load()
        assert report.tables[0].state in ("failed", "running")
        assert events.rows("id") == []  # all files or none
    files[1].write_bytes(content)
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "is not a manifest: expected JSON"), ('{"algorithm": 1}', "run is missing")],
)
def test_a_manifest_that_is_not_valid_is_reported_and_the_other_runs_are_loaded(
    events: EventScene, text: str, problem: str
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    events.shred(SECOND, "1-0-0", [ID], {"id": 2})
    (events.folder / f"run={FIRST}" / "shredding_complete.json").write_text(text)
    refused, loaded = events.load()
    assert (refused.state, loaded.state) == ("refused", "loaded")
    assert problem in str(refused.error)
    assert events.rows("id") == [(2,)]


def test_files_in_csv_are_refused(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [("day", "DATE")], {}, format="csv")
    (report,) = events.load()
    assert report.state == "refused"
    assert "has rows for redshift" in str(report.error)
    assert "--warehouse bigquery" in str(report.error)


def test_a_run_with_bad_events_only_is_finished(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], bad={"invalid": 5})
    (report,) = events.load()
    assert (report.state, report.bad, [table.table for table in report.tables]) == ("loaded", 5, [])
    assert events.load() == []
