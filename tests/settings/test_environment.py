"""Settings are read from the environment and onefold.yaml, and all problems are reported at once, each with its variable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

import onefold.refresh.labels
from onefold.core.errors import InvalidSettings
from onefold.core.names import TableId
from onefold.core.text import shown_list
from onefold.core.versioned_names import VersionedNames
from onefold.refresh.built_view import RENDERER
from onefold.refresh.labels import fingerprint_of
from onefold.schema.table_rules import TableRules
from onefold.settings.batches import BatchSettings
from onefold.settings.environment import Settings, load_settings
from onefold.settings.variables import VARIABLES

CUSTOMER = TableId("my-project", "shop", "customer")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def from_yaml(text: str, **environ: str) -> Settings:
    path = Path("settings.yaml")
    path.write_text(dedent(text), encoding="utf-8")
    return load_settings(environ, path)


def problems_of(text: str = "", **environ: str) -> list[str]:
    with pytest.raises(InvalidSettings) as refused:
        from_yaml(text, **environ)
    return list(refused.value.problems)


# Variables.


def test_every_setting_has_a_default() -> None:
    assert load_settings({}) == Settings()
    assert str(Settings().view_of(CUSTOMER)) == "my-project.shop.customer_unified"


@pytest.mark.parametrize(
    ("environ", "changed"),
    [
        ({"ONEFOLD_PROJECT": "my-project"}, {"project": "my-project"}),
        ({"GOOGLE_CLOUD_PROJECT": "other"}, {"project": "other"}),
        ({"ONEFOLD_PROJECT": "my-project", "GOOGLE_CLOUD_PROJECT": "other"}, {"project": "my-project"}),
        ({"ONEFOLD_PROJECT": "example.com:my-project"}, {"project": "example.com:my-project"}),
        ({"ONEFOLD_DATASETS": "shop, crm,"}, {"datasets": frozenset({"shop", "crm"})}),
        ({"ONEFOLD_DATASETS": ""}, {"datasets": frozenset()}),
        ({}, {"datasets": None}),
        ({"ONEFOLD_CLEAN_DATASETS": "shop, crm,"}, {"clean_datasets": frozenset({"shop", "crm"})}),
        ({"ONEFOLD_CLEAN_DATASETS": ""}, {"clean_datasets": frozenset()}),
        ({"ONEFOLD_VIEW_DATASET": "{dataset}_unified"}, {"view_dataset": "{dataset}_unified"}),
        ({"ONEFOLD_VIEW_NAME": "all_{table}"}, {"view_name": "all_{table}"}),
        ({"ONEFOLD_TOPIC_TABLE_CREATED": "table-created"}, {"topic_table_created": "table-created"}),
        ({"ONEFOLD_TOPIC_SCHEMA_CHANGES": "projects/p/topics/abc"}, {"topic_schema_changes": "projects/p/topics/abc"}),
        ({"ONEFOLD_TOPIC_DEAD_LETTER": "dead.letters"}, {"topic_dead_letter": "dead.letters"}),
        ({"PATH": "/bin", "K_SERVICE": "refresh-view"}, {}),
    ],
)
def test_every_variable_is_read(environ: dict[str, str], changed: dict[str, object]) -> None:
    # Some variables are passed on to batches, too.
    assert replace(load_settings(environ), batch=BatchSettings()) == replace(Settings(), **changed)  # type: ignore[arg-type]


def test_the_views_of_the_predecessor_can_be_kept() -> None:
    settings = load_settings({"ONEFOLD_VIEW_DATASET": "{dataset}_unified"})
    assert str(settings.view_of(CUSTOMER)) == "my-project.shop_unified.customer_unified"


def test_all_views_may_be_in_one_dataset_where_messages_may_name_one_dataset() -> None:
    settings = load_settings({"ONEFOLD_VIEW_DATASET": "views", "ONEFOLD_DATASETS": "shop"})
    assert str(settings.view_of(CUSTOMER)) == "my-project.views.customer_unified"


TEMPLATE = "a template may hold {dataset} and {table} and nothing else in braces"


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        (
            "ONEFOLD_PROJEKT",
            "x",
            "ONEFOLD_PROJEKT is not a setting (did you mean ONEFOLD_PROJECT?); correct the name, or unset it",
        ),
        ("ONEFOLD_LOG", "xml", "ONEFOLD_LOG 'xml': expected json or text, or no value"),
        (
            "ONEFOLD_PROJECT",
            "A`",
            "ONEFOLD_PROJECT: project 'A`' is not a valid name: use lower-case letters, digits and hyphens",
        ),
        (
            "GOOGLE_CLOUD_PROJECT",
            "A",
            "GOOGLE_CLOUD_PROJECT: project 'A' is not a valid name: use lower-case letters, digits and hyphens",
        ),
        (
            "ONEFOLD_DATASETS",
            "shop,c-m",
            "ONEFOLD_DATASETS: dataset 'c-m' is not a valid name: use letters, digits and underscores",
        ),
        (
            "ONEFOLD_DATASETS",
            " , ",
            "ONEFOLD_DATASETS names no dataset; make it empty to allow none, or unset it to allow all of the project",
        ),
        ("ONEFOLD_VIEW_DATASET", "{table.x}", f"ONEFOLD_VIEW_DATASET '{{table.x}}': {TEMPLATE}"),
        (
            "ONEFOLD_VIEW_DATASET",
            "views",
            "ONEFOLD_VIEW_DATASET or ONEFOLD_VIEW_NAME must hold {dataset}, or tables of two datasets would share one view",
        ),
        ("ONEFOLD_VIEW_NAME", "{tabel}_x", f"ONEFOLD_VIEW_NAME '{{tabel}}_x': {TEMPLATE}"),
        ("ONEFOLD_VIEW_NAME", "{table", f"ONEFOLD_VIEW_NAME '{{table': {TEMPLATE}"),
        ("ONEFOLD_VIEW_NAME", "{}", f"ONEFOLD_VIEW_NAME '{{}}': {TEMPLATE}"),
        ("ONEFOLD_VIEW_NAME", "{table:.3}", f"ONEFOLD_VIEW_NAME '{{table:.3}}': {TEMPLATE}"),
        ("ONEFOLD_VIEW_NAME", "{table!r}", f"ONEFOLD_VIEW_NAME '{{table!r}}': {TEMPLATE}"),
        ("ONEFOLD_VIEW_NAME", "{table[0]}", f"ONEFOLD_VIEW_NAME '{{table[0]}}': {TEMPLATE}"),
        ("ONEFOLD_VIEW_NAME", "all", "ONEFOLD_VIEW_NAME 'all' must hold {table}, or all tables would share one view"),
        (
            "ONEFOLD_VIEW_NAME",
            "{table}",
            "ONEFOLD_VIEW_NAME must not be the table's own name; add a suffix, as in {table}_unified",
        ),
        (
            "ONEFOLD_VIEW_NAME",
            "{table}_v_a11",
            "ONEFOLD_VIEW_NAME '{table}_v_a11': a view must not be named like a versioned table",
        ),
        (
            "ONEFOLD_VIEW_NAME",
            "{table}`",
            "ONEFOLD_VIEW_NAME: table 'table`' is not a valid name: use letters, digits, underscores and hyphens",
        ),
        (
            "ONEFOLD_TOPIC_TABLE_CREATED",
            "a b",
            "ONEFOLD_TOPIC_TABLE_CREATED 'a b' is not a topic; write its name, or projects/PROJECT/topics/NAME",
        ),
        (
            "ONEFOLD_TOPIC_SCHEMA_CHANGES",
            "ab",
            "ONEFOLD_TOPIC_SCHEMA_CHANGES 'ab' is not a topic; write its name, or projects/PROJECT/topics/NAME",
        ),
        (
            "ONEFOLD_TOPIC_DEAD_LETTER",
            "tötet",
            "ONEFOLD_TOPIC_DEAD_LETTER 'tötet' is not a topic; write its name, or projects/PROJECT/topics/NAME",
        ),
        ("ONEFOLD_CONFIG", "nowhere.yaml", "ONEFOLD_CONFIG: there is no file nowhere.yaml: correct the path, or unset it"),
    ],
)
def test_a_wrong_variable_is_reported_with_a_remedy(variable: str, value: str, problem: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        load_settings({variable: value})
    assert refused.value.problems == (problem,)


# The file.


def test_the_longer_name_of_a_table_wins() -> None:
    settings = from_yaml("tables: {customer: {retire: [a]}, shop.customer: {retire: [b]}}")
    assert settings.rules_for(CUSTOMER).retired == {"b"}
    assert settings.rules_for(TableId("my-project", "crm", "customer")).retired == {"a"}
    assert settings.rules_for(TableId("my-project", "crm", "order")) == TableRules()


def test_the_file_is_found_by_its_name_by_the_variable_or_by_the_caller() -> None:
    for name, column in (("onefold.yaml", "a"), ("named.yaml", "b"), ("given.yaml", "c")):
        Path(name).write_text(f"version_column: {column}\n")
    assert load_settings({}).rules.version_column == "a"
    assert load_settings({"ONEFOLD_CONFIG": "named.yaml"}).rules.version_column == "b"
    assert load_settings({"ONEFOLD_CONFIG": "named.yaml"}, Path("given.yaml")).rules.version_column == "c"


TOP_KEYS = (
    "captures, contracts, conversions, current, datasets, exclude, include, merge_when, mixed_numbers, overlap_minutes, "
    "owners, policies, sources, tables, time_zone, unite and 2 more"
)
ZONE = "write a tz database name, as Europe/Berlin, or '+01:00' in quotes"
NAME = "use letters, digits, underscores and hyphens"


def test_all_problems_of_variables_and_of_the_file_are_reported_at_once() -> None:
    text = """
        conversions: lossy
        extra: 1
        tables:
          customer: {time_zone: Mars, retire: [1, a.b]}
          order: {types: {id: INTEGR}}
    """
    assert problems_of(text, ONEFOLD_DATASETS="a-b", ONEFOLD_X="1") == [
        f"ONEFOLD_X is not a setting; known are {shown_list(VARIABLES)}",
        "ONEFOLD_DATASETS: dataset 'a-b' is not a valid name: use letters, digits and underscores",
        "settings.yaml:2: conversions: expected lossless or classic, got 'lossy'",
        f"settings.yaml:3: extra: not a setting; known are {TOP_KEYS}",
        "settings.yaml:5: tables.customer.retire[0]: expected a version, got 1: put it in quotes",
        f"settings.yaml:5: tables.customer.time_zone: 'Mars' is unknown; {ZONE}",
        f"settings.yaml:5: tables.customer.retire: version 'a.b' is not a valid name: {NAME}",
        "settings.yaml:6: tables.order.types.id: type 'INTEGR': 'INTEGR' is not a BigQuery type",
    ]


# The fingerprint.


@pytest.mark.parametrize(
    "text",
    [
        "conversions: classic",
        "time_zone: Europe/Berlin",
        "version_column: v",
        "tables: {customer: {types: {id: STRING}}}",
        "tables: {shop.customer: {retire: [abc]}}",
        "version_pattern: (?P<base>.+)_(?P<version>[0-9]+)",
        "datasets: {shop: {exclude: [tmp]}}",
        "datasets: {shop: {include: [customer]}}",
    ],
)
def test_every_rule_of_a_table_changes_its_fingerprint(text: str) -> None:
    assert fingerprint_of(from_yaml(text), CUSTOMER) != fingerprint_of(Settings(), CUSTOMER)


def test_the_rules_of_another_table_do_not_change_the_fingerprint() -> None:
    text = "tables: {order: {retire: [abc]}, crm.customer: {conversions: classic}}\ndatasets: {crm: {exclude: [tmp]}}"
    other = from_yaml(text)
    assert fingerprint_of(other, CUSTOMER) == fingerprint_of(Settings(), CUSTOMER)


def test_the_fingerprint_depends_on_the_table_and_on_the_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables with equal settings have different views, and a new renderer writes every view again."""
    before = fingerprint_of(Settings(), CUSTOMER)
    others = [replace(CUSTOMER, table="order"), replace(CUSTOMER, dataset="crm"), replace(CUSTOMER, project="other")]
    assert len({before, *(fingerprint_of(Settings(), other) for other in others)}) == 4
    assert fingerprint_of(Settings(), replace(CUSTOMER)) == before
    monkeypatch.setattr(onefold.refresh.labels, "RENDERER", RENDERER + 1)
    assert fingerprint_of(Settings(), CUSTOMER) != before


def test_settings_of_merges_do_not_change_the_fingerprint() -> None:
    text = "overlap_minutes: 5\ntables: {customer: {keys: [id, Tenant]}, order: {overlap_minutes: 0}}"
    Path("onefold.yaml").write_text(text)
    settings = load_settings({})
    assert settings.rules_for(CUSTOMER).keys == ("id", "Tenant")
    assert settings.rules_for(CUSTOMER).overlap_minutes == 5
    assert settings.rules_for(replace(CUSTOMER, table="order")).overlap_minutes == 0
    assert fingerprint_of(settings, CUSTOMER) == fingerprint_of(Settings(), CUSTOMER)


# The names of versioned tables.

REGISTRY = "(?P<base>.+)_(?P<version>[0-9]+|1r[0-9a-f]+)"


def test_versioned_tables_are_named_by_dataset() -> None:
    settings = from_yaml(
        f"""
        exclude: [tmp_.*]
        datasets:
          events:
            version_pattern: '^{REGISTRY}$'
            include: [com_.*, org_.*]
          crm:
            exclude: []
        """
    )
    assert settings.names_in("shop") == VersionedNames(exclude=("tmp_.*",))
    assert settings.names_in("crm") == VersionedNames()
    assert settings.names_in("events") == VersionedNames(REGISTRY, ("com_.*", "org_.*"), ("tmp_.*",))
    assert settings.names_in(None) == settings.names
    assert settings.rules_for(TableId("p", "events", "com_acme")).names == settings.names_in("events")
    assert settings.rules_for(CUSTOMER).names == settings.names_in("shop")


def test_a_view_is_not_named_like_a_version_of_any_dataset() -> None:
    text = "datasets: {events: {version_pattern: '(?P<base>.+)_(?P<version>all)'}}"
    [problem] = problems_of(text, ONEFOLD_VIEW_NAME="{table}_all")
    assert "a view must not be named like a versioned table" in problem


def test_on_the_lab_the_project_is_local_where_none_is_named() -> None:
    lab = {"BIGQUERY_EMULATOR_HOST": "127.0.0.1:9050"}
    assert load_settings(lab).project == "local"
    assert load_settings({**lab, "GOOGLE_CLOUD_PROJECT": "p-1"}).project == "p-1"
    assert load_settings({}).project is None
