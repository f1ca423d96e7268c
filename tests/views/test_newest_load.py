"""The full view of a table that is loaded full, as text and in Google's evaluator; and which view each table gets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.columns import columns
from support.fake_bigquery import FakeBigQuery
from support.fake_tenants import configured
from support.pulled_source import CLUSTER, DATABASE, DATASET
from support.rest import PROJECT
from support.rest_fields import rest_field
from support.zetasql_judge import Judge

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import DAY, LANDED_AT, METADATA
from onefold.core.errors import LimitExceeded, SchemaConflict
from onefold.core.names import TableId
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import plan_refresh, refresh
from onefold.schema.plain_table import PlainTable
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad
from onefold.views import newest_load
from onefold.views.already_current import AlreadyCurrentKind
from onefold.views.current_kind import CurrentKind
from onefold.views.newest_load import NewestLoadKind, kind_of, newest_load_query
from onefold.views.tool_kind import ToolKind
from onefold.views.united_kind import UnitedCurrentKind

GOLDEN = Path(__file__).parents[1] / "golden" / "pulled" / "newest_load.sql"
BASE = TableId(PROJECT, DATASET, "score")
META = "STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING>"
LANDED = {"id": "INT64", "name": "STRING", METADATA: META, LANDED_AT: "TIMESTAMP", DAY: "DATE"}
WIDER = {"id": "STRING", "note": "STRING", **{name: LANDED[name] for name in (METADATA, LANDED_AT, DAY)}}
SOURCE = Source(CLUSTER, "db", databases=(DATABASE,), tables={"score": TableLoad("full")})
INCREMENTAL = {"score": TableLoad("incremental")}
FULL = Settings(sources={CLUSTER: SOURCE})
VIEW = ("score", f"{DATASET}__views_full")


@pytest.fixture
def cloud() -> FakeBigQuery:
    """Two versions of a table that is loaded full, and the dataset of full views."""
    cloud = FakeBigQuery()
    cloud.datasets[VIEW[1]] = {}
    cloud.land("score_v_abc", LANDED, dataset=DATASET)
    cloud.land("score_v_def", WIDER, dataset=DATASET)
    return cloud


def written(cloud: FakeBigQuery) -> ViewPlan:
    """Refresh the view in a warehouse that knows the types of its columns."""
    kind = kind_of(BigQueryWarehouse(cloud.client()), BASE, FULL)
    view = plan_refresh(kind).view
    cloud.schema_of = lambda _: [rest_field(one.name, one.type) for one in (view.columns if view else ())]
    return refresh(kind)


def text_of(cloud: FakeBigQuery) -> str:
    return str(cloud.resource(*VIEW)["view"]["query"])


def test_the_text_is_as_it_was(cloud: FakeBigQuery) -> None:
    plan, text = written(cloud), text_of(cloud) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    assert plan.view
    assert [f"{one.name} {one.type}" for one in plan.view.columns] == ["id STRING", "name STRING", "note STRING"]
    assert plan.view.versions == ("abc", "def")
    assert [f"{cast.versions}.{cast.column}: {cast.source} -> {cast.target}" for cast in plan.view.casts] == [
        "('abc',).id: INT64 -> STRING"
    ]


def test_written_again_the_text_stays_and_a_new_column_comes_last(cloud: FakeBigQuery) -> None:
    written(cloud)
    before = text_of(cloud)
    assert (written(cloud).action, text_of(cloud)) == ("none", before)
    cloud.land("score_v_fed", {"added": "BOOL", **LANDED}, dataset=DATASET)
    view = written(cloud).view
    assert view
    assert [one.name for one in view.columns] == ["id", "name", "note", "added"]


@pytest.mark.parametrize(("beyond", "fits"), [(0, True), (-1, False)])
def test_a_text_of_exactly_the_limit_fits(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch, beyond: int, fits: bool
) -> None:
    kind = kind_of(BigQueryWarehouse(cloud.client()), BASE, FULL)
    view = plan_refresh(kind).view
    assert view
    monkeypatch.setattr(newest_load, "MAX_TEXT", len(view.query) + beyond)
    if fits:
        assert plan_refresh(kind).view == view
        return
    size = len(view.query)
    with pytest.raises(LimitExceeded, match=rf"views_full\.score: its text takes {size} of {size - 1} characters"):
        plan_refresh(kind)


def row(id_: int, uuid: str | None, at: int | None) -> str:
    load = f"{repr(uuid) if uuid else 'CAST(NULL AS STRING)'} AS uuid, {'NULL' if at is None else at} AS source_timestamp"
    return f"SELECT {id_} AS id, STRUCT({load}, '' AS change_sequence_number, '' AS change_type) AS {METADATA}"


@pytest.mark.parametrize(
    ("rows", "newest"),
    [
        ([(1, "a", 999), (2, "b", 1000), (3, "b", 1000)], [2, 3]),
        ([(1, "b", 999), (2, "a", 1000)], [2]),
        ([(1, "a", 1000), (2, "b", 1000)], [2]),
        ([(1, "a", None), (2, "b", 0)], [2]),
        ([(1, None, 7), (2, "a", 7)], [2]),
        ([(1, None, None), (2, None, None)], [1, 2]),
        ([], []),
    ],
)
def test_the_rows_of_the_load_that_read_last_are_shown(
    judge: Judge, rows: list[tuple[int, str | None, int | None]], newest: list[int]
) -> None:
    """The load that read last is the newest; of two at one moment, one is chosen, and its rows are all shown."""
    types = {"id": "INT64", METADATA: META}
    query = newest_load_query("SELECT * FROM t", columns(**types))
    content = "\nUNION ALL ".join(row(*one) for one in rows)
    found = judge.rows(query, {"t": list(types.items())}, {"t": content} if rows else {})
    assert sorted(found) == [(id_,) for id_ in newest]


def test_rows_that_do_not_say_their_load_are_an_error() -> None:
    with pytest.raises(SchemaConflict, match=f"the versions.*no column {METADATA}"):
        newest_load_query("SELECT 1", columns(id="INT64"))


PLAIN = Settings().with_plain(
    "shop",
    {
        "t": PlainTable("changes", "shop__onefold"),
        "now": PlainTable("current", "shop__onefold"),
        "of": PlainTable("tool", "shop__onefold"),
    },
)


@pytest.mark.parametrize(
    ("table", "settings", "expected"),
    [
        (BASE, FULL, NewestLoadKind),
        (BASE, Settings(sources={CLUSTER: Source(CLUSTER, "db", databases=(DATABASE,), tables=INCREMENTAL)}), CurrentKind),
        (BASE, Settings(), CurrentKind),
        (TableId(PROJECT, "shop", "t"), PLAIN, CurrentKind),
        (TableId(PROJECT, "shop", "now"), PLAIN, AlreadyCurrentKind),
        (TableId(PROJECT, "shop", "of"), PLAIN, ToolKind),
    ],
)
@pytest.mark.parametrize("options", [{}, {"keys": ("id",), "by_itself": True}])
def test_each_table_has_the_view_of_its_rows(
    cloud: FakeBigQuery, table: TableId, settings: Settings, expected: type[CurrentKind], options: dict[str, Any]
) -> None:
    warehouse = BigQueryWarehouse(cloud.client())
    assert kind_of(warehouse, table, settings, **options) == expected(warehouse, table, settings, **options)


def test_a_united_table_has_the_view_of_all_its_tables(
    cloud: FakeBigQuery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = configured("unite: {datasets: 'tenant_*', table: orders}\n")
    table = TableId(PROJECT, "united", "orders")
    assert type(kind_of(BigQueryWarehouse(cloud.client()), table, settings)) is UnitedCurrentKind
