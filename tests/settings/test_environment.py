"""Settings are read from the environment and from onefold.yaml, and all faults are told at once, each with its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

import onefold.views.labels
from onefold.core.errors import InvalidSettings
from onefold.core.names import TableId
from onefold.core.versioned_names import VersionedNames
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.settings.batches import BatchSettings
from onefold.settings.environment import VARIABLES, Settings, load_settings
from onefold.views.labels import fingerprint_of
from onefold.views.unified_view import RENDERER

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
    return [problem.removeprefix("settings.yaml: ") for problem in refused.value.problems]


# Variables.


def test_without_any_setting_there_are_defaults() -> None:
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
        ({"ONEFOLD_VIEW_DATASET": "{dataset}_unified"}, {"view_dataset": "{dataset}_unified"}),
        ({"ONEFOLD_VIEW_NAME": "all_{table}"}, {"view_name": "all_{table}"}),
        ({"ONEFOLD_TOPIC_TABLE_CREATED": "table-created"}, {"topic_table_created": "table-created"}),
        ({"ONEFOLD_TOPIC_SCHEMA_CHANGES": "projects/p/topics/abc"}, {"topic_schema_changes": "projects/p/topics/abc"}),
        ({"ONEFOLD_TOPIC_DEAD_LETTER": "dead.letters"}, {"topic_dead_letter": "dead.letters"}),
        ({"PATH": "/bin", "K_SERVICE": "refresh-view"}, {}),
    ],
)
def test_every_variable_is_read(environ: dict[str, str], changed: dict[str, object]) -> None:
    # Some are handed on to batches, too.
    assert replace(load_settings(environ), batch=BatchSettings()) == replace(Settings(), **changed)  # type: ignore[arg-type]


def test_the_views_of_the_predecessor_can_be_kept() -> None:
    settings = load_settings({"ONEFOLD_VIEW_DATASET": "{dataset}_unified"})
    assert str(settings.view_of(CUSTOMER)) == "my-project.shop_unified.customer_unified"


def test_one_dataset_for_all_views_is_fine_where_one_dataset_is_served() -> None:
    settings = load_settings({"ONEFOLD_VIEW_DATASET": "views", "ONEFOLD_DATASETS": "shop"})
    assert str(settings.view_of(CUSTOMER)) == "my-project.views.customer_unified"


TEMPLATE = "a template may hold {dataset} and {table} and nothing else in braces"


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("ONEFOLD_PROJEKT", "x", f"ONEFOLD_PROJEKT is not a setting; known are {', '.join(VARIABLES)}"),
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
            "ONEFOLD_TOPIC_TABLE_CREATED 'a b' is no topic; write its name, or projects/PROJECT/topics/NAME",
        ),
        (
            "ONEFOLD_TOPIC_SCHEMA_CHANGES",
            "ab",
            "ONEFOLD_TOPIC_SCHEMA_CHANGES 'ab' is no topic; write its name, or projects/PROJECT/topics/NAME",
        ),
        (
            "ONEFOLD_TOPIC_DEAD_LETTER",
            "tötet",
            "ONEFOLD_TOPIC_DEAD_LETTER 'tötet' is no topic; write its name, or projects/PROJECT/topics/NAME",
        ),
        ("ONEFOLD_CONFIG", "nowhere.yaml", "ONEFOLD_CONFIG: there is no file nowhere.yaml"),
    ],
)
def test_a_wrong_variable_is_named_with_what_to_do(variable: str, value: str, problem: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        load_settings({variable: value})
    assert refused.value.problems == (problem,)


# The file.


def test_every_key_of_the_file_is_read() -> None:
    settings = from_yaml("""
        conversions: classic
        time_zone: Europe/Berlin
        version_column: landed_in
        tables:
          customer:
            conversions: lossless
            time_zone: "+01:00"
            version_column:
            types: {Zip: STRING, address: "STRUCT<street STRING>"}
            retire: ["123", abc]
          shop.order:
          größe-2: {}
    """)
    defaults = TableRules("classic", "Europe/Berlin", "landed_in")
    types = (("zip", parse_type("STRING")), ("address", parse_type("STRUCT<street STRING>")))
    assert settings.rules == defaults
    assert settings.tables == {
        "customer": TableRules("lossless", "+01:00", None, types, frozenset({"123", "abc"})),
        "shop.order": defaults,
        "größe-2": defaults,
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "tables:\n"])
def test_an_empty_file_changes_nothing(text: str) -> None:
    assert from_yaml(text) == Settings(batch=BatchSettings(config=True))


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


TOP = "conversions, datasets, exclude, include, overlap_minutes, tables, time_zone, version_column, version_pattern"
BELOW = "conversions, keys, overlap_minutes, retire, time_zone, types, version_column"
ZONE = "is unknown; write a tz database name, as Europe/Berlin, or '+01:00' in quotes"
QUOTES = "is not a text; put it in quotes"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("[]", ["the file must be a mapping"]),
        ("false", ["the file must be a mapping"]),
        ("convertions: classic", [f"convertions is not a setting; known are {TOP}"]),
        ("types: {a: STRING}", [f"types is not a setting, unless below tables.NAME; known are {TOP}"]),
        ("conversions: lossy", ["conversions must be lossless or classic, not 'lossy'"]),
        ("conversions:", ["conversions must be lossless or classic, not None"]),
        ("time_zone: Europe/Atlantis", [f"time_zone 'Europe/Atlantis' {ZONE}"]),
        ("time_zone: +10:00", [f"time_zone 600 {ZONE}"]),
        ("time_zone: localtime", [f"time_zone 'localtime' {ZONE}"]),
        ("time_zone: Factory", [f"time_zone 'Factory' {ZONE}"]),
        ("time_zone: '+25:99'", [f"time_zone '+25:99' {ZONE}"]),
        ("version_column: from", []),
        ("version_column: a b", ["version_column 'a b' is no column name; use letters, digits and underscores"]),
        ("version_column: _partition_x", ["version_column '_partition_x' starts with a prefix that BigQuery reserves"]),
        ("tables: []", ["tables must be a mapping"]),
        ("tables: {customer: []}", ["tables.customer must be a mapping"]),
        (
            "tables: {cust`omer: }",
            ["tables: table 'cust`omer' is not a valid name: use letters, digits, underscores and hyphens"],
        ),
        ("tables: {a-b.customer: }", ["tables: dataset 'a-b' is not a valid name: use letters, digits and underscores"]),
        (
            "tables: {customer: {key: [id]}}",
            [f"tables.customer.key is not a setting; known are {BELOW}"],
        ),
        ("tables: {customer: {types: []}}", ["tables.customer.types must be a mapping"]),
        (
            "tables: {customer: {types: {a: INTEGR}}}",
            ["tables.customer.types.a: type 'INTEGR': 'INTEGR' is not a BigQuery type"],
        ),
        ("tables: {customer: {types: {a: }}}", [f"tables.customer.types.a: None {QUOTES}"]),
        (
            "tables: {customer: {types: {A: DATE, a: DATE}}}",
            ["tables.customer.types.a: the column is given twice; case makes no difference"],
        ),
        ("tables: {customer: {retire: abc}}", ["tables.customer.retire must be a list of versions"]),
        (
            "tables: {customer: {retire: [a.b]}}",
            ["tables.customer.retire: version 'a.b' is not a valid name: use letters, digits, underscores and hyphens"],
        ),
    ],
)
def test_a_problem_of_the_file_is_told_with_its_place(text: str, problems: list[str]) -> None:
    if not problems:
        from_yaml(text)
        return
    assert problems_of(text) == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tables: {customer: {retire: [123456]}}", f"tables.customer.retire: the version 123456 {QUOTES}"),
        ("tables: {customer: {retire: [0123]}}", f"tables.customer.retire: the version 83 {QUOTES}"),
        ("tables: {customer: {retire: [0x1f]}}", f"tables.customer.retire: the version 31 {QUOTES}"),
        ("tables: {customer: {retire: [no]}}", f"tables.customer.retire: the version False {QUOTES}"),
        ("tables: {customer: {retire: [~]}}", f"tables.customer.retire: the version None {QUOTES}"),
        ("tables: {on: {}}", f"tables: True {QUOTES}"),
        ("tables: {2024: {}}", f"tables: 2024 {QUOTES}"),
        ("tables: {customer: {types: {no: STRING}}}", f"tables.customer.types: False {QUOTES}"),
    ],
)
def test_what_yaml_does_not_read_as_text_has_to_be_quoted(text: str, problem: str) -> None:
    assert problems_of(text) == [problem]


def test_a_target_type_with_parameters_is_refused() -> None:
    (problem,) = problems_of("tables: {customer: {types: {price: 'NUMERIC(10, 2)'}}}")
    assert problem == "tables.customer.types.price: NUMERIC(10, 2) has parameters, which a view cannot keep; leave them out"


def test_without_a_tz_database_no_zone_but_utc_is_taken_on_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    assert problems_of("time_zone: Europe/Berlin") == [f"time_zone 'Europe/Berlin' {ZONE}"]
    assert from_yaml("time_zone: UTC").rules.time_zone == "UTC"


def test_a_key_that_is_given_twice_is_refused() -> None:
    (problem,) = problems_of("tables:\n  customer: {retire: [a]}\n  customer: {retire: [b]}\n")
    assert "the key 'customer' is given twice" in problem
    assert "line 3" in problem


@pytest.mark.parametrize(
    "content",
    [
        b"{[a]: b}",
        b"? {a: b}",
        b"retire: [2020-13-45]",
        b"\xff\xfe\xfa",
        b"a: [",
        b"a: b: c",
        b"!!python/object:os.system {}",
        b"[" * 3_000,
    ],
)
def test_a_file_that_is_no_yaml_is_refused(content: bytes) -> None:
    path = Path("settings.yaml")
    path.write_bytes(content)
    with pytest.raises(InvalidSettings, match="cannot be read"):
        load_settings({}, path)


def test_all_problems_are_told_at_once_and_each_once() -> None:
    text = """
        conversions: lossy
        extra: 1
        tables:
          customer: {time_zone: Mars, retire: [1, a.b]}
          order: {types: {id: INTEGR}}
    """
    assert problems_of(text, ONEFOLD_DATASETS="a-b", ONEFOLD_X="1") == [
        f"ONEFOLD_X is not a setting; known are {', '.join(VARIABLES)}",
        "ONEFOLD_DATASETS: dataset 'a-b' is not a valid name: use letters, digits and underscores",
        f"extra is not a setting; known are {TOP}",
        "conversions must be lossless or classic, not 'lossy'",
        f"tables.customer.time_zone 'Mars' {ZONE}",
        f"tables.customer.retire: the version 1 {QUOTES}",
        "tables.customer.retire: version 'a.b' is not a valid name: use letters, digits, underscores and hyphens",
        "tables.order.types.id: type 'INTEGR': 'INTEGR' is not a BigQuery type",
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


def test_the_rules_of_another_table_do_not_change_it() -> None:
    text = "tables: {order: {retire: [abc]}, crm.customer: {conversions: classic}}\ndatasets: {crm: {exclude: [tmp]}}"
    other = from_yaml(text)
    assert fingerprint_of(other, CUSTOMER) == fingerprint_of(Settings(), CUSTOMER)


def test_the_fingerprint_is_of_one_table_and_of_what_writes_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables with equal settings have views of their own; and another renderer writes every view again."""
    before = fingerprint_of(Settings(), CUSTOMER)
    others = [replace(CUSTOMER, table="order"), replace(CUSTOMER, dataset="crm"), replace(CUSTOMER, project="other")]
    assert len({before, *(fingerprint_of(Settings(), other) for other in others)}) == 4
    assert fingerprint_of(Settings(), replace(CUSTOMER)) == before
    monkeypatch.setattr(onefold.views.labels, "RENDERER", RENDERER + 1)
    assert fingerprint_of(Settings(), CUSTOMER) != before


def test_what_a_merge_needs_stands_under_the_table_and_changes_no_view() -> None:
    text = "overlap_minutes: 5\ntables: {customer: {keys: [id, Tenant]}, order: {overlap_minutes: 0}}"
    Path("onefold.yaml").write_text(text)
    settings = load_settings({})
    assert settings.rules_for(CUSTOMER).keys == ("id", "Tenant")
    assert settings.rules_for(CUSTOMER).overlap_minutes == 5
    assert settings.rules_for(replace(CUSTOMER, table="order")).overlap_minutes == 0
    assert fingerprint_of(settings, CUSTOMER) == fingerprint_of(Settings(), CUSTOMER)


def test_problems_of_what_a_merge_needs_are_told_at_once() -> None:
    Path("onefold.yaml").write_text("overlap_minutes: an hour\ntables: {customer: {keys: [id, ID, 7]}, order: {keys: id}}")
    with pytest.raises(InvalidSettings) as raised:
        load_settings({})
    told = str(raised.value)
    assert all(
        problem in told
        for problem in (
            "overlap_minutes must be a whole number",
            "tables.customer.keys: 'ID' is no column name, or is given twice",
            "tables.customer.keys: the column 7 is not a text",
            "tables.order.keys must be a list",
        )
    )


# How versioned tables are named.

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


def test_all_problems_of_names_are_told_at_once() -> None:
    text = """
        version_pattern: customer_v_(?P<version>[0-9]+)
        include: customer
        exclude: [7, 'a(', '(?=a)']
        datasets:
          a-b: {}
          crm: []
          shop: {version_pattern: '(?P<base>.+)_(?P<version>(?!a).+)', keys: [id]}
          events: {version_pattern: '(?P<base>.+)_(?P<version>[a-z]+)'}
          logs: {version_pattern: 7}
        """
    told = problems_of(text)
    for place, words in (
        ("version_pattern 'customer_v_", "the group (?P<base>...) is missing"),
        ("include must be a list of regular expressions", ""),
        ("exclude: the pattern 7 is not a text", ""),
        ("exclude 'a('", "it is no regular expression"),
        ("exclude '(?=a)'", "no look-around"),
        ("datasets: dataset 'a-b'", "is not a valid name"),
        ("datasets.crm must be a mapping", ""),
        ("datasets.shop.keys is not a setting", "known are exclude, include, version_pattern"),
        ("datasets.shop.version_pattern", "no look-around"),
        ("datasets.events.version_pattern", "also matches customer_base and customer_merges and customer_current and cust"),
        ("datasets.logs.version_pattern: 7 is not a text", ""),
    ):
        assert [problem for problem in told if problem.startswith(place) and words in problem], (place, told)
    assert len(told) == 11


def test_a_view_is_not_named_like_a_version_of_any_dataset() -> None:
    text = "datasets: {events: {version_pattern: '(?P<base>.+)_(?P<version>all)'}}"
    [problem] = problems_of(text, ONEFOLD_VIEW_NAME="{table}_all")
    assert "a view must not be named like a versioned table" in problem
