"""The settings with which a view was written: readable in its text, and changed only by those who say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_bigquery import FakeBigQuery
from support.in_memory import MemoryPublisher, push_body
from support.memory_handler import unified_lines
from support.refresh_shop import BASE, GET, PATCH, PLAIN, QUERY, VIEW, annotate, is_annotated, run, with_rules
from support.views import ARTICLE, build

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changes.entry import SettingChange
from onefold.core.errors import LimitExceeded, SettingsChanged
from onefold.core.versioned_names import VersionedNames
from onefold.messages.table_created import table_message
from onefold.refresh.plan import ViewPlan
from onefold.refresh.stored_settings import read_settings_comment, setting_changes, settings_comment, view_settings
from onefold.refresh.tables_read import covered_versions
from onefold.refresh.write import plan_refresh
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Scalar
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler
from onefold.views.unified_kind import UnifiedKind

ID_AS_TEXT = with_rules(types=(("id", STRING),), retired=frozenset({"abc"}))


def of_a_person(settings: Settings) -> Settings:
    return Settings(tables=settings.tables, keep_view_settings=True)


def query(cloud: FakeBigQuery) -> str:
    return str(cloud.resource(VIEW)["view"]["query"])


# In the text


def test_the_settings_stand_at_the_start_of_the_text() -> None:
    rules = TableRules("classic", "Europe/Warsaw", "_version", (("id", STRING),), frozenset({"b2", "a1"}))
    view = build(ARTICLE, rules)
    assert view.query.startswith(
        """-- settings: {
--   "conversions": "classic",
--   "time_zone": "Europe/Warsaw",
--   "version_column": "_version",
--   "types.id": "STRING",
--   "retire": [
--     "a1",
--     "b2"
--   ]
-- }
SELECT"""
    )


@pytest.mark.parametrize("form", ["spelled", "compact", "two-level"])
def test_every_form_has_them_once(form: str) -> None:
    view = build(ARTICLE, TableRules(version_column="_version"), form)  # type: ignore[arg-type]
    assert read_settings_comment(view.query) == {"version_column": "_version"}
    assert "settings" not in "".join(leaf.query for leaf in view.leaves)
    assert view.query.count("-- settings") == 1


TEXTS = st.text(max_size=20) | st.sampled_from(
    ["FROM `p.shop.customer_v_bad`", "\n-- versions: bad", "}\n", '"', "\u2028", "\\"]
)
RULES = st.builds(
    lambda conversions, zone, column, types, retired, keys, minutes, names: TableRules(
        conversions, zone, column, tuple(sorted(types.items())), frozenset(retired), tuple(keys), minutes, names=names
    ),
    st.sampled_from(["lossless", "classic"]),
    TEXTS,
    st.none() | TEXTS.filter(bool),
    st.dictionaries(TEXTS, st.sampled_from([STRING, Scalar("INT64")]), max_size=3),
    st.sets(TEXTS, max_size=3),
    st.lists(TEXTS, max_size=3),
    st.sampled_from([60, 0, 120]),
    st.builds(VersionedNames, TEXTS, st.tuples(TEXTS), st.tuples(TEXTS)),
)


@given(RULES, st.booleans())
def test_any_settings_are_read_as_they_were_written_and_name_no_version(rules: TableRules, current: bool) -> None:
    comment = settings_comment(rules, current)
    assert all(line.startswith("-- ") for line in comment.rstrip("\n").split("\n"))
    for rest in ("SELECT 1 FROM `p.shop.customer_v_a1` AS v", "-- versions: a1\nSELECT * FROM `x`"):
        assert read_settings_comment(comment + rest) == view_settings(rules, current)
        assert covered_versions(comment + rest, "customer") == {"a1"}


@given(RULES, RULES)
def test_keys_and_overlap_are_settings_of_a_current_view_alone(first: TableRules, second: TableRules) -> None:
    other = replace(first, keys=second.keys, overlap_minutes=second.overlap_minutes)
    assert setting_changes(settings_comment(first), other) == ()
    changed = {change.name for change in setting_changes(settings_comment(first, current=True), other, current=True)}
    assert changed == {name for name in ("keys", "overlap_minutes") if getattr(first, name) != getattr(second, name)}


@given(RULES, st.sampled_from([None, "full", "incremental"]), st.sampled_from([None, "full", "incremental"]))
def test_how_a_table_is_pulled_is_a_setting_of_a_current_view(
    rules: TableRules, first: str | None, second: str | None
) -> None:
    written = settings_comment(rules, current=True, pull_mode=first)
    changes = setting_changes(written, rules, current=True, pull_mode=second)
    assert changes == (() if first == second else (SettingChange("mode", first, second),))
    assert setting_changes(settings_comment(rules, pull_mode=first), rules, pull_mode=second) == ()


@given(RULES, RULES)
def test_settings_differ_exactly_where_the_rules_of_the_view_do(first: TableRules, second: TableRules) -> None:
    changes = setting_changes(settings_comment(first), second)
    assert {change.name for change in changes} == {
        name
        for name in {**view_settings(first), **view_settings(second)}
        if view_settings(first).get(name) != view_settings(second).get(name)
    }
    back = setting_changes(settings_comment(second), first)
    assert sorted(map(str, back)) == sorted(str(SettingChange(one.name, one.after, one.before)) for one in changes)


@pytest.mark.parametrize("edited", ["{", "{\n--   edited by hand\n-- }", "[1]", "none"])
def test_nothing_is_known_of_a_text_without_settings_or_with_edited_ones(edited: str) -> None:
    for text in ("SELECT 1", f"-- settings: {edited}\nSELECT 1"):
        assert read_settings_comment(text) is None
        assert setting_changes(text, TableRules(version_column="_version")) == ()


def test_settings_that_leave_no_room_are_an_error() -> None:
    rules = TableRules(retired=frozenset(f"{number:060x}" for number in range(5_000)))
    with pytest.raises(LimitExceeded, match="for its settings"):
        build(ARTICLE, rules)


# A person's command


def test_a_command_without_the_settings_of_the_view_writes_nothing_and_names_them(cloud: FakeBigQuery) -> None:
    run(cloud, settings=ID_AS_TEXT)
    before = cloud.resource(VIEW)
    with cloud.counted() as made, pytest.raises(SettingsChanged) as caught:
        run(cloud, settings=of_a_person(PLAIN))
    assert made == [GET, QUERY]
    assert cloud.resource(VIEW) == before
    assert caught.value.problems == (
        "my-project.shop.customer_unified was written with another setting of types.id: STRING -> default",
        "my-project.shop.customer_unified was written with another setting of retire: abc -> default",
        "my-project.shop.customer_unified was not written: name the deployment's onefold.yaml with --config, or accept "
        "these settings with --accept-settings",
    )


def test_a_command_with_other_settings_announces_nothing_either(cloud: FakeBigQuery) -> None:
    run(cloud)
    announced: list[ViewPlan] = []

    def announce(plan: ViewPlan) -> tuple[str, ...]:
        announced.append(plan)
        return ()

    with pytest.raises(SettingsChanged, match=r"types\.id: default -> STRING"):
        run(cloud, settings=of_a_person(ID_AS_TEXT), announce=announce)
    assert announced == []


def test_a_command_with_the_settings_of_the_view_writes_it(cloud: FakeBigQuery) -> None:
    run(cloud, settings=ID_AS_TEXT)
    cloud.create_table("customer_v_fed", "phone STRING")
    assert run(cloud, settings=of_a_person(ID_AS_TEXT)).action == "update"


def test_a_command_creates_a_view_with_any_settings(cloud: FakeBigQuery) -> None:
    assert run(cloud, settings=of_a_person(ID_AS_TEXT)).action == "create"


def test_settings_that_do_not_concern_the_view_are_no_difference(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "phone STRING")
    plan = run(cloud, settings=of_a_person(with_rules(keys=("id",), overlap_minutes=5)))
    assert (plan.action, plan.settings) == ("update", ())


def test_a_view_of_an_earlier_release_gets_its_settings_without_a_question(cloud: FakeBigQuery) -> None:
    run(cloud, settings=ID_AS_TEXT)
    cloud.change(VIEW, lambda resource: resource["view"].update(query=query(cloud).partition("-- }\n")[2]))
    assert run(cloud, settings=of_a_person(ID_AS_TEXT)).action == "update"
    assert query(cloud).startswith("-- settings: {\n")


def test_a_plan_says_which_settings_would_change(cloud: FakeBigQuery) -> None:
    run(cloud, settings=ID_AS_TEXT)
    plan = plan_refresh(
        UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, of_a_person(with_rules(types=(("id", Scalar("NUMERIC")),))))
    )
    assert [change.as_dict() for change in plan.settings] == [
        {"setting": "types.id", "before": "STRING", "after": "NUMERIC"},
        {"setting": "retire", "before": "abc", "after": None},
    ]


# The function


def test_the_function_warns_and_writes_the_settings_of_the_deployment(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    run(cloud, settings=ID_AS_TEXT)
    cloud.change(VIEW, annotate)
    handler = TableCreatedHandler(PLAIN, BigQueryWarehouse(cloud.client()), MemoryPublisher())
    capsys.readouterr()
    with cloud.counted() as made:
        handler.handle(push_body(table_message("shop", "customer", "abc")))
    warning, done = unified_lines(capsys)
    assert (warning["severity"], warning["event"]) == ("WARNING", "settings_changed")
    assert warning["message"] == (
        "my-project.shop.customer_unified had other settings: types.id: STRING -> default; retire: abc -> default"
    )
    assert warning["settings"][0] == {"setting": "types.id", "before": "STRING", "after": None}
    assert (warning["table"], done["event"], done["action"]) == ("customer", "refreshed", "update")
    assert PATCH in made
    assert read_settings_comment(query(cloud)) == {}
    assert is_annotated(cloud)
    handler.handle(push_body(table_message("shop", "customer", "abc")))
    assert [line["event"] for line in unified_lines(capsys)] == ["refreshed"]
