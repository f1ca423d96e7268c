"""onefold.yaml is read strictly, and all its problems are reported at once, each with its key."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from onefold.core.versioned_names import VersionedNames
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.settings.yaml_file import TablesFile, read_tables_file

TOP = (
    "captures, conversions, current, datasets, exclude, include, mixed_numbers, overlap_minutes, policies, sources, tables, "
    "time_zone, version_column, version_pattern"
)
BELOW = "conversions, current, keys, mixed_numbers, order_by, overlap_minutes, retire, time_zone, types, version_column"
ZONE = "is unknown; write a tz database name, as Europe/Berlin, or '+01:00' in quotes"
QUOTES = "is not a text; put it in quotes"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str | bytes) -> tuple[TablesFile, list[str]]:
    """Read a file of some content; return what was read, and the problems without the path."""
    path = Path("settings.yaml")
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    problems: list[str] = []
    file = read_tables_file(path, problems)
    assert all(problem.startswith("settings.yaml: ") for problem in problems)
    return file, [problem.removeprefix("settings.yaml: ") for problem in problems]


def from_yaml(text: str) -> TablesFile:
    file, problems = read(text)
    assert problems == []
    return file


def problems_of(text: str) -> list[str]:
    return read(text)[1]


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
        ("[]", ["the file must be a mapping"]),
        ("false", ["the file must be a mapping"]),
        ("convertions: classic", [f"convertions is not a setting (did you mean conversions?); known are {TOP}"]),
        ("types: {a: STRING}", [f"types is not a setting, unless below tables.NAME; known are {TOP}"]),
        ("conversions: lossy", ["conversions must be lossless or classic, not 'lossy'"]),
        ("conversions:", ["conversions must be lossless or classic, not None"]),
        ("time_zone: Europe/Atlantis", [f"time_zone 'Europe/Atlantis' {ZONE}"]),
        ("time_zone: +10:00", [f"time_zone 600 {ZONE}"]),
        ("time_zone: localtime", [f"time_zone 'localtime' {ZONE}"]),
        ("time_zone: Factory", [f"time_zone 'Factory' {ZONE}"]),
        ("time_zone: '+25:99'", [f"time_zone '+25:99' {ZONE}"]),
        ("version_column: from", []),
        ("version_column: a b", ["version_column 'a b' is not a column name; use letters, digits and underscores"]),
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
            [f"tables.customer.key is not a setting (did you mean keys?); known are {BELOW}"],
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
def test_a_problem_is_reported_with_its_key(text: str, problems: list[str]) -> None:
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
def test_a_value_that_yaml_does_not_read_as_text_has_to_be_quoted(text: str, problem: str) -> None:
    assert problems_of(text) == [problem]


def test_a_target_type_with_parameters_is_refused() -> None:
    (problem,) = problems_of("tables: {customer: {types: {price: 'NUMERIC(10, 2)'}}}")
    assert problem == "tables.customer.types.price: NUMERIC(10, 2) has parameters, which a view cannot keep; leave them out"


def test_without_a_tz_database_no_zone_but_utc_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_file_that_is_not_yaml_is_refused(content: bytes) -> None:
    file, [problem] = read(content)
    assert problem.startswith("cannot be read: ")
    assert file == TablesFile()


def test_problems_of_overlaps_and_keys_are_reported_at_once() -> None:
    text = "overlap_minutes: an hour\ntables: {customer: {keys: [id, ID, 7]}, order: {keys: id}, click: {order_by: at}, "
    text += "view: {keys: [id], order_by: [at, Id]}, shop.view: {}}"
    assert problems_of(text) == [
        "overlap_minutes must be a whole number of minutes, 0 or more, not 'an hour'",
        "tables.customer.keys: 'ID' is not a column name, or is given twice; case makes no difference",
        "tables.customer.keys: the column 7 is not a text; put it in quotes",
        "tables.order.keys must be a list of columns",
        "tables.click.order_by must be a list of columns",
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
    problems = problems_of(text)
    for key, words in (
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
        assert [problem for problem in problems if problem.startswith(key) and words in problem], (key, problems)
    assert len(problems) == 11


def test_a_file_that_does_not_exist_is_one_problem_and_gives_defaults() -> None:
    problems: list[str] = []
    assert read_tables_file(Path("nowhere.yaml"), problems) == TablesFile()
    [problem] = problems
    assert problem.startswith("nowhere.yaml: cannot be read: ")


@pytest.mark.parametrize("text", ["overlap_minutes: 0", "tables: {customer: {overlap_minutes: 0}}"])
def test_an_overlap_of_zero_minutes_is_accepted(text: str) -> None:
    assert problems_of(text) == []


@pytest.mark.parametrize(
    ("value", "shown"), [("-1", "-1"), ("true", "True"), ("1.5", "1.5"), ("'60'", "'60'"), ("", "None")]
)
def test_an_overlap_is_a_whole_number_of_minutes(value: str, shown: str) -> None:
    assert problems_of(f"overlap_minutes: {value}") == [
        f"overlap_minutes must be a whole number of minutes, 0 or more, not {shown}"
    ]


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


def test_a_problem_of_an_inherited_rule_is_reported_once() -> None:
    text = "time_zone: Mars\nexclude: ['a(']\ntables: {customer: {}, order: {}}\ndatasets: {shop: {}, crm: {}}"
    assert len(problems_of(text)) == 2


def test_a_dataset_inherits_each_part_of_the_naming_that_it_does_not_have() -> None:
    file = from_yaml("exclude: [^tmp_.*$]\ndatasets: {crm: {include: [customer]}, shop: {exclude: []}}")
    assert file.names == VersionedNames(exclude=("tmp_.*",))
    assert file.datasets == {"crm": VersionedNames(include=("customer",), exclude=("tmp_.*",)), "shop": VersionedNames()}


@pytest.mark.parametrize(
    ("name", "is_reserved"),
    [("_PARTITIONTIME", True), ("__root__x", True), ("_change_type", True), ("_version", False), ("partition", False)],
)
def test_a_version_column_has_no_name_that_bigquery_reserves(name: str, is_reserved: bool) -> None:
    assert bool(problems_of(f"version_column: {name}")) == is_reserved
