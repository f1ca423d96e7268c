"""One current view is brought up to date by a command, planned, or kept by a merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.fake_bigquery import FakeBigQuery, Request
from support.merged_table import BASE, TABLE, VIEW, MergedTable
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA
from onefold.core.errors import KeyUnknown, NoCurrentView, NoOwnDataset, NoVersions, OnefoldError, TryAgain
from onefold.core.names import TableId
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.plan import Announce, ViewPlan
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.views.current_text import remembered_keys
from onefold.views.refresh_current import CurrentView, keep_current, plan_current, refresh_current

Asked = Callable[[BaseWarehouse, TableId, tuple[str, ...], Settings], CurrentView]
COMMANDS = pytest.mark.parametrize("command", [refresh_current, plan_current])


@pytest.fixture
def table() -> MergedTable:
    """A table with a version and no base, whose view nobody has written."""
    table = MergedTable()
    table.know()
    return table


def announced() -> tuple[list[ViewPlan], Announce]:
    """Return what is announced, and what announces it."""
    made: list[ViewPlan] = []

    def announce(plan: ViewPlan) -> tuple[str, ...]:
        made.append(plan)
        return ()

    return made, announce


def test_a_plan_says_what_a_refresh_does_and_writes_nothing(table: MergedTable) -> None:
    planned = plan_current(table.warehouse, TABLE, (), table.settings)
    assert table.cloud.names("VIEW") == []
    done = refresh_current(table.warehouse, TABLE, (), table.settings)
    expected = ("create", TABLE.sibling(VIEW), TABLE, None, table.text())
    assert [(one.action, one.id, one.source, one.base, one.query) for one in (planned, done)] == [expected] * 2
    again = refresh_current(table.warehouse, TABLE, (), table.settings)
    assert (again.action, again.query) == ("none", done.query)


@COMMANDS
def test_a_key_that_a_command_names_is_that_of_the_view(table: MergedTable, command: Asked) -> None:
    assert remembered_keys(command(table.warehouse, TABLE, ("id", "name"), replace(table.settings, tables={})).query) == (
        "id", "name",
    )  # fmt: skip


@COMMANDS
def test_a_view_over_a_base_names_the_base_that_it_reads(table: MergedTable, command: Asked) -> None:
    table.merge(name="STRING")
    assert command(table.warehouse, TABLE, (), table.settings).base == TABLE.sibling(BASE)


@COMMANDS
def test_a_view_that_leaves_its_base_out_names_none(command: Asked) -> None:
    """After a purge it reads the keys of the base, and none of its rows."""
    table = MergedTable(flag="BOOL")
    table.land("def", flag="INT64")
    table.merge(flag="INT64", floor="z")
    table.land("fed", flag="STRING")
    table.cloud.statements.answer("AS found", {"found": "INT64"}, (0,))
    table.know()
    told = command(table.warehouse, TABLE, (), table.settings)
    assert (told.base, f"FROM {TABLE.sibling(BASE).quoted} " in told.query) == (None, True)


@COMMANDS
def test_a_table_that_onefold_yaml_excludes_has_no_current_view(table: MergedTable, command: Asked) -> None:
    excluded = Settings(tables={"customer": TableRules(keys=("id",), current=False)})
    with pytest.raises(NoCurrentView, match=rf"^{TABLE} has no current view: onefold.yaml sets `current: false` for it$"):
        command(table.warehouse, TABLE, (), excluded)


@pytest.mark.parametrize(("name", "advice"), [("custmer", r".*did you mean customer\?.*"), ("zebra", "")])
def test_a_table_that_is_not_there_is_an_error_that_names_a_similar_one(table: MergedTable, name: str, advice: str) -> None:
    with pytest.raises(
        NoVersions, match=rf"^there is no change table {TABLE.sibling(name)}{advice}, and no versioned table"
    ):
        refresh_current(table.warehouse, TABLE.sibling(name), ("id",), table.settings)


def test_a_table_whose_versions_are_gone_is_not_its_own_similar_one(table: MergedTable) -> None:
    retired = Settings(tables={"customer": TableRules(keys=("id",), retired=frozenset({"abc"}))})
    with pytest.raises(NoVersions) as raised:
        refresh_current(table.warehouse, TABLE, (), retired)
    assert "did you mean" not in str(raised.value)


def test_a_missing_dataset_of_a_plain_table_and_an_unknown_key_are_errors() -> None:
    cloud = FakeBigQuery()
    cloud.land("notes", {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"})
    notes = TableId(PROJECT, "shop", "notes")
    settings = Settings().with_plain("shop", {"notes": PlainTable("current", "shop__onefold")})
    warehouse = BigQueryWarehouse(cloud.client())
    with pytest.raises(NoOwnDataset, match=f"bq --location=LOCATION mk --dataset {PROJECT}:shop__onefold"):
        refresh_current(warehouse, notes, (), settings)
    cloud.datasets["shop__onefold"] = {}
    cloud.land("notes", {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64, is_deleted BOOL>"})
    with pytest.raises(KeyUnknown, match=f"{notes} has no key at the source"):
        refresh_current(warehouse, notes, (), settings)


def test_the_clean_view_over_the_current_one_is_written_too_and_its_error_is_raised(table: MergedTable) -> None:
    policies = ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),))
    settings = replace(table.settings, policies=policies)
    table.cloud.datasets["shop__views_clean"] = {}
    refresh_current(table.warehouse, TABLE, (), settings)
    assert table.cloud.names("VIEW", "shop__views_clean") == ["customer"]
    table.cloud.drop("customer", "shop__views_clean")
    dropped = replace(settings, policies=ColumnPolicies((PolicyRule("*", "*", Action.DROP),)))
    with pytest.raises(OnefoldError, match="the policies drop every column"):
        refresh_current(table.warehouse, TABLE, (), dropped)


def test_a_refresh_waits_between_two_tries_and_announces_what_changes(table: MergedTable) -> None:
    waits: list[float] = []
    made, announce = announced()
    refresh_current(table.warehouse, TABLE, (), table.settings, announce=announce)
    assert [plan.action for plan in made] == ["create"]
    table.land("def", name="STRING", born="DATE")
    table.know()
    others = iter(range(3))

    def changed_by_another(request: Request) -> None:
        if request == Request("patch", VIEW) and next(others, None) is not None:
            table.cloud.change(VIEW, lambda _: None)

    table.cloud.before = changed_by_another
    done = refresh_current(table.warehouse, TABLE, (), table.settings, announce=announce, sleep=waits.append)
    assert (done.action, len(waits)) == ("update", 3)
    assert {plan.action for plan in made[1:]} == {"update"}


def test_an_error_that_may_pass_is_raised_as_one(table: MergedTable) -> None:
    table.cloud.fail("insert", 503, "backendError")
    with pytest.raises(TryAgain):
        refresh_current(table.warehouse, TABLE, (), table.settings, sleep=lambda _: None)


def test_a_merge_keeps_a_view_that_is_there_with_the_key_of_its_base(table: MergedTable) -> None:
    settings = replace(table.settings, tables={})
    refresh_current(table.warehouse, TABLE, ("id",), settings)
    table.merge(name="STRING")
    table.land("def", name="STRING", born="DATE")
    table.know()
    made, announce = announced()
    kept = keep_current(table.warehouse, table.plan(), table.settings, announce)
    assert kept
    assert (kept.base, kept.action, remembered_keys(table.text())) == (TABLE.sibling(BASE), "update", ("id",))
    assert [change.path for plan in made for change in plan.changes] == ["born"]


def test_a_merge_leaves_a_view_alone_that_is_not_there_or_of_somebody_else(table: MergedTable) -> None:
    table.merge(name="STRING")
    assert keep_current(table.warehouse, table.plan(), table.settings) is None
    table.cloud.create_table(VIEW, "id INT64", kind="VIEW")
    assert keep_current(table.warehouse, table.plan(), table.settings) is None
