"""The current view over a base, evaluated: the same rows as the whole log, whatever was merged so far and is read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.changelogs import METADATA_TYPE, change, oracle, position_of
from support.oracle import digest_of, is_deletion, latest, source_row
from support.strategies import bytes_literal
from support.typed_logs import EVALUATED, columns_of, logs
from support.typed_values import literal
from support.zetasql_judge import Judge, literals

from onefold.changelog.metadata import DELETIONS, LANDED_AT, METADATA
from onefold.changelog.packed_position import packed
from onefold.core.names import TableId
from onefold.merge.base_table import BaseTable, base_of
from onefold.merge.change_query import window_sql
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, Type, parse_type, render_type
from onefold.views.current_view import current_query, current_query_above_floor, current_query_over_base

GOLDEN = Path(__file__).parents[1] / "golden" / "base" / "current.sql"
TABLE = TableId("my-project", "shop", "customer")
SINCE = datetime(2024, 5, 1, tzinfo=UTC)
LANDED = {"id": "INT64", "name": "STRING", METADATA: METADATA_TYPE, LANDED_AT: "TIMESTAMP"}
COLUMNS = [Column(name, parse_type(type_)) for name, type_ in LANDED.items()]
BASE = base_of(TABLE, COLUMNS, ["id"])
PACKED_BASE = replace(BASE, packed=True)


def query(base: BaseTable = BASE) -> str:
    return current_query_over_base(base, base.stored, TABLE, COLUMNS, window_sql("r.", SINCE))


changes = st.builds(
    # Of two contents at one position a view may show either; the identifier gives them two positions.
    lambda kind, sequence, key, name: change(kind, sequence, uuid=name or "", id=key, name=name),
    st.sampled_from(["INSERT", "UPDATE-INSERT", "DELETE"]),
    st.sampled_from([None, "9", "A", "10"]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, "x", "y"]),
)


def test_the_text_equals_its_golden_file() -> None:
    assert query() + "\n" == GOLDEN.read_text()


def test_the_view_has_the_columns_of_the_source(judge: Judge) -> None:
    assert judge.columns(query(), tables(BASE)) == [("id", "INT64"), ("name", "STRING")]
    assert judge.columns(current_query(TABLE, COLUMNS, ["id"]), tables(BASE)) == [("id", "INT64"), ("name", "STRING")]


@settings(max_examples=25, deadline=None)
@given(st.lists(changes, max_size=8), st.data())
def test_what_was_merged_and_what_was_not_are_one_table(
    judge: Judge, log: list[dict[str, Any]], data: st.DataObject
) -> None:
    """The base holds some of the changes. The others are pending, and so are some that it holds already."""
    merged = data.draw(st.lists(st.sampled_from(log), unique_by=id)) if log else []
    again = data.draw(st.lists(st.sampled_from(log))) if log else []
    pending = [row for row in log if row not in merged] + again
    # Of an earlier release, or of this one.
    base = data.draw(st.sampled_from([BASE, PACKED_BASE]))
    assert view(judge, merged, pending, base=base) == by_key(oracle(log, ["id"]))


@pytest.mark.long
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_columns_of_every_type_are_one_table_too(judge: Judge, data: st.DataObject) -> None:
    typed = TypedView(judge, data.draw(columns_of(EVALUATED, most=6)))
    log = typed.apart(data.draw(logs(typed.columns, keys=(None, 1, 2))))
    merged = data.draw(st.lists(st.sampled_from(log), unique_by=id))
    again = data.draw(st.lists(st.sampled_from(log), max_size=2))
    assert typed.view(merged, [row for row in log if row not in merged] + again) == typed.expected(log)


class TypedView:
    """The current view over a base, with an id and these columns."""

    def __init__(self, judge: Judge, columns: dict[str, Type]) -> None:
        self.columns = columns
        self._judge = judge
        self._source = {"id": Scalar("INT64"), **columns}
        self._types = {name: render_type(type_) for name, type_ in self._source.items()}
        own = {METADATA: parse_type(METADATA_TYPE), LANDED_AT: Scalar("TIMESTAMP")}
        self._landed = [Column(name, type_) for name, type_ in {**self._source, **own}.items()]
        self._base = base_of(TABLE, self._landed, ["id"])

    def apart(self, log: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Of two contents at one position a view may show either; the identifier gives them two positions."""
        for row in log:
            row[METADATA]["uuid"] = digest_of(source_row(row), self._types)
        return log

    def view(self, merged: list[dict[str, Any]], pending: list[dict[str, Any]]) -> list[str]:
        known = tables(self._base)
        known[str(TABLE)] = [(column.name, render_type(column.type)) for column in self._landed]
        known[str(self._base.id)] = [(column.name, render_type(column.type)) for column in self._base.stored]
        metadata = parse_type(METADATA_TYPE)
        cells = {
            str(TABLE): [[*self._cells(row), literal(row[METADATA], metadata), "NULL"] for row in pending],
            str(self._base.id): [self._stored(row) for row in latest(merged, ["id"], self._types)],
        }
        content = {table: literals(known[table], rows) for table, rows in cells.items() if rows}
        query = current_query_over_base(self._base, self._base.stored, TABLE, self._landed, window_sql("r.", SINCE))
        return sorted(map(repr, self._judge.rows(query, known, content)))

    def expected(self, log: list[dict[str, Any]]) -> list[str]:
        shown = [self._cells(row) for row in oracle(log, ["id"], self._types)]
        return sorted(map(repr, self._judge.rows(literals(list(self._types.items()), shown)))) if shown else []

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        return [literal(row[name], type_) for name, type_ in self._source.items()]

    def _stored(self, row: Mapping[str, Any]) -> list[str]:
        kept = {**dict.fromkeys(self._source), "id": row["id"]} if is_deletion(row) else row
        return [*self._cells(kept), _cell(position_of(row)), str(is_deletion(row))]


def test_what_landed_before_the_window_is_not_read_and_what_says_nothing_is(judge: Judge) -> None:
    old, unknown = change("INSERT", "1", id=1, name="old"), change("INSERT", "1", id=2, name="unknown")
    old[LANDED_AT], unknown[LANDED_AT] = "TIMESTAMP '2024-04-30 23:59:59+00'", "NULL"
    assert view(judge, [], [old, unknown]) == [(2, "unknown")]


def test_what_is_at_or_below_the_floor_comes_only_to_keys_that_are_known(judge: Judge) -> None:
    below, known, above = (change("INSERT", sequence, id=key, name="x") for key, sequence in ((1, "5"), (2, "5"), (3, "6")))
    base = [change("INSERT", "1", id=2, name="a")]
    assert view(judge, base, [below, known, above], floor=position_of(below)) == [(2, "x"), (3, "x")]
    assert view(judge, [], [above], floor=position_of(above)) == []


@pytest.mark.parametrize("key", ["INT64", "STRING"])
def test_a_view_of_the_history_alone_shows_no_key_below_the_floor_that_no_base_has(judge: Judge, key: str) -> None:
    """The key may have another type than in the base, which is not replaced yet."""
    wanted = BaseTable(TABLE, (Column("id", parse_type(key)), *BASE.columns[1:]), ("id",))
    columns = [*wanted.columns, *COLUMNS[2:]]
    query = current_query_above_floor(wanted, BASE.stored, TABLE, columns, "UTC", BASE.id)
    below, known, above, gone = (
        change(kind, sequence, id=number, name="x")
        for number, (kind, sequence) in enumerate((("INSERT", "5"), ("INSERT", "5"), ("INSERT", "6"), ("DELETE", "7")), 1)
    )
    entry = ["'purge'", "CURRENT_TIMESTAMP()", *["NULL"] * 3, f"'{position_of(below)}'", *["NULL"] * (len(LOG_COLUMNS) - 6)]
    landed = [(column.name, str(column.type)) for column in columns]
    quoted = "'{}'" if key == "STRING" else "{}"
    cells = [[quoted.format(row["id"]), "'x'", _metadata(row), "NULL"] for row in (below, known, above, gone)]
    content = {
        str(BASE.id): literals(tables(BASE)[str(BASE.id)], [["2", "'a'", "'1'", "FALSE"]]),
        str(BASE.log): literals(tables(BASE)[str(BASE.log)], [entry]),
        str(TABLE): literals(landed, cells),
    }
    found = sorted(judge.rows(query, {**tables(BASE), str(TABLE): landed}, content))
    assert found == ([("2", "x"), ("3", "x")] if key == "STRING" else [(2, "x"), (3, "x")])


def test_a_row_of_the_base_without_a_position_is_older_than_any(judge: Judge) -> None:
    content = {str(BASE.id): literals(tables(BASE)[str(BASE.id)], [["1", "'base'", "NULL", "FALSE"]])}
    assert rows(judge, content, [change("INSERT", None, timestamp=None, id=1, name="new")]) == [(1, "new")]
    assert rows(judge, content, []) == [(1, "base")]


def test_a_base_that_has_yet_to_follow_the_schema_is_read_in_its_types(judge: Judge) -> None:
    """Readers do not wait for the next merge: a new column is NULL in the base, another type is converted."""
    wanted = BaseTable(
        TABLE, (Column("id", Scalar("STRING")), Column("name", Scalar("STRING")), Column("new", Scalar("DATE"))), ("id",)
    )
    columns = [*wanted.columns, *COLUMNS[2:]]
    query = current_query_over_base(wanted, BASE.stored, TABLE, columns, None)
    content = {
        str(BASE.id): literals(tables(BASE)[str(BASE.id)], [["1", "'a'", "'1'", "FALSE"], ["2", "'b'", "'1'", "FALSE"]])
    }
    landed = [(column.name, str(column.type)) for column in columns]
    metadata = _metadata(change("DELETE", "5"))
    content[str(TABLE)] = literals(landed, [["'2'", "'b'", "NULL", metadata, "NULL"]])
    assert judge.rows(query, {**tables(BASE), str(TABLE): landed}, content) == [("1", "a", None)]


def test_a_base_of_another_order_and_spelling_is_read_in_those_of_the_unified_view(judge: Judge) -> None:
    """A union goes by position: fields of one type would change places unnoticed."""
    stored = [Column("S", parse_type("STRUCT<b INT64, A INT64>")), Column("id", Scalar("INT64"))]
    base = BaseTable(TABLE, tuple(stored), ("id",))
    columns = [Column("ID", Scalar("INT64")), Column("s", parse_type("STRUCT<a INT64, b INT64>")), *COLUMNS[2:]]
    query = current_query_over_base(base, base.stored, TABLE, columns, None)
    known = {**tables(base), str(TABLE): [(column.name, str(column.type)) for column in columns]}
    content = {
        str(base.id): literals(known[str(base.id)], [["STRUCT(2 AS b, 1 AS A)", "7", "'1'", "FALSE"]]),
        str(TABLE): literals(known[str(TABLE)], [["8", "STRUCT(1 AS a, 2 AS b)", _metadata(change("INSERT", "5")), "NULL"]]),
    }
    assert judge.columns(query, known) == [("ID", "INT64"), ("s", "STRUCT<a INT64, b INT64>")]
    assert sorted(judge.rows(query, known, content)) == [(7, (1, 2)), (8, (1, 2))]


def view(
    judge: Judge,
    merged: list[dict[str, Any]],
    pending: list[dict[str, Any]],
    floor: str | None = None,
    base: BaseTable = BASE,
) -> list[Any]:
    last: dict[Any, dict[str, Any]] = {}
    for row in sorted(merged, key=position_of):
        last[row["id"]] = row
    cells = [[*_base_row(row, base)] for row in last.values()]
    content = {str(base.id): literals(tables(base)[str(base.id)], cells)} if cells else {}
    if floor:
        entry = ["'purge'", "CURRENT_TIMESTAMP()", *["NULL"] * 3, f"'{floor}'", *["NULL"] * (len(LOG_COLUMNS) - 6)]
        content[str(BASE.log)] = literals(tables(BASE)[str(BASE.log)], [entry])
    return rows(judge, content, pending, base)


def rows(judge: Judge, content: dict[str, str], pending: list[dict[str, Any]], base: BaseTable = BASE) -> list[Any]:
    cells = [
        [_cell(row["id"]), _cell(row["name"]), _metadata(row), row.get(LANDED_AT, "CURRENT_TIMESTAMP()")] for row in pending
    ]
    landed = {str(TABLE): literals(list(LANDED.items()), cells)} if cells else {}
    found = judge.rows(query(base), tables(base), {**content, **landed})
    return sorted(found, key=lambda row: (row[0] is not None, row))


def by_key(found: list[dict[str, Any]]) -> list[Any]:
    return sorted(((row["id"], row["name"]) for row in found), key=lambda row: (row[0] is not None, row))


def tables(base: BaseTable) -> dict[str, list[tuple[str, str]]]:
    stored = {base.id: base.stored, base.log: LOG_COLUMNS, TABLE: COLUMNS}
    return {str(id_): [(column.name, str(column.type)) for column in columns] for id_, columns in stored.items()}


def _base_row(row: dict[str, Any], base: BaseTable) -> list[str]:
    deleted, position = row[METADATA]["change_type"] in DELETIONS, position_of(row)
    stored = bytes_literal(packed(position)) if base.packed else _cell(position)
    return [_cell(row["id"]), "NULL" if deleted else _cell(row["name"]), stored, str(deleted)]


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _metadata(row: dict[str, Any]) -> str:
    metadata = row[METADATA]
    return (
        f"STRUCT('{metadata['uuid']}' AS uuid, {_cell(metadata['source_timestamp'])} AS source_timestamp, "
        f"{_cell(metadata['change_sequence_number'])} AS change_sequence_number, "
        f"'{metadata['change_type']}' AS change_type, CAST([] AS ARRAY<STRING>) AS sort_keys)"
    )
