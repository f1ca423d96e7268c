"""One batch for all tables of a dataset: each with new rows is merged, and one that fails does not stop the others."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop
from support.sweeps import sweep

from onefold.batches.arguments import DatasetArguments
from onefold.core.errors import AccessDenied, NotFound, TryAgain
from onefold.core.names import TableId
from onefold.core.retry import Backoff
from onefold.merge.dataset import Candidate
from onefold.merge.need import MergeNeed
from onefold.ports.warehouse import StoredView
from onefold.schema.table_rules import MergeWhen, TableRules
from onefold.settings.environment import Settings
from onefold.spark.reconcile.bigquery import BigQueryBases
from onefold.spark.reconcile.dataset import TRIES, DatasetReport, log_late, reconcile_dataset
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

KEYED = TableRules(keys=("id",), overlap_minutes=0)
RULES = {"anonymous": TableRules(overlap_minutes=0), "wrong": TableRules(keys=("number",))}


class Many:
    """Tables of one dataset, each with one row, and the settings of all."""

    def __init__(self, dataset: EmulatedDataset, prefix: str, *names: str) -> None:
        self.dataset, self.prefix = dataset, prefix
        self.shops = {name: Shop(dataset, name=f"{prefix}_{name}", rules=KEYED) for name in names}
        for shop in self.shops.values():
            shop.create("1a", CUSTOMER)
            shop.land("1a", change("INSERT", "1", id=1, name=shop.name), at=LONG_AGO)
        tables = {f"{prefix}_{name}": rules for name, rules in RULES.items()}
        self.settings = Settings(rules=KEYED, tables=tables)

    def run(self, spark: SparkSession, parallel: int = 3) -> DatasetReport:
        arguments = DatasetArguments(self.dataset.name, f"{self.prefix}_*", parallel)
        warehouse = next(iter(self.shops.values())).warehouse
        return reconcile_dataset(spark, warehouse, self.settings, arguments)

    def outcomes(self, report: DatasetReport) -> dict[str, str]:
        return {table.table.removeprefix(f"{self.prefix}_"): table.outcome for table in report.tables}


@pytest.mark.parametrize("parallel", [pytest.param(1, marks=pytest.mark.long), 4])
def test_every_table_with_new_rows_is_merged_and_a_second_batch_finds_nothing(
    spark: SparkSession, dataset: EmulatedDataset, parallel: int
) -> None:
    many = Many(dataset, f"each{parallel}", "a", "b", "c", "d")
    first = many.run(spark, parallel)
    assert many.outcomes(first) == dict.fromkeys("abcd", "merged")
    assert [table.report.changes for table in first.tables if table.report] == [1, 1, 1, 1]
    for shop in many.shops.values():
        assert shop.people_see() == shop.expected("id", "name")
    before = {name: shop.base() for name, shop in many.shops.items()}
    assert many.outcomes(many.run(spark, parallel)) == dict.fromkeys("abcd", "up_to_date")
    many.shops["c"].land("1a", change("DELETE", "2", id=1))
    ready, many.settings = many.settings, Settings(rules=replace(KEYED, merge_when=MergeWhen(landed_percent=101)))
    waiting = many.run(spark, parallel)
    assert many.outcomes(waiting) == {**dict.fromkeys("abd", "up_to_date"), "c": "waiting"}
    assert "c waiting: 100 B landed, 100.0 % of the base: it waits for 101 %" in waiting.summary()
    many.settings = ready
    assert many.outcomes(many.run(spark, parallel)) == {**dict.fromkeys("abd", "up_to_date"), "c": "merged"}
    assert many.shops["c"].people_see() == []
    assert {name: shop.base() for name, shop in many.shops.items() if name != "c"} == {
        name: rows for name, rows in before.items() if name != "c"
    }


def test_a_table_that_fails_and_one_without_a_key_do_not_stop_the_others(
    spark: SparkSession, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    many = Many(dataset, "some", "anonymous", "first", "last", "taken", "wrong")
    dataset.run(f"CREATE TABLE {dataset.quoted('some_taken_base')} (id INT64)")
    report = many.run(spark)
    assert many.outcomes(report) == {
        "anonymous": "skipped", "first": "merged", "last": "merged", "taken": "failed", "wrong": "failed",
    }  # fmt: skip
    reasons = {table.table: "\n".join(table.reasons) for table in report.tables if table.reasons}
    assert "name the columns of the key" in reasons["some_anonymous"]
    assert "some_taken_base was not written by `onefold merge`" in reasons["some_taken"]
    assert "no column number for the key" in reasons["some_wrong"]
    for name in ("first", "last"):
        assert [row["name"] for row in many.shops[name].people_see()] == [f"some_{name}"]
    found = json.loads(report.to_json())
    assert {name: found[name] for name in ("merged", "up_to_date", "waiting", "skipped", "failed")} == {
        "merged": 2, "up_to_date": 0, "waiting": 0, "skipped": 1, "failed": 2,
    }  # fmt: skip
    assert report.summary().endswith(f"local.{dataset.name}: 2 merged, 0 up to date, 1 skipped, 2 failed")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"table_done"' in line]
    assert {line["table"]: line["severity"] for line in lines} == {
        "some_anonymous": "INFO", "some_first": "INFO", "some_last": "INFO", "some_taken": "ERROR", "some_wrong": "ERROR",
    }  # fmt: skip


def test_a_batch_logs_the_oldest_of_the_merges_that_are_late(capsys: pytest.CaptureFixture[str]) -> None:
    def need(name: str, hours: int | None) -> MergeNeed:
        return MergeNeed(Candidate(TableId("p", "shop", name), {}), "due", "", age=timedelta(hours=hours) if hours else None)

    log_late("shop", [need("young", 47), need("never", None), need("old", 90), need("older", 99)], timedelta(hours=48))
    line = json.loads(capsys.readouterr().out)
    assert (line["severity"], line["event"]) == ("ERROR", "merges_late")
    assert (line["dataset"], line["table"], line["tables"], line["age_hours"]) == ("shop", "older", 2, 99.0)
    waiting = replace(need("patient", 90), state="waiting")
    log_late("shop", [need("young", 47), need("never", None), waiting], timedelta(hours=48))
    assert capsys.readouterr().out == ""


def test_tables_are_merged_in_the_order_of_their_last_merges(
    spark: SparkSession, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    many = Many(dataset, "aged", "a", "b", "c")
    for name in ("c", "b"):
        many.shops[name].merge()
        many.shops[name].land("1a", change("DELETE", "2", id=1))
    capsys.readouterr()
    report = many.run(spark, parallel=1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"table_done"' in line]
    assert [line["table"] for line in lines] == ["aged_a", "aged_c", "aged_b"]
    assert [table.table for table in report.tables] == ["aged_a", "aged_b", "aged_c"]


def test_changes_of_unknown_types_are_a_warning_of_their_table(
    spark: SparkSession, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    many = Many(dataset, "kinds", "a", "b")
    many.shops["a"].land("1a", change("REFRESH", "2", id=2, name="x"), change("INSERT", "not a form", id=3, name="y"))
    report = many.run(spark)
    assert many.outcomes(report) == dict.fromkeys("ab", "merged")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"table_done"' in line]
    (warning,) = [line for line in lines if line["severity"] == "WARNING"]
    assert (warning["table"], warning["reasons"]) == (
        "kinds_a",
        [
            "1 change ordered by text, as its sequence has no documented form",
            "1 change of an unknown change_type, taken as upserts",
        ],
    )
    assert all(f"kinds_a merged: {reason}" in report.summary().splitlines() for reason in warning["reasons"])


@pytest.mark.parametrize(("times", "outcome"), sweep([(TRIES - 1, "merged"), (TRIES, "failed")]))
def test_an_error_that_may_pass_is_met_with_another_try(
    spark: SparkSession, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, times: int, outcome: str
) -> None:
    many = Many(dataset, f"again{times}", "a")
    prepared, left = BigQueryBases._prepared, [TryAgain("the base was replaced")] * times

    def fail_first(self: BigQueryBases, *arguments: Any) -> Any:
        if left:
            raise left.pop()
        return prepared(self, *arguments)

    monkeypatch.setattr(BigQueryBases, "_prepared", fail_first)
    assert many.outcomes(many.run(spark)) == {"a": outcome}
    assert not left


@pytest.mark.parametrize("known", sweep([None, "deployed"]))
def test_a_clean_view_that_may_not_be_read_is_an_error_where_the_deployment_has_some_and_else_a_line_of_the_log(
    spark: SparkSession,
    dataset: EmulatedDataset,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: str | None,
) -> None:
    many = Many(dataset, f"denied{known}", "a")
    for shop in many.shops.values():
        refresh_current(shop.warehouse, shop.table, (), many.settings)
    many.settings = replace(many.settings, clean_datasets=frozenset({dataset.name}) if known else None)
    found = EmulatedWarehouse.get_view

    def denied(warehouse: EmulatedWarehouse, id_: TableId) -> StoredView | None:
        if (id_.dataset or "").endswith("__views_clean"):
            raise AccessDenied(f"Access Denied: {id_}")
        return found(warehouse, id_)

    monkeypatch.setattr(EmulatedWarehouse, "get_view", denied)
    monkeypatch.setattr("onefold.spark.reconcile.dataset.CONFLICT_BACKOFF", Backoff(first=0, longest=0, factor=1))
    capsys.readouterr()
    report = many.run(spark)
    assert many.outcomes(report) == {"a": "failed" if known else "merged"}
    reason = f"the account may not read dataset {dataset.name}__views_clean, which has the clean views of this deployment"
    assert any(reason in one for one in report.tables[0].reasons) == bool(known)
    notes = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line.get("event") == "no_clean"]
    assert [(line["severity"], line["table"]) for line in notes] == ([] if known else [("NOTICE", "deniedNone_a")])


@pytest.mark.long
def test_a_view_that_cannot_be_written_after_its_merge_is_no_table_that_is_up_to_date(
    spark: SparkSession, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = Many(dataset, "viewless", "a")

    def refuse(*_: Any) -> None:
        raise TryAgain("others write the view")

    monkeypatch.setattr("onefold.views.base_view.keep_current", refuse)
    assert many.outcomes(many.run(spark)) == {"a": "failed"}


def test_an_error_of_any_class_is_one_of_its_table_alone(
    spark: SparkSession, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = Many(dataset, "odd", "a", "b", "c")
    prepared = BigQueryBases._prepared
    errors = {"odd_a": RuntimeError("Java is gone"), "odd_c": NotFound("a query on local: the base is gone")}

    def fail_one(self: BigQueryBases, plan: Any, *arguments: Any) -> Any:
        if error := errors.get(plan.base.table.table):
            raise error
        return prepared(self, plan, *arguments)

    monkeypatch.setattr(BigQueryBases, "_prepared", fail_one)
    report = many.run(spark)
    assert many.outcomes(report) == {"a": "failed", "b": "merged", "c": "failed"}
    assert report.tables[0].reasons == ("RuntimeError: Java is gone",)


def test_an_error_of_any_class_while_a_table_is_looked_at_stops_no_other(
    spark: SparkSession, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = Many(dataset, "looked", "a", "b")
    found = EmulatedWarehouse.has_table
    many.run(spark)
    for shop in many.shops.values():
        shop.create("2b", CUSTOMER)

    def fail_one(warehouse: EmulatedWarehouse, id_: TableId) -> bool:
        if id_.table == "looked_a_v_2b":
            raise RuntimeError("the connection is gone")
        return found(warehouse, id_)

    monkeypatch.setattr(EmulatedWarehouse, "has_table", fail_one)
    assert many.outcomes(many.run(spark)) == dict.fromkeys("ab", "merged")


def test_a_dataset_without_versioned_tables_is_an_error(spark: SparkSession, dataset: EmulatedDataset) -> None:
    warehouse = Shop(dataset).warehouse
    with pytest.raises(NotFound, match="no versioned tables whose base name matches 'nothing_\\*'"):
        reconcile_dataset(spark, warehouse, Settings(), DatasetArguments(dataset.name, "nothing_*"))
