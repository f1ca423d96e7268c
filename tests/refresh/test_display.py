"""Plans as people and programs read them: what is printed, each name of the JSON, and differences that tools can take."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import BASE, PLAIN, VIEW, run, with_rules
from support.rest import PROJECT
from support.views import build, version

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changes.entry import SettingChange
from onefold.refresh.display import plan_as_dict, reasons, show_plan, text_difference, view_as_dict
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import plan_refresh
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind

WIDTH = 80


def printed(plan: ViewPlan, terminal: bool) -> str:
    console = Console(file=io.StringIO(), width=WIDTH, force_terminal=terminal)
    show_plan(console, plan, sql=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def long_change(cloud: FakeBigQuery) -> ViewPlan:
    """A plan whose difference has a line that is wider than the terminal, and characters beyond ASCII."""
    run(cloud)
    cloud.create_table("customer_v_fed", "id STRING", f"größe_{'x' * WIDTH} ARRAY<STRING>")
    plan = plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, PLAIN))
    assert max(map(len, text_difference(plan).splitlines())) > WIDTH
    return plan


def test_a_piped_difference_is_not_wrapped(cloud: FakeBigQuery) -> None:
    plan = long_change(cloud)
    assert f"\n{text_difference(plan)}" in printed(plan, terminal=False)


def test_a_difference_on_a_terminal_has_colours_and_is_wrapped(cloud: FakeBigQuery) -> None:
    plan = long_change(cloud)
    assert text_difference(plan) not in printed(plan, terminal=True)


# Plans


def shown(show: Callable[[Console], None]) -> str:
    console = Console(file=io.StringIO(), width=200)
    show(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def planned(cloud: FakeBigQuery, settings: Settings = PLAIN) -> ViewPlan:
    return plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, settings))


def up_to_date(cloud: FakeBigQuery) -> ViewPlan:
    run(cloud)
    return planned(cloud)


def test_a_view_that_is_up_to_date_is_one_line(cloud: FakeBigQuery) -> None:
    plan = up_to_date(cloud)
    assert shown(lambda console: show_plan(console, plan, sql=True)) == f"{PROJECT}.shop.{VIEW} is up to date\n"


def test_only_what_is_up_to_date_is_left_out_quietly(cloud: FakeBigQuery) -> None:
    assert "would be created" in shown(lambda console: show_plan(console, planned(cloud), quiet=True))
    plan = up_to_date(cloud)
    assert shown(lambda console: show_plan(console, plan, quiet=True)) == ""


def test_everything_about_a_view_is_shown_where_that_is_asked_for(cloud: FakeBigQuery) -> None:
    text = shown(lambda console: show_plan(console, up_to_date(cloud), verbose=True))
    first, second, *_ = text.splitlines()
    assert (first, second) == (f"{PROJECT}.shop.{VIEW} is up to date", "  versions: 2 (abc, def)")
    assert text.endswith("\n\n")


def test_a_plan_is_followed_by_an_empty_line(cloud: FakeBigQuery) -> None:
    assert shown(lambda console: show_plan(console, planned(cloud))).endswith("\n\n")


def test_views_that_are_left_over_or_removed_are_named(cloud: FakeBigQuery) -> None:
    stored = up_to_date(cloud).stored
    left_over = ViewPlan(BASE, "none", None, stored, None, (), warnings=("drop [it]", "or keep it"))
    assert shown(lambda console: show_plan(console, left_over)) == (
        f"{PROJECT}.shop.{VIEW} is left over: drop [it]: or keep it\n"
    )
    assert text_difference(left_over) == ""
    removed = ViewPlan(BASE, "remove", None, stored, None, ())
    assert shown(lambda console: show_plan(console, removed)) == f"{PROJECT}.shop.{VIEW} would be removed\n\n"
    nothing = ViewPlan(BASE, "none", None, None, None, ())
    assert shown(lambda console: show_plan(console, nothing)) == f"{BASE}: nothing to do\n"


def test_a_view_near_a_limit_gets_a_warning(cloud: FakeBigQuery) -> None:
    many = replace(planned(cloud), view=build([version(f"{number:03x}", "id INT64") for number in range(600)]))
    assert "601 of the 1000 tables that BigQuery allows in a query; consider `retire`" in shown(
        lambda console: show_plan(console, many)
    )


def test_the_reasons_of_an_update_are_versions_that_came_or_went_or_else_the_settings(cloud: FakeBigQuery) -> None:
    assert reasons(planned(cloud)) == []
    run(cloud)
    cloud.create_table("customer_v_fed", "phone STRING")
    assert reasons(planned(cloud)) == ["new versions: 1 (fed)"]
    cloud.drop("customer_v_abc")
    assert reasons(planned(cloud)) == ["new versions: 1 (fed)", "versions that are gone or retired: 1 (abc)"]
    run(cloud)
    assert reasons(planned(cloud)) == []
    assert reasons(planned(cloud, with_rules(version_column="_version"))) == [
        "no version came or went: the settings, the types or what writes the view's text changed"
    ]


@pytest.mark.usefixtures("small_texts")
def test_the_difference_of_a_view_in_two_levels_has_the_text_of_each_new_leaf(cloud: FakeBigQuery) -> None:
    for number in range(9):
        cloud.create_table(f"customer_v_{number}", "id INT64", "name STRING")
    plan = planned(cloud)
    assert plan.view
    assert len(plan.view.leaves) > 1
    names = [plan.view.id, *(leaf.id for leaf in plan.view.leaves)]
    lines = text_difference(plan).splitlines()
    assert [line for line in lines if line.startswith("+++")] == [f"+++ {name} then" for name in names]
    assert [line for line in lines if line.startswith("---")] == [f"--- {name} now" for name in names]


# JSON


def test_a_view_as_json_has_all_that_people_see() -> None:
    view = build([version("abc", "id INT64"), version("def", "id STRING")])
    assert view_as_dict(view) == {
        "view": f"{PROJECT}.shop.{VIEW}",
        "form": "spelled",
        "query": view.query,
        "leaves": [],
        "columns": [{"name": "id", "type": "STRING"}],
        "versions": ["abc", "def"],
        "casts": [{"version": "abc", "column": "id", "from": "INT64", "to": "STRING", "losses": []}],
        "characters": len(view.query),
        "limits": {"characters_left": 256_000 - len(view.query), "tables_left": 997},
        "faults": [],
        "warnings": [],
    }


def test_a_view_in_two_levels_names_its_leaves_in_json() -> None:
    view = build([version("abc", "id INT64"), version("def", "id STRING")], form="two-level")
    (leaf,) = view.leaves
    assert view_as_dict(view)["leaves"] == [{"view": str(leaf.id), "query": leaf.query}]


def test_a_plan_as_json_is_that_of_its_view_and_what_would_change(cloud: FakeBigQuery) -> None:
    plan = replace(
        planned(cloud), warnings=("a warning",), advice=("an advice",), settings=(SettingChange("retire", None, "[a]"),)
    )
    assert plan.view
    assert plan_as_dict(plan) == {
        **view_as_dict(plan.view),
        "table": str(BASE),
        "action": "create",
        "left_over": False,
        "reasons": [],
        "advice": ["an advice"],
        "settings": [{"setting": "retire", "before": None, "after": "[a]"}],
        "changes": [{"kind": "view created", "path": "", "severity": "INFO", "old": None, "new": None}],
        "waiting_changes": [],
        "warnings": ["a warning"],
    }


def test_only_a_view_without_versions_that_stays_is_left_over_in_json(cloud: FakeBigQuery) -> None:
    plan = up_to_date(cloud)
    left_over = ViewPlan(BASE, "none", None, plan.stored, None, ())
    others = (
        plan,
        replace(left_over, action="remove"),
        replace(left_over, stored=None),
        replace(left_over, shortcut=True),
    )
    assert plan_as_dict(left_over)["left_over"] is True
    assert [plan_as_dict(one)["left_over"] for one in others] == [False] * 4
    assert "view" not in plan_as_dict(left_over)
