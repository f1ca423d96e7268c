"""What is a skip and what a failure among many tables, and what a dataset of views that is missing means."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA
from onefold.cli.all_tables import TableOutcome, run_for_many
from onefold.cli.common import Failure
from onefold.cli.named_tables import NamedTables
from onefold.cli.view_reports import check, work_on
from onefold.core.errors import (
    KeyUnknown,
    NameNotFound,
    NoCurrentView,
    NoOwnDataset,
    NotFound,
    NothingToMerge,
    NoVersions,
    OnefoldError,
)
from onefold.core.names import TableId
from onefold.refresh.write import refresh
from onefold.settings.environment import load_settings
from onefold.views.plain import with_plain_tables
from onefold.views.refresh_current import refresh_current

MERGED = {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}
FIRST, SECOND = (TableId(PROJECT, "shop", name) for name in ("first", "second"))
NO_DATASET = f"mk --dataset {PROJECT}:shop__onefold"


def code_of(*errors: OnefoldError | None) -> int:
    """The exit code of tables that end with these errors, of which None is that of one that is merged."""
    ends = {TableId(PROJECT, "shop", f"t{number}"): error for number, error in enumerate(errors)}

    def work(table: TableId) -> TableOutcome:
        if error := ends[table]:
            raise error
        return TableOutcome(table, "merged")

    return run_for_many("shop", [*ends], work, "merging", as_json=False)


@pytest.mark.parametrize("error", [KeyUnknown("x"), NoCurrentView("x"), NothingToMerge("x"), NoVersions("x")])
def test_a_table_with_nothing_to_do_is_skipped(error: OnefoldError, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(error) == 0
    assert capsys.readouterr().out == "shop: 1 skipped\n"


@pytest.mark.parametrize("error", [NotFound("a query: Not found: base"), NameNotFound("no table", "shop", "t0")])
def test_what_is_missing_otherwise_is_a_failure_and_the_others_go_on(
    error: OnefoldError, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(error, None) == 1
    assert capsys.readouterr().out == "shop: 1 failed, 1 merged\n"


def test_a_dataset_that_is_missing_is_an_error_where_nothing_could_be_done_without_it() -> None:
    missing = NoOwnDataset("x")
    assert code_of(missing, KeyUnknown("x")) == 1
    assert code_of(missing, None) == 0


@pytest.fixture
def cloud() -> FakeBigQuery:
    """Two tables that are current already, whose views have no dataset."""
    cloud = FakeBigQuery()
    for table in (FIRST, SECOND):
        cloud.land(table.table, MERGED)
    return cloud


def refreshed(cloud: FakeBigQuery, table: str | None = None) -> list[object]:
    warehouse, named = BigQueryWarehouse(cloud.client()), NamedTables("shop", table)
    settings = load_settings({})
    return work_on(warehouse, check(warehouse, named, settings), settings, refresh)


def test_a_refresh_by_name_without_the_dataset_of_the_view_is_an_error(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    (failure,) = refreshed(cloud, "first")
    assert isinstance(failure, Failure)
    told = capsys.readouterr().err
    assert NO_DATASET in told
    assert "Skipped" not in told


def test_a_refresh_of_many_that_can_do_nothing_without_the_dataset_is_an_error(cloud: FakeBigQuery) -> None:
    with pytest.raises(NoOwnDataset, match=f"no view of shop can be written: .*{NO_DATASET}"):
        refreshed(cloud)


def test_a_refresh_of_many_goes_on_where_some_need_no_such_dataset(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.land("customer_v_1", {"id": "INT64"})
    results = refreshed(cloud)
    assert not any(isinstance(one, Failure) for one in results)
    assert NO_DATASET in capsys.readouterr().err


def test_a_current_view_by_name_says_which_dataset_is_missing(cloud: FakeBigQuery) -> None:
    warehouse = BigQueryWarehouse(cloud.client())
    settings = with_plain_tables(warehouse, "shop", load_settings({}))
    with pytest.raises(NoOwnDataset, match=NO_DATASET):
        refresh_current(warehouse, FIRST, (), settings)
