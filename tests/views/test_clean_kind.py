"""When a clean view is written, closed, kept, or refused, and what of it is told: each rule without SQL that runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.merged_table import TABLE, VIEW, MergedTable
from support.rest import PROJECT

from onefold.core.errors import AccessDenied, NoCleanViews, NoCurrentView, SchemaConflict, SettingsChanged, ViewNameTaken
from onefold.core.log import LogSeverity
from onefold.core.names import TableId
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import plan_refresh, refresh
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.environment import Settings
from onefold.views.clean import clean_warnings
from onefold.views.clean_kind import CleanKind
from onefold.views.clean_refresh import keeps_clean, tighten_clean

CLEAN = ("customer", "shop__views_clean")
CLEAR = {"id": "clear", "name": "clear"}


def policies(**actions: str) -> ColumnPolicies:
    return ColumnPolicies(tuple(PolicyRule("shop.customer", name, Action[one.upper()]) for name, one in actions.items()))


@pytest.fixture
def shop() -> MergedTable:
    """A table with a current view, and the dataset of clean views."""
    shop = MergedTable()
    shop.write()
    shop.cloud.datasets[CLEAN[1]] = {}
    return shop


def known(shop: MergedTable, **actions: str) -> Settings:
    return replace(shop.settings, policies=policies(**actions))


def written(shop: MergedTable, **actions: str) -> ViewPlan:
    return refresh(CleanKind(shop.warehouse, TABLE, known(shop, **actions)))


def text(shop: MergedTable) -> str:
    return str(shop.cloud.resource(*CLEAN)["view"]["query"])


def closed(shop: MergedTable) -> bool:
    return "WHERE CAST(ERROR(" in text(shop)


def test_the_view_shows_the_columns_by_their_policies_and_notes_the_versions_that_it_reads(shop: MergedTable) -> None:
    plan = written(shop, id="clear", name="mask")
    assert plan.view
    assert (plan.action, plan.view.versions) == ("create", ("abc",))
    assert text(shop).endswith(
        f"SELECT\n  v.`id`,\n  CAST(NULL AS STRING) AS `name`\nFROM {TABLE.sibling(VIEW).quoted} AS v"
    )
    assert "-- versions: abc\n" in text(shop)


def test_a_column_that_no_policy_names_is_masked_and_told_once(shop: MergedTable) -> None:
    first = written(shop, id="clear")
    assert [(change.kind, change.path) for change in first.changes if change.path] == [("undecided", "name")]
    assert first.warnings == ("1 column is masked until a policy names it: name",)
    assert written(shop, id="clear").changes == ()


def test_several_columns_that_wait_are_counted_and_named() -> None:
    told = clean_warnings('-- waiting for a decision: ["address.zip", "phone"]\nSELECT 1')
    assert told == ("2 columns are masked until a policy names them: address.zip, phone",)
    assert clean_warnings("SELECT 1") == ()
    assert clean_warnings('-- closed: "why"\n-- waiting for a decision: ["phone"]') == (
        "every query of the view is an error: why",
    )


def test_a_view_of_the_same_policies_has_no_other_settings_and_of_others_says_so(shop: MergedTable) -> None:
    written(shop, **CLEAR)
    again, others = written(shop, **CLEAR), written(shop, id="clear", name="mask")
    assert again.settings == ()
    assert [change.as_dict() for change in others.settings] == [
        {"setting": "policies", "before": "those of the view", "after": "those of the settings"}
    ]


def test_a_person_s_command_with_other_policies_is_refused(shop: MergedTable) -> None:
    written(shop, id="clear", name="mask")
    before, person = text(shop), replace(known(shop, **CLEAR), keep_view_settings=True)
    with pytest.raises(SettingsChanged, match=r"views_clean\.customer was written with other policies: .*--accept-settings"):
        refresh(CleanKind(shop.warehouse, TABLE, person))
    shop.cloud.drop(VIEW)
    with pytest.raises(SettingsChanged, match="was written with other policies"):
        refresh(CleanKind(shop.warehouse, TABLE, person, closing=True))
    assert text(shop) == before
    same = replace(known(shop, id="clear", name="mask"), keep_view_settings=True)
    assert refresh(CleanKind(shop.warehouse, TABLE, same, closing=True)).action == "update"


@pytest.mark.parametrize("kind", ["VIEW", "TABLE"])
def test_a_view_or_a_table_of_somebody_else_is_an_error_that_names_it(shop: MergedTable, kind: str) -> None:
    shop.cloud.create_table(CLEAN[0], "id INT64", dataset=CLEAN[1], kind=kind)
    with pytest.raises(ViewNameTaken, match=rf"{PROJECT}\.{CLEAN[1]}\.customer was not written .*{TABLE}: rename it"):
        written(shop, **CLEAR)


def test_without_the_dataset_there_is_no_clean_view_and_the_advice_to_create_it(shop: MergedTable) -> None:
    del shop.cloud.datasets[CLEAN[1]]
    with pytest.raises(NoCleanViews, match=rf"^{TABLE} gets no clean view: dataset {CLEAN[1]} does not exist: create it"):
        written(shop, **CLEAR)


def test_policies_that_drop_every_column_make_no_view_and_close_one_that_exists(shop: MergedTable) -> None:
    with pytest.raises(SchemaConflict, match="the policies drop every column"):
        written(shop, id="drop", name="drop")
    written(shop, **CLEAR)
    plan = written(shop, id="drop", name="drop")
    assert (plan.action, closed(shop)) == ("update", True)
    assert plan.warnings[0].startswith("every query of the view is an error: ")
    assert written(shop, **CLEAR).action == "update"
    assert not closed(shop)


# Without the current view


def without_current(shop: MergedTable, *, closing: bool = False, has_policies: bool = True) -> ViewPlan:
    settings = known(shop, **CLEAR) if has_policies else shop.settings
    return refresh(CleanKind(shop.warehouse, TABLE, settings, closing=closing))


def test_a_view_whose_current_view_is_gone_stays_as_it_is(shop: MergedTable) -> None:
    written(shop, **CLEAR)
    shop.cloud.drop(VIEW)
    with pytest.raises(NoCurrentView, match=rf"^{TABLE} gets no clean view: the view {TABLE.sibling(VIEW)} does not exist$"):
        without_current(shop)
    assert not closed(shop)


@pytest.mark.parametrize("closing", [True, False])
def test_it_is_closed_where_it_has_to_be_or_there_are_no_policies(shop: MergedTable, closing: bool) -> None:
    written(shop, **CLEAR)
    shop.cloud.drop(VIEW)
    plan = without_current(shop, closing=closing, has_policies=closing)
    assert closed(shop)
    assert plan.warnings == (
        f"every query of the view is an error: {TABLE.sibling(VIEW)} does not exist: `onefold refresh` writes it, "
        "and this view again",
    )


def test_it_is_closed_where_it_reads_the_current_view_of_other_settings(shop: MergedTable) -> None:
    written(shop, **CLEAR)
    settings = replace(known(shop, **CLEAR), view_dataset="{dataset}_views")
    clean = settings.clean_view_of(TABLE)
    shop.cloud.datasets[str(clean.dataset)] = {CLEAN[0]: shop.cloud.resource(*CLEAN)}
    shop.cloud.datasets["shop_views"] = {}
    assert refresh(CleanKind(shop.warehouse, TABLE, settings)).action == "update"
    assert "WHERE CAST(ERROR(" in shop.cloud.resource(CLEAN[0], str(clean.dataset))["view"]["query"]


def test_a_table_in_the_place_of_the_current_view_is_none(shop: MergedTable) -> None:
    shop.cloud.drop(VIEW)
    shop.cloud.create_table(VIEW, "id INT64")
    with pytest.raises(NoCurrentView, match="does not exist"):
        without_current(shop, closing=True, has_policies=False)


def test_a_view_that_the_warehouse_refuses_is_closed_until_the_current_view_is_written(shop: MergedTable) -> None:
    written(shop, **CLEAR)
    shop.land("def", name="STRING", born="DATE")
    shop.write()
    shop.cloud.fail("patch", 400, "invalidQuery", "Unrecognized name: name")
    tighten_clean(shop.warehouse, TABLE, known(shop, **CLEAR))
    assert clean_warnings(text(shop)) == (
        f"every query of the view is an error: {TABLE.sibling(VIEW)} cannot be read as it is: `onefold refresh` writes it, "
        "and this view again",
    )


def test_nothing_is_tightened_where_there_is_no_clean_view(shop: MergedTable) -> None:
    tighten_clean(shop.warehouse, TABLE, known(shop, **CLEAR))
    assert shop.cloud.names("VIEW", CLEAN[1]) == []


# Which clean views are kept


Said = list[tuple[LogSeverity, str, str]]


def kept(shop: MergedTable, settings: Settings) -> tuple[bool, Said]:
    said: Said = []

    def say(severity: LogSeverity, told: str, event: str) -> None:
        said.append((severity, told, event))

    return keeps_clean(shop.warehouse, TABLE, settings, say), said


def test_with_policies_the_view_is_kept_and_without_them_one_that_onefold_wrote(shop: MergedTable) -> None:
    assert kept(shop, known(shop, **CLEAR)) == (True, [])
    assert kept(shop, shop.settings) == (False, [])
    written(shop, **CLEAR)
    view = TableId(PROJECT, CLEAN[1], CLEAN[0])
    told = (
        f"onefold.yaml has no `policies`, so every column of {view} is masked: put the policies back, or remove the view if "
        "nobody needs it any more"
    )
    assert kept(shop, shop.settings) == (True, [("WARNING", told, "no_policies")])
    shop.cloud.change(*CLEAN[:1], lambda found: found.update(labels={}), dataset=CLEAN[1])
    assert kept(shop, shop.settings) == (False, [])


@pytest.mark.parametrize("actions", [CLEAR, {}])
def test_of_a_dataset_that_the_account_may_not_see_the_log_says_what_that_means(
    shop: MergedTable, actions: dict[str, str]
) -> None:
    """With policies, only a deployment that names its datasets of clean views leaves any to look for."""
    shop.cloud.lacks.add("bigquery.tables.get")
    settings = replace(known(shop, **actions) if actions else shop.settings, clean_datasets=frozenset({"crm"}))
    told = (
        f"the account may not see whether dataset {CLEAN[1]} exists. If it has clean views, they are not kept, and may show "
        "what a new version brings: give the account its role there again, and name the dataset of the tables in "
        "ONEFOLD_CLEAN_DATASETS"
    )
    assert kept(shop, settings) == (False, [("NOTICE", told, "no_clean")])


def test_of_a_dataset_of_the_deployment_that_is_an_error(shop: MergedTable) -> None:
    shop.cloud.lacks.add("bigquery.tables.get")
    settings = replace(shop.settings, clean_datasets=frozenset({"shop"}))
    with pytest.raises(AccessDenied) as raised:
        kept(shop, settings)
    assert str(raised.value) == (
        f"the account may not read dataset {CLEAN[1]}, which has the clean views of this deployment "
        "(ONEFOLD_CLEAN_DATASETS): give it its role there again, as `make deploy` does. Until then "
        f"{TABLE.sibling(VIEW)} is not written, because a clean view could show what is new in it"
    )
    assert kept(shop, replace(settings, policies=policies(**CLEAR))) == (True, [])


def test_a_plan_of_a_clean_view_writes_nothing(shop: MergedTable) -> None:
    assert plan_refresh(CleanKind(shop.warehouse, TABLE, known(shop, **CLEAR))).action == "create"
    assert shop.cloud.names("VIEW", CLEAN[1]) == []
