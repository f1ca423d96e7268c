"""The queries of a check, run by Google's own evaluator: which rows are found, on either side, for every type."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from support.check_tables import BASE, NOON, VIEW, checked
from support.zetasql_judge import Judge

from onefold.changelog.metadata import CAPTURE_FIELDS, metadata_type
from onefold.check.join import border_literal, expiring, found_query, mark_of, view_range
from onefold.check.request import CheckedTable
from onefold.mysql.table import SourceType
from onefold.pull.read.clock import micros
from onefold.pull.read.plan import KeyRange
from onefold.pull.read.watermark import Watermark
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type

READ = BASE.sibling("onefold_tmp_read")
SOURCE_TYPES = {
    "id": SourceType("int"), "text": SourceType("varchar", 60), "exact": SourceType("decimal", 38, 30),
    "real": SourceType("double"), "raw": SourceType("varbinary", 9), "doc": SourceType("json"),
    "span": SourceType("time", 6), "day": SourceType("date"), "clock": SourceType("datetime", 6),
    "at": SourceType("timestamp", 6),
}  # fmt: skip
SAME = {
    "id": "1", "text": "'caf\u00e9'", "exact": "BIGNUMERIC '1.123456789012345678901234567890'", "real": "0.1",
    "raw": "b'\\x00\\xff'",
    "doc": "JSON '{\"a\":[1,null]}'", "span": "INTERVAL '-838:59:59.000001' HOUR TO SECOND", "day": "DATE '0001-01-01'",
    "clock": "DATETIME '9999-12-31 23:59:59.999999'", "at": "TIMESTAMP '2026-05-03 10:00:00.000001+00'",
}  # fmt: skip
OTHER = {
    "text": ["'caf\u00e9 '", "'cafe\u0301'", "''"], "exact": ["BIGNUMERIC '1.123456789012345678901234567891'"],
    "real": ["0.10000000000000002", "-0.1"], "raw": ["b'\\x01\\xff'", "b''"], "doc": ["JSON '{\"a\":[1]}'", "JSON 'null'"],
    "span": ["INTERVAL '-838:59:59.000002' HOUR TO SECOND"], "day": ["DATE '0001-01-02'"],
    "clock": ["DATETIME '9999-12-31 23:59:59.999998'"], "at": ["TIMESTAMP '2026-05-03 10:00:00.000002+00'"],
}  # fmt: skip


@pytest.fixture
def table() -> CheckedTable:
    return checked(SOURCE_TYPES, Watermark("at", "timestamp", 6))


class Sides:
    """Rows of both sides, as SQL literals, and what the query finds."""

    def __init__(self, judge: Judge, table: CheckedTable) -> None:
        self.judge, self.table = judge, table
        self.landed = [(one.landed.name, str(one.landed.type)) for one in table.columns]
        self.shown = [(one.shown.name, str(one.shown.type)) for one in table.columns]
        self.metadata = ("datastream_metadata", str(metadata_type(CAPTURE_FIELDS)))
        self.tenant = [("source_name", "STRING"), ("database_name", "STRING")]

    def found(self, source: list[dict[str, str]], view: list[dict[str, str]], part: KeyRange = KeyRange()) -> list[Any]:  # noqa: B008 a frozen value
        tables = {str(READ): [*self.landed, self.metadata], str(VIEW): [*self.shown, *self.tenant]}
        content = {str(READ): self._read(source), str(VIEW): self._view(view)}
        query = found_query(self.table, part, READ)
        self.judge.accept(expiring(READ.sibling("onefold_tmp_found"), query), tables)
        rows = self.judge.rows(f"SELECT in_source, in_view, sequence, IFNULL(s0, w0) FROM ({query})", tables, content)
        return sorted(rows, key=str)

    def _read(self, rows: list[dict[str, str]]) -> str:
        return _rows(self.landed, rows, self.metadata[1])

    def _view(self, rows: list[dict[str, str]]) -> str:
        return _rows(self.shown, rows)


def _fields() -> list[tuple[str, str]]:
    return [(name, str(type_)) for name, type_ in CAPTURE_FIELDS.items()]


def _rows(columns: list[tuple[str, str]], rows: list[dict[str, str]], metadata: str = "") -> str:
    texts = []
    for number, row in enumerate(rows):
        values = [f"CAST({row.get(name, 'NULL')} AS {type_}) AS `{name}`" for name, type_ in columns]
        if metadata:
            fields = [f"'seq{number}'" if name == "change_sequence_number" else "NULL" for name, _ in _fields()]
            values.append(f"CAST(({', '.join(fields)}) AS {metadata}) AS datastream_metadata")
        else:
            values += [f"{row.get('source_name', repr('s'))} AS source_name", "'d' AS database_name"]
        texts.append(f"SELECT {', '.join(values)}")
    if not texts:
        return f"{_rows(columns, [{}], metadata)} LIMIT 0"
    return " UNION ALL ".join(texts)


@pytest.fixture
def sides(judge: Judge, table: CheckedTable) -> Sides:
    return Sides(judge, table)


def test_equal_rows_of_every_type_are_not_found_and_null_equals_null(sides: Sides) -> None:
    only_key = {"id": "2", "at": SAME["at"]}
    assert sides.found([SAME, only_key], [only_key, SAME]) == []


@pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name, values in OTHER.items() for value in (*values, "NULL")]
)
def test_one_other_value_is_found(sides: Sides, column: str, value: str) -> None:
    # A source's row without a watermark is left out, because a pull may be late with it.
    expected = [] if (column, value) == ("at", "NULL") else [(True, True, "seq0", 1)]
    assert sides.found([{**SAME, column: value}], [SAME]) == expected
    assert sides.found([SAME], [{**SAME, column: value}]) == [(True, True, "seq0", 1)]


def test_rows_of_one_side_are_found_and_other_tenants_are_not_read(sides: Sides) -> None:
    other, foreign = {**SAME, "id": "2"}, {**SAME, "id": "3", "source_name": "'x'"}
    assert sides.found([SAME], [other, foreign]) == [(False, True, None, 2), (True, False, "seq0", 1)]


def test_a_row_of_one_side_is_found_beside_a_filter_of_the_chunk(sides: Sides) -> None:
    rows = [{**SAME, "id": str(key)} for key in range(1, 7)]
    found = sides.found(rows[2:3], rows, KeyRange("id", 3, 5))
    assert found == [(False, True, None, 4)]
    assert [key for *_, key in sides.found([], rows, KeyRange("id", None, 3))] == [1, 2]
    assert [key for *_, key in sides.found([], rows, KeyRange("id", 5, None))] == [5, 6]


def test_rows_that_the_source_changed_within_the_padding_are_left_out_on_both_sides(sides: Sides) -> None:
    late = {**SAME, "text": "'new'", "at": "TIMESTAMP '2026-05-03 12:00:00+00'"}
    before = {**late, "at": "TIMESTAMP '2026-05-03 11:59:59.999999+00'"}
    assert sides.found([late], [SAME]) == []
    assert sides.found([late], []) == []
    assert sides.found([], [late]) == []
    assert sides.found([before], [SAME]) == [(True, True, "seq0", 1)]
    # The source decides: its row is old, and the view has another one.
    assert sides.found([SAME], [late]) == [(True, True, "seq0", 1)]


def test_the_view_may_have_wider_types(judge: Judge, table: CheckedTable) -> None:
    wider = {"id": "BIGNUMERIC", "exact": "STRING", "real": "STRING", "day": "TIMESTAMP", "doc": "STRING", "raw": "STRING"}
    shown = Schema(Column(one.name, parse_type(wider.get(one.name, str(one.type)))) for one in table.shown)
    sides = Sides(judge, replace(table, shown=shown))
    values = {
        "id": "1", "exact": "'1.12345678901234567890123456789'", "real": "'0.1'",
        "day": "TIMESTAMP '0001-01-01 00:00:00+00'", "doc": "'{\"a\":[1,null]}'", "raw": "'AP8='",
    }  # fmt: skip
    assert sides.found([SAME], [{**SAME, **values}]) == []
    assert len(sides.found([SAME], [{**SAME, **values, "real": "'0.10'"}])) == 1


def test_numbers_that_the_settings_read_as_times_are_converted_as_the_view_does(judge: Judge, table: CheckedTable) -> None:
    rules = TableRules(units=(("id", "unix_millis"),))
    shown = Schema(Column(one.name, parse_type("TIMESTAMP") if one.name == "id" else one.type) for one in table.shown)
    sides = Sides(judge, replace(table, shown=shown, rules=rules))
    assert sides.found([SAME], [{**SAME, "id": "TIMESTAMP '1970-01-01 00:00:00.001+00'"}]) == []


def test_digests_of_keys_divide_the_rows_of_both_sides_alike(judge: Judge, table: CheckedTable) -> None:
    texts = ["", "a", "caf\u00e9", "cafe\u0301", "\U0001f600", "a "]
    key = table.column("text")
    bounds = [None, 0x4000, 0x9000, None]
    chunks = [KeyRange("text", low, high, "text") for low, high in itertools.pairwise(bounds)]
    rows = " UNION ALL ".join(f"SELECT '{text}' AS text" for text in texts)
    found = [judge.rows(f"SELECT text FROM ({rows}) AS v WHERE {view_range(chunk, key)}") for chunk in chunks]
    assert sorted(text for part in found for (text,) in part) == sorted(texts)
    assert judge.rows(f"SELECT v.text FROM (SELECT CAST(NULL AS STRING) AS text) AS v WHERE {view_range(chunks[0], key)}")


def test_a_mark_is_the_same_for_both_sides(judge: Judge, table: CheckedTable) -> None:
    both = replace(table, keys=("id", "text"))
    row = "(SELECT 7 AS id, 'a:1' AS text)"
    landed, shown = (mark_of(both, "r", landed=side) for side in (True, False))
    ((one, two),) = judge.rows(f"SELECT {landed}, {shown} FROM {row} AS r")
    assert one == two


@pytest.mark.parametrize(
    ("watermark", "literal"),
    [
        (Watermark("at", "timestamp", 3), "TIMESTAMP '2026-05-03 12:00:00.000+00'"),
        (Watermark("at", "datetime", 0, "Europe/Berlin"), "DATETIME '2026-05-03 14:00:00'"),
        (Watermark("at", "date", 0, "Asia/Tokyo"), "DATE '2026-05-03'"),
        (Watermark("at", "unix_seconds"), "1777809600"),
    ],
)
def test_a_border_is_written_as_the_column_lands(judge: Judge, watermark: Watermark, literal: str) -> None:
    assert border_literal(watermark, micros(NOON)) == literal
    assert judge.rows(f"SELECT {literal} IS NOT NULL") == [(True,)]
