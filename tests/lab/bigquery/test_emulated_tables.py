"""Views, merges and current views of tables of every type in the embedded BigQuery, compared with Google's evaluator."""

from __future__ import annotations

import importlib.metadata
from datetime import UTC, datetime
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE
from support.emulated_values import VALUES
from support.merge_shop import Shop
from support.zetasql_judge import Judge

from onefold.changelog.digest import text_sql
from onefold.changelog.metadata import METADATA
from onefold.core.errors import Rejected
from onefold.core.names import quote
from onefold.merge.base_table import base_of, winners
from onefold.merge.change_query import changes_query
from onefold.merge.plan import plan_merge
from onefold.ports.warehouse import ViewDraft, WriteResult
from onefold.refresh.write import refresh
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.views.current_view import current_query
from onefold.views.unified_kind import UnifiedKind
from onefold_lab.bigquery import corrections
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

pytestmark = pytest.mark.long

NESTED = "STRUCT<`b` INT64, `a b` STRUCT<`end` NUMERIC, x BYTES>>"
DEEP = "STRUCT<n BIGNUMERIC, f FLOAT64, t TIMESTAMP, d DATETIME, j JSON, l ARRAY<FLOAT64>>"
ARRAYS = "ARRAY<STRUCT<element INT64, place ARRAY<STRUCT<o1 BIGNUMERIC>>>>"
FIRST = {
    "key": "NUMERIC", "s": NESTED, "deep": DEEP, "arrays": ARRAYS, "big": "NUMERIC", "bytes": "BYTES", "json": "JSON",
    "text": NESTED, "list": "ARRAY<BYTES>", "f": "FLOAT64", "same": "BYTES",
}  # fmt: skip
SECOND = {
    "key": "BIGNUMERIC", "s": "STRUCT<`b` STRING>", "arrays": ARRAYS, "big": "BIGNUMERIC", "bytes": "STRING",
    "json": "STRING", "text": "STRING", "list": "ARRAY<STRING>", "f": "STRING", "same": "BYTES",
}  # fmt: skip
_SECOND_S = [({"b": "x"}, "STRUCT('x')"), ({"b": None}, "STRUCT(CAST(NULL AS STRING))")]


def test_columns_whose_names_duckdb_reserves_need_no_quotes_in_a_new_table(dataset: EmulatedDataset) -> None:
    table = dataset.quoted("t")
    dataset.run(f"CREATE TABLE {table} (id INT64, at TIMESTAMP, s STRUCT<at INT64, `end` INT64>)")
    dataset.run(f"INSERT INTO {table} VALUES (1, TIMESTAMP '2026-11-23 10:00:00+00', STRUCT(2, 3))")
    assert dataset.run(f"SELECT t.`at`, t.s.`at` AS a, t.s.`end` AS e FROM {table} AS t") == [
        (datetime(2026, 11, 23, 10, tzinfo=UTC), 2, 3)
    ]


class Landed:
    """Versioned tables of `a-b` in the emulator and as literals, and what the evaluator makes of them."""

    def __init__(self, judge: Judge, dataset: EmulatedDataset) -> None:
        self.judge = judge
        self.shop = Shop(dataset, name="a-b", keys=("key",))
        self.tables: dict[str, list[tuple[str, str]]] = {}
        self.content: dict[str, str] = {}
        self._rows = 0

    def land(self, version: str, columns: dict[str, str], count: int) -> None:
        """Rows of every value in turn; the last one deletes the first one's key."""
        self.shop.create(version, columns)
        table = str(self.shop.table.sibling(f"a-b_v_{version}"))
        self.tables[table] = [*columns.items(), (METADATA, METADATA_TYPE)]
        rows = [self._row(columns, number) for number in range(count)]
        assert self.shop.dataset.client.insert_rows_json(table, [row for row, _ in rows]) == []
        self.content[table] = "\nUNION ALL\n".join(literal for _, literal in rows)

    def _row(self, columns: dict[str, str], number: int) -> tuple[dict[str, Any], str]:
        self._rows += 1
        row: dict[str, Any] = {}
        items = []
        for name, type_ in columns.items():
            landed = _SECOND_S if type_ == SECOND["s"] else VALUES[type_]
            value, literal = (f"{number % 7}.5", f"{number % 7}.5") if name == "key" else landed[number % len(landed)]
            row[name] = value
            items.append(f"CAST({literal} AS {type_}) AS {quote(name)}")
        kind = "DELETE" if number % 5 == 4 else "INSERT"
        uuid = f"{self._rows:03d}"
        position = {"uuid": uuid, "source_timestamp": 1, "change_sequence_number": f"{self._rows % 4}", "sort_keys": []}
        row[METADATA] = {**position, "change_type": kind}
        metadata = f"STRUCT('{uuid}', 1, '{self._rows % 4}', '{kind}', CAST([] AS ARRAY<STRING>))"
        return row, f"SELECT {', '.join(items)}, CAST({metadata} AS {METADATA_TYPE}) AS {METADATA}"

    def judged(self, query: str, columns: tuple[Column, ...]) -> list[tuple[Any, ...]]:
        return sorted(self.judge.rows(_texts(columns, f"({query})"), self.tables, self.content), key=repr)

    def emulated(self, table: str, columns: tuple[Column, ...]) -> list[tuple[Any, ...]]:
        """As any client reads it, by `jobs.query`."""
        rows = self.shop.dataset.client.query_and_wait(_texts(columns, self.shop.dataset.quoted(table)))
        return sorted((tuple(row) for row in rows), key=repr)


def _texts(columns: tuple[Column, ...], source: str) -> str:
    texts = ", ".join(f"{text_sql(f'r.{quote(column.name)}', column.type)} AS {quote(column.name)}" for column in columns)
    return f"SELECT {texts} FROM {source} AS r"


@pytest.fixture
def landed(judge: Judge, dataset: EmulatedDataset) -> Landed:
    landed = Landed(judge, dataset)
    landed.land("1", FIRST, 20)
    landed.land("2", SECOND, 20)
    return landed


def test_a_unified_view_shows_the_values_of_the_evaluator(landed: Landed) -> None:
    plan = refresh(UnifiedKind(landed.shop.warehouse, landed.shop.table, landed.shop.settings))
    assert plan.view is not None
    columns = plan.view.columns
    assert landed.emulated(plan.view.id.table, columns) == landed.judged(plan.view.query, columns)


def test_a_merge_writes_the_values_of_the_evaluator(landed: Landed) -> None:
    shop = landed.shop
    plan = plan_merge(shop.warehouse, shop.table, shop.settings, shop.keys)
    expected = landed.judged(winners(plan.base, changes_query(plan.whole, plan.base, plan.rules)), plan.base.stored)
    _, counts = shop.plan_and_merge()
    assert (counts.changes, counts.keys) == (40, 7)
    assert landed.emulated("a-b_base", plan.base.stored) == expected
    assert shop.merge().written == 0


def test_a_current_view_shows_the_values_of_the_evaluator_before_and_after_a_merge(landed: Landed) -> None:
    shop = landed.shop
    view = refresh(UnifiedKind(shop.warehouse, shop.table, shop.settings)).view
    assert view is not None
    columns = base_of(shop.table, view.columns, shop.keys).columns
    inlined = current_query(view.id, view.columns, shop.keys).replace(view.id.quoted, f"({view.query})")
    expected = landed.judged(inlined, columns)
    shop.current()
    assert landed.emulated("a-b_current", columns) == expected
    shop.merge()
    shop.current()
    assert landed.emulated("a-b_current", columns) == expected


def test_a_base_follows_a_struct_that_gets_a_field(judge: Judge, dataset: EmulatedDataset) -> None:
    landed = Landed(judge, dataset)
    landed.land("1", {"key": "NUMERIC", "s": NESTED, "deep": DEEP}, 10)
    landed.shop.merge()
    landed.land("2", {"key": "NUMERIC", "s": "STRUCT<`b` STRING>", "big": "BIGNUMERIC"}, 10)
    shop = landed.shop
    plan, _ = shop.plan_and_merge()
    assert plan.brought_up is not None
    expected = landed.judged(winners(plan.base, changes_query(plan.whole, plan.base, plan.rules)), plan.base.stored)
    assert landed.emulated("a-b_base", plan.base.stored) == expected


class FailingMerges(EmulatedWarehouse):
    """Refuses every MERGE, as BigQuery might."""

    def execute(self, sql: str) -> WriteResult:
        if sql.startswith("MERGE"):
            raise Rejected("no MERGE today")
        return super().execute(sql)


def test_an_empty_base_that_a_failed_merge_left_hides_nothing_and_is_filled_by_the_next(landed: Landed) -> None:
    shop = landed.shop
    plan = plan_merge(shop.warehouse, shop.table, shop.settings, shop.keys)
    expected = landed.judged(winners(plan.base, changes_query(plan.whole, plan.base, plan.rules)), plan.base.stored)
    before = shop.current()
    with pytest.raises(Rejected, match="no MERGE today"):
        shop.merge(warehouse=FailingMerges(shop.dataset.client))
    assert shop.base() == []
    assert shop.current() == before
    assert before
    shop.merge()
    assert landed.emulated("a-b_base", plan.base.stored) == expected


def test_changes_that_cannot_be_read_are_refused_before_there_is_a_base(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("1", {"id": "INT64"})
    warehouse = UnreadableChanges(dataset.client)
    with pytest.raises(Rejected, match=r"the embedded BigQuery cannot run its SQL \(.*nothing.*\): set another type"):
        shop.merge(warehouse=warehouse)
    assert [item.table_id for item in dataset.client.list_tables(dataset.name)] == ["customer_v_1"]


class UnreadableChanges(EmulatedWarehouse):
    """Every query that is checked names a column that is not there."""

    def check_query(self, sql: str) -> None:
        super().check_query(sql.replace("`id`", "`nothing`"))


def test_a_view_that_cannot_be_read_is_refused_before_it_is_written(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    view = shop.table.sibling("customer_unified")
    wrong = ViewDraft("SELECT x + 1 AS y FROM (SELECT BIGNUMERIC '1' AS x)")
    with pytest.raises(Rejected, match=r"customer_unified: the embedded BigQuery cannot run its SQL .*BIGNUMERIC"):
        shop.warehouse.create_view(view, wrong)
    assert shop.warehouse.get_view(view) is None
    shop.warehouse.create_view(view, ViewDraft("SELECT 1 AS y"))
    stored = shop.warehouse.get_view(view)
    assert stored is not None
    with pytest.raises(Rejected, match="BIGNUMERIC"):
        shop.warehouse.update_view(stored, wrong)
    assert shop.warehouse.get_view(view) == stored


def test_a_failed_query_is_an_error_for_any_client(dataset: EmulatedDataset) -> None:
    with pytest.raises(BadRequest, match="nothing"):
        dataset.client.query_and_wait("SELECT nothing FROM (SELECT 1 AS one)")


def test_columns_have_their_declared_types(dataset: EmulatedDataset) -> None:
    types = {f"c{number}": type_ for number, type_ in enumerate([*VALUES, "RANGE<DATE>", "INTERVAL", "GEOGRAPHY"])}
    dataset.land("declared", types)
    shop = Shop(dataset)
    found = shop.warehouse.read_columns(shop.table.sibling("declared"))
    assert found == tuple(Column(name, parse_type(type_)) for name, type_ in types.items())
    shop.warehouse.create_table(shop.table.sibling("created"), found)
    assert shop.warehouse.read_columns(shop.table.sibling("created")) == found


def test_another_version_of_the_server_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"bqemulator": "1.5.0"}.__getitem__)
    with pytest.raises(Rejected, match=r"expected bqemulator 1\.4\.0, got 1\.5\.0: pip install bqemulator==1\.4\.0"):
        corrections.install()


def test_labels_that_a_request_does_not_name_stay_and_a_null_removes_one(dataset: EmulatedDataset) -> None:
    dataset.land("labelled", {"a": "INT64"})
    for labels in ({"kept": "1", "gone": "2"}, {"gone": None, "new": "3"}):
        table = dataset.client.get_table(f"{dataset.name}.labelled")
        table.labels = labels
        dataset.client.update_table(table, ["labels"])
    assert dataset.client.get_table(f"{dataset.name}.labelled").labels == {"kept": "1", "new": "3"}
