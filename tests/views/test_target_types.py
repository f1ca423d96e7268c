"""Target types of the settings, evaluated: times from numbers, fields by path, mixed numbers, impossible types."""

from __future__ import annotations

from typing import Any

import pytest
from support.views import FORMS, accept, build, rows, version
from support.zetasql_judge import Judge

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.merge.base_table import BaseTable
from onefold.merge.schema_evolution import plan_schema
from onefold.refresh.built_view import Form
from onefold.schema.columns import Column
from onefold.schema.common_type import canonical, join_all
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar, parse_type
from onefold.schema.versions import fold, landed_version, mixed_number_columns, unused_rules

TIMESTAMP = Scalar("TIMESTAMP")


def shown(judge: Judge, rules: TableRules, form: Form, type_: str, literals: list[str]) -> list[Any]:
    """What a view shows of values that landed in two versions, the second of which has them as text."""
    versions = (version("a1", f"x {type_}"), version("b2", "x STRING"))
    view = build(versions, rules, form)
    accept(judge, view, versions)
    return [row["x"] for row in rows(judge, view, versions, {"a1": [(literal,) for literal in literals]})]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("type_", "unit", "literal"),
    [
        ("INT64", "unix_millis", "1700000000250"),
        ("INT64", "unix_micros", "1700000000250000"),
        ("NUMERIC", "unix_seconds", "NUMERIC '1700000000.25'"),
        ("BIGNUMERIC", "unix_millis", "BIGNUMERIC '1700000000250'"),
        ("FLOAT64", "unix_seconds", "1700000000.25"),
        ("FLOAT64", "unix_micros", "1700000000250000.0"),
    ],
)
def test_numbers_with_a_unit_are_times(judge: Judge, form: Form, type_: str, unit: str, literal: str) -> None:
    rules = TableRules(types=(("x", TIMESTAMP),), units=(("x", unit),))
    (expected,) = judge.rows("SELECT TIMESTAMP '2023-11-14 22:13:20.25+00'")
    assert shown(judge, rules, form, type_, [literal]) == [expected[0]]


@pytest.mark.parametrize(
    ("target", "zone", "expected"),
    [
        ("DATE", "UTC", "DATE '2023-11-14'"),
        ("DATE", "Asia/Tokyo", "DATE '2023-11-15'"),
        ("DATETIME", "UTC", "DATETIME '2023-11-14 22:13:20'"),
        ("TIME", "Asia/Tokyo", "TIME '07:13:20'"),
    ],
)
def test_a_unit_gives_any_time_in_the_zone_of_the_settings(judge: Judge, target: str, zone: str, expected: str) -> None:
    rules = TableRules(time_zone=zone, types=(("x", parse_type(target)),), units=(("x", "unix_seconds"),))
    assert shown(judge, rules, "spelled", "INT64", ["1700000000"]) == [judge.rows(f"SELECT {expected}")[0][0]]


@pytest.mark.parametrize(
    ("type_", "literals"),
    [
        ("INT64", ["9223372036854775807", "-9223372036854775808", "NULL"]),
        ("NUMERIC", ["NUMERIC '99999999999999999999999999999'", "NULL"]),
        ("FLOAT64", ["1.7e308", "CAST('nan' AS FLOAT64)", "CAST('-inf' AS FLOAT64)"]),
    ],
)
def test_a_number_out_of_range_is_null_and_fails_no_query(judge: Judge, type_: str, literals: list[str]) -> None:
    for unit in ("unix_seconds", "unix_millis", "unix_micros"):
        rules = TableRules(types=(("x", TIMESTAMP),), units=(("x", unit),))
        assert set(shown(judge, rules, "spelled", type_, literals)) == {None}


def test_text_and_times_of_other_versions_are_read_as_they_are(judge: Judge) -> None:
    versions = (version("a1", "x INT64"), version("b2", "x TIMESTAMP"), version("c3", "x STRING"))
    view = build(versions, TableRules(types=(("x", TIMESTAMP),), units=(("x", "unix_seconds"),)))
    text = "'2023-11-14 22:13:20+00'"
    landed = {"a1": [("1700000000",)], "b2": [(f"TIMESTAMP {text}",)], "c3": [(text,)]}
    assert len({row["x"] for row in rows(judge, view, versions, landed)}) == 1
    assert [(cast.versions, str(cast.source), bool(cast.losses)) for cast in view.casts] == [
        (("a1",), "INT64 as unix_seconds", True),
        (("c3",), "STRING", True),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_fields_have_target_types_by_path_at_any_depth(judge: Judge, form: Form) -> None:
    versions = (
        version("a1", "Address STRUCT<Zip INT64, city STRING>", "items ARRAY<STRUCT<price INT64, since INT64>>"),
        version("b2", "address STRUCT<zip INT64>", "items ARRAY<STRUCT<price NUMERIC>>"),
    )
    rules = TableRules(
        types=(("address.zip", parse_type("STRING")), ("items.since", TIMESTAMP), ("items.price", Scalar("FLOAT64"))),
        units=(("items.since", "unix_seconds"),),
    )
    view = build(versions, rules, form)
    accept(judge, view, versions)
    assert [str(column.type) for column in view.columns] == [
        "STRUCT<Zip STRING, city STRING>",
        "ARRAY<STRUCT<price FLOAT64, since TIMESTAMP>>",
    ]
    landed = {"a1": [("STRUCT(12 AS Zip, 'x' AS city)", "[STRUCT(2 AS price, 0 AS since)]")]}
    (row,) = rows(judge, view, versions, landed)
    (epoch,) = judge.rows("SELECT TIMESTAMP '1970-01-01 00:00:00+00'")
    assert row == {"address": {"city": "x", "zip": "12"}, "items": [{"price": 2.0, "since": epoch[0]}]}


def test_impossible_target_types_name_what_is_possible_and_all_come_at_once() -> None:
    versions = (version("a1", "born INT64", "s STRUCT<on BOOL>", "day DATE"),)
    rules = TableRules(types=(("born", TIMESTAMP), ("s.on", TIMESTAMP), ("day", Scalar("INT64"))))
    with pytest.raises(SchemaConflict) as caught:
        build(versions, rules)
    born, nested, day = caught.value.problems
    assert "no INT64 can be converted to TIMESTAMP: possible are STRING, BYTES, BOOL, INT64, NUMERIC" in born
    assert "{type: TIMESTAMP, from: unix_seconds | unix_millis | unix_micros}" in born
    assert "column s of version a1: no BOOL can be converted to TIMESTAMP" in nested
    assert "unix" not in nested + day
    assert "no DATE can be converted to INT64: possible are STRING, BYTES, DATE, DATETIME, TIMESTAMP, JSON" in day


def test_a_path_that_the_view_does_not_have_is_an_error_and_one_that_no_version_has_a_warning() -> None:
    versions = (version("a1", "s STRUCT<a INT64>"), version("b2", "s STRING"))
    rules = TableRules(types=(("s.a", Scalar("NUMERIC")), ("s.b", TIMESTAMP)), units=(("s.b", "unix_millis"),))
    with pytest.raises(SchemaConflict, match=r"types\.s\.a: s is STRING in the view"):
        build(versions, rules)
    assert unused_rules(versions, rules) == [
        "types.s.b: no version has a column of this name",
        "types.s.b: from: unix_millis has no effect, because no version has numbers there",
    ]


# Mixed numbers

NUMBERS = ("BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", NUMBERS[:-1])
def test_mixed_numbers_are_float64_where_the_settings_say_so(judge: Judge, form: Form, other: str) -> None:
    versions = (version("a1", f"x {other}"), version("b2", "x FLOAT64"))
    view = build(versions, TableRules(mixed_numbers="FLOAT64"), form)
    accept(judge, view, versions)
    assert [str(column.type) for column in view.columns] == ["FLOAT64"]
    assert str(build(versions).columns[0].type) == "STRING"
    found = rows(judge, view, versions, {"a1": [(f"CAST(1 AS {other})" if other != "BOOL" else "TRUE",)], "b2": [("0.5",)]})
    assert sorted(row["x"] for row in found) == [0.5, 1.0]
    assert view.casts[0].losses


def test_mixed_numbers_join_alike_in_any_order_and_leave_other_types_alone() -> None:
    for first in (*NUMBERS, "STRING", "DATE"):
        for second in NUMBERS:
            for third in (*NUMBERS, "STRUCT<a INT64>", "ARRAY<FLOAT64>"):
                kinds = [parse_type(name) for name in (first, second, third)]
                joined = {canonical(join_all(order, floats=True)) for order in (kinds, kinds[::-1], [*kinds[1:], kinds[0]])}
                assert len(joined) == 1
                if "FLOAT64" not in f"{first} {second} {third}":
                    assert joined == {canonical(join_all(kinds))}


def test_the_plan_names_the_setting_only_where_it_would_change_a_type() -> None:
    mixed = (
        version("a1", "x INT64", "y INT64", "s STRUCT<n INT64>"),
        version("b2", "x FLOAT64", "y DATE", "s STRUCT<n FLOAT64>"),
    )
    assert [text.partition(":")[0] for text in mixed_number_columns(mixed, TableRules())] == ["x", "s"]
    assert mixed_number_columns(mixed, TableRules(mixed_numbers="FLOAT64")) == []
    assert mixed_number_columns(mixed, TableRules(types=(("x", Scalar("FLOAT64")), ("s.n", Scalar("FLOAT64"))))) == []


# The base


def test_a_base_is_rebuilt_where_its_numbers_become_times() -> None:
    """Converting a stored number again would read it as text."""
    rules = TableRules(types=(("x", TIMESTAMP),), units=(("x", "unix_millis"),))
    landed = version("a1", "id INT64", "x INT64")
    base = BaseTable(TableId("p", "shop", "customer"), fold([landed], rules), ("id",))
    stored = [Column("id", Scalar("INT64")), Column("x", Scalar("INT64")), *base.stored[2:]]
    assert plan_schema(base, stored, [landed_version(landed, rules)], ["a1"]).migration == "rebuild"
