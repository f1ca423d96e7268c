"""onefold.yaml is read strictly, and all its problems are reported at once, each with its key."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.settings_problems import from_yaml, located_problems_of, problems_of

from onefold.core.versioned_names import VersionedNames
from onefold.schema.table_rules import MergeWhen, TableRules
from onefold.schema.types import parse_type
from onefold.settings.yaml_file import TablesFile

TOP = (
    "captures, contracts, conversions, current, datasets, exclude, include, merge_when, mixed_numbers, overlap_minutes, "
    "owners, policies, sources, tables, time_zone, unite and 2 more"
)
BELOW = (
    "conversions, current, keys, landed_column, merge_when, mixed_numbers, order_by, overlap_minutes, retire, rows, "
    "time_zone, tool, types, version_column"
)
ZONE = "a tz database name, as Europe/Berlin, or '+01:00' in quotes"
OVERLAP = "overlap_minutes: expected a whole number, 0 or more, got"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_key_of_the_file_is_read() -> None:
    file = from_yaml("""
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
    assert file.rules == defaults
    assert file.tables == {
        "customer": TableRules("lossless", "+01:00", None, types, frozenset({"123", "abc"})),
        "shop.order": defaults,
        "größe-2": defaults,
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "tables:\n"])
def test_an_empty_file_changes_nothing(text: str) -> None:
    assert from_yaml(text) == TablesFile()


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("[]", ["expected a mapping, got a list"]),
        ("false", ["expected a mapping, got false"]),
        ("convertions: classic", [f"convertions: not a setting (did you mean conversions?); known are {TOP}"]),
        ("types: {a: STRING}", [f"types: not a setting here, but below tables.NAME; known are {TOP}"]),
        ("conversions: lossy", ["conversions: expected lossless or classic, got 'lossy'"]),
        ("conversions:", ["conversions: expected lossless or classic, got nothing"]),
        ("time_zone: Europe/Atlantis", [f"time_zone: 'Europe/Atlantis' is unknown; write {ZONE}"]),
        ("time_zone: +10:00", [f"time_zone: expected {ZONE}, got +10:00, which YAML reads as 600: put it in quotes"]),
        ("time_zone: localtime", [f"time_zone: 'localtime' is unknown; write {ZONE}"]),
        ("time_zone: Factory", [f"time_zone: 'Factory' is unknown; write {ZONE}"]),
        ("time_zone: '+25:99'", [f"time_zone: expected {ZONE}, got '+25:99'"]),
        ("version_column: a b", ["version_column: expected a column name of letters, digits and underscores, got 'a b'"]),
        (
            "version_column: _partition_x",
            ["version_column: '_partition_x' starts with a prefix that BigQuery reserves: name another"],
        ),
        ("tables: []", ["tables: expected a mapping, got a list"]),
        ("tables: {customer: []}", ["tables.customer: expected a mapping, got a list"]),
        (
            "tables: {cust`omer: }",
            ["tables.cust`omer: table 'cust`omer' is not a valid name: use letters, digits, underscores and hyphens"],
        ),
        (
            "tables: {a-b.customer: }",
            ["tables.a-b.customer: dataset 'a-b' is not a valid name: use letters, digits and underscores"],
        ),
        (
            "tables: {customer: {key: [id]}}",
            [f"tables.customer.key: not a setting (did you mean keys?); known are {BELOW}"],
        ),
        ("tables: {customer: {types: []}}", ["tables.customer.types: expected a mapping, got a list"]),
        (
            "tables: {customer: {types: {a: INTEGR}}}",
            ["tables.customer.types.a: type 'INTEGR': 'INTEGR' is not a BigQuery type"],
        ),
        (
            "tables: {customer: {types: {a: }}}",
            ["tables.customer.types.a: expected a type, or {type: TIMESTAMP, from: unix_seconds}, got nothing"],
        ),
        (
            "tables: {customer: {types: {A: DATE, a: DATE}}}",
            ["tables.customer.types.a: the column is given twice; case makes no difference"],
        ),
        (
            "tables: {customer: {tool: Airbyte}, visits: {rows: history}}",
            [
                "tables.customer.tool: `rows` is missing: write history or current, as `onefold discover` says",
                "tables.visits.rows: `tool` is missing: write the tool that fills the table, as `onefold discover` says",
            ],
        ),
        ("tables: {customer: {retire: abc}}", ["tables.customer.retire: expected a list of versions, got a text"]),
        (
            "tables: {customer: {retire: [a.b]}}",
            ["tables.customer.retire: version 'a.b' is not a valid name: use letters, digits, underscores and hyphens"],
        ),
    ],
)
def test_a_problem_is_reported_with_its_key(text: str, problems: list[str]) -> None:
    assert problems_of(text) == problems


def test_a_target_type_with_parameters_is_refused() -> None:
    (problem,) = problems_of("tables: {customer: {types: {price: 'NUMERIC(10, 2)'}}}")
    assert problem == "tables.customer.types.price: NUMERIC(10, 2) has parameters, which a view cannot keep; leave them out"


def test_without_a_tz_database_no_zone_but_utc_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    assert problems_of("time_zone: Europe/Berlin") == [f"time_zone: 'Europe/Berlin' is unknown; write {ZONE}"]
    assert from_yaml("time_zone: UTC").rules.time_zone == "UTC"


def test_problems_of_overlaps_and_keys_are_reported_at_once() -> None:
    text = "overlap_minutes: an hour\ntables: {customer: {keys: [id, ID, 7]}, order: {keys: id}, click: {order_by: at}, "
    text += "view: {keys: [id], order_by: [at, Id]}, shop.view: {}}"
    assert problems_of(text) == [
        f"{OVERLAP} 'an hour'",
        "tables.customer.keys[2]: expected the name of a column, got 7: put it in quotes",
        "tables.order.keys: expected a list of columns, got a text",
        "tables.click.order_by: expected a list of columns, got a text",
        "tables.customer.keys: the column 'id' is given twice; case makes no difference",
        "tables.view.order_by: all rows of a key have the same Id: name another column",
    ]


def test_all_problems_of_names_are_reported_at_once() -> None:
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
    problems = located_problems_of(text)
    for key, words in (
        ("2: version_pattern: 'customer_v_", "the group (?P<base>...) is missing"),
        ("3: include: expected a list of regular expressions", ""),
        ("4: exclude[0]: expected a regular expression, got 7: put it in quotes", ""),
        ("4: exclude: 'a('", "it is no regular expression"),
        ("4: exclude: '(?=a)'", "no look-around"),
        ("6: datasets.a-b: dataset 'a-b'", "is not a valid name"),
        ("7: datasets.crm: expected a mapping", ""),
        ("8: datasets.shop.keys: not a setting here, but below tables.NAME", "known are exclude, include, version_pattern"),
        ("8: datasets.shop.version_pattern", "no look-around"),
        ("9: datasets.events.version_pattern", "also matches customer_base and customer_merges and customer_current and"),
        ("10: datasets.logs.version_pattern: expected a text, got 7: put it in quotes", ""),
    ):
        assert [problem for problem in problems if problem.startswith(key) and words in problem], (key, problems)
    assert len(problems) == 11


@pytest.mark.parametrize("text", ["overlap_minutes: 0", "tables: {customer: {overlap_minutes: 0}}"])
def test_an_overlap_of_zero_minutes_is_accepted(text: str) -> None:
    file = from_yaml(text)
    assert 0 in {rules.overlap_minutes for rules in (file.rules, *file.tables.values())}


@pytest.mark.parametrize(
    ("value", "shown"), [("-1", "-1"), ("true", "true"), ("1.5", "1.5"), ("'60'", "'60'"), ("", "nothing")]
)
def test_an_overlap_is_a_whole_number_of_minutes(value: str, shown: str) -> None:
    assert problems_of(f"overlap_minutes: {value}") == [f"{OVERLAP} {shown}"]


def test_a_table_inherits_each_rule_that_it_does_not_have() -> None:
    file = from_yaml("""
        time_zone: Europe/Berlin
        overlap_minutes: 5
        version_column: landed_in
        tables: {customer: {overlap_minutes: 7, keys: [id, Tenant]}}
    """)
    assert file.rules == TableRules(time_zone="Europe/Berlin", overlap_minutes=5, version_column="landed_in")
    assert file.tables["customer"] == TableRules(
        time_zone="Europe/Berlin", overlap_minutes=7, version_column="landed_in", keys=("id", "Tenant")
    )


def test_a_table_is_always_merged_unless_it_is_told_when() -> None:
    file = from_yaml("""
        merge_when: {landed_percent: 2.5}
        tables:
          customer: {merge_when: always}
          order: {keys: [id]}
          shop.order: {merge_when: {landed_percent: 0, max_age_hours: 48}}
    """)
    assert TableRules().merge_when is None
    assert (file.rules.merge_when, file.tables["customer"].merge_when) == (MergeWhen(2.5, 20), None)
    assert (file.tables["order"].merge_when, file.tables["shop.order"].merge_when) == (MergeWhen(2.5, 20), MergeWhen(0, 48))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("daily", "merge_when: expected always, or {landed_percent: 5, max_age_hours: 20}, got 'daily'"),
        ("7", "merge_when: expected always, or {landed_percent: 5, max_age_hours: 20}, got 7"),
        (
            "{landed_percent: many}",
            "merge_when.landed_percent: expected a number of percent from 0 to 1000, as 5, got 'many'",
        ),
        ("{landed_percent: 1001}", "merge_when.landed_percent: expected a number of percent from 0 to 1000, as 5, got 1001"),
        (
            "{max_age_hours: 745}",
            "merge_when.max_age_hours: expected a whole number of hours from 1 to 744, which are 31 days, got 745",
        ),
        ("{landed_percent: -1}", "merge_when.landed_percent: expected a number of percent from 0 to 1000, as 5, got -1"),
        (
            "{max_age_hours: 0}",
            "merge_when.max_age_hours: expected a whole number of hours from 1 to 744, which are 31 days, got 0",
        ),
    ],
)
def test_when_a_table_is_merged_is_checked(value: str, problem: str) -> None:
    (found,) = problems_of(f"merge_when: {value}")
    assert found.startswith(problem)


def test_a_problem_of_an_inherited_rule_is_reported_once() -> None:
    text = "time_zone: Mars\nexclude: ['a(']\ntables: {customer: {}, order: {}}\ndatasets: {shop: {}, crm: {}}"
    assert len(problems_of(text)) == 2


def test_a_dataset_inherits_each_part_of_the_naming_that_it_does_not_have() -> None:
    file = from_yaml("exclude: [^tmp_.*$]\ndatasets: {crm: {include: [customer]}, shop: {exclude: []}}")
    assert file.names == VersionedNames(exclude=("tmp_.*",))
    assert file.datasets == {"crm": VersionedNames(include=("customer",), exclude=("tmp_.*",)), "shop": VersionedNames()}


@pytest.mark.parametrize(
    ("name", "is_reserved"),
    [
        ("_PARTITIONTIME", True),
        ("__root__x", True),
        ("_change_type", True),
        ("_version", False),
        ("partition", False),
        ("from", False),
    ],
)
def test_a_version_column_has_no_name_that_bigquery_reserves(name: str, is_reserved: bool) -> None:
    if is_reserved:
        assert "starts with a prefix that BigQuery reserves" in problems_of(f"version_column: {name}")[0]
    else:
        assert from_yaml(f"version_column: {name}").rules.version_column == name


def test_a_repeated_key_hides_no_problem_of_any_of_its_values() -> None:
    text = "tables: {a: {one: 1}}\ntables: {a: {two: 1}, a: {three: 1}}\ntables: {a: {four: 1}}\nfive: 1\n"
    told = [problem.partition(";")[0] for problem in located_problems_of(text)]
    assert sorted(told) == [
        "1: tables.a.one: not a setting",
        "2: tables.a.three: not a setting",
        "2: tables.a.two: not a setting",
        "2: the key 'a' is given twice",
        "2: the key 'tables' is given twice",
        "3: tables.a.four: not a setting",
        "3: the key 'tables' is given twice",
        "4: five: not a setting",
    ]
