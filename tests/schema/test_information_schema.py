"""Versions from a file of rows, as the tools of BigQuery print them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from onefold.core.errors import InvalidColumns
from onefold.schema.information_schema import read_columns
from onefold.schema.versions import Version


def row(
    table: Any = "customer_v_abc", column: Any = "id", position: Any = 1, type_: Any = "INT64", **more: Any
) -> dict[str, Any]:
    return {"table_name": table, "column_name": column, "ordinal_position": position, "data_type": type_, **more}


def shown(versions: tuple[Version, ...]) -> list[str]:
    """`abc: id INT64, name STRING`."""
    return [
        f"{version.id}: " + ", ".join(f"{column.name} {column.type}" for column in version.columns) for version in versions
    ]


ROWS = [row(), row(column="name", position=2, type_="STRING(20)"), row("customer_v_def", type_="STRING")]
VERSIONS = ["abc: id INT64, name STRING", "def: id STRING"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "\n".join(json.dumps(one) for one in ROWS),
        "\r\n".join(json.dumps(one) for one in ROWS) + "\r\n\r\n",
        "\ufeff" + json.dumps(ROWS),
        "\ufeff" + "\n".join(json.dumps(one) for one in ROWS),
        json.dumps([{**one, "ordinal_position": str(one["ordinal_position"]), "is_hidden": "NO"} for one in ROWS]),
        json.dumps([ROWS[1], ROWS[0], ROWS[2]]),
    ],
    ids=[
        "array",
        "indented",
        "lines",
        "lines of Windows",
        "array with BOM",
        "lines with BOM",
        "as bq prints it",
        "unordered",
    ],
)
def test_an_array_and_lines_give_the_same_versions(text: str) -> None:
    assert shown(read_columns(text, "customer")) == VERSIONS


def test_one_line_is_one_row() -> None:
    assert shown(read_columns(json.dumps(row()), "customer")) == ["abc: id INT64"]


@pytest.mark.parametrize("text", ["", "\n \n", "[]"])
def test_a_file_without_rows_has_no_versions(text: str) -> None:
    assert read_columns(text, "customer") == ()


@pytest.mark.parametrize(
    "other",
    [
        row("customer_vip_v_abc"),
        row("customer_v_backup_old"),
        row("customer"),
        row("customer_unified"),
        row(column="_PARTITIONTIME", position=None, is_hidden="YES"),
        row(column="hidden", position=9, is_hidden="YES"),
        row("order_v_abc", type_="no type at all"),
        row("customer_v_abc1", table_type="VIEW"),
        row("customer_v_abc2", type_="no type at all", table_type="SNAPSHOT"),
    ],
)
def test_rows_of_other_tables_and_hidden_columns_are_skipped(other: dict[str, Any]) -> None:
    assert shown(read_columns(json.dumps([*ROWS, other]), "customer")) == VERSIONS


def test_versions_are_in_the_order_of_the_file() -> None:
    text = json.dumps([row("customer_v_f"), row("customer_v_a"), row("customer_v_f", "b", 2)])
    assert [version.id for version in read_columns(text, "customer")] == ["f", "a"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_line_end_of_unicode_that_json_allows_is_part_of_a_name(separator: str) -> None:
    text = json.dumps(row(column=f"a{separator}b"), ensure_ascii=False) + "\n" + json.dumps(row("customer_v_def"))
    assert read_columns(text, "customer")[0].columns[0].name == f"a{separator}b"


@pytest.mark.parametrize(
    "time",
    [
        "2024-03-01 12:30:00",
        "2024-03-01 12:30:00 UTC",
        "2024-03-01 12:30:00.000000 UTC",
        "2024-03-01T12:30:00Z",
        "2024-03-01T13:30:00+01:00",
    ],
)
def test_creation_times_are_read_as_the_tools_print_them(time: str) -> None:
    (version,) = read_columns(json.dumps([row(creation_time=time)]), "customer")
    assert version.created == datetime(2024, 3, 1, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[{", "the file is not a JSON array"),
        ("[" * 100_000, "the file is nested too deep"),
        ('{"a": 1}\n{', "line 2 is not JSON"),
        ('{"a": 1}\n' + "[" * 100_000, "line 2 is not JSON"),
        ("hello", "line 1 is not JSON"),
        (",".join(["header"] * 2_000), "line 1 is not JSON"),
        (
            "\n table_name,größe\nshop,id\n",
            "expected rows of INFORMATION_SCHEMA.COLUMNS as a JSON array or JSON lines, got CSV with the columns "
            "table_name, größe: export the rows as JSON (`bq query --format=json`)",
        ),
        ("5", "row 1 is not a JSON object"),
        ("[[]]", "row 1 is not a JSON object"),
        ("[{}]", "row 1 has no table_name, column_name, ordinal_position, data_type: give the columns table_name, "),
        ('[{"größe": 1, "data_type": 2}]', "row 1 has no table_name, column_name, ordinal_position, but größe, data_type: "),
        (json.dumps([row(type_="INTEGR")]), "row 1, column id of customer_v_abc: type 'INTEGR'"),
        (json.dumps([row(type_=None)]), "row 1, column id of customer_v_abc: data_type is null: give a type as text"),
        (json.dumps([row(7)]), "row 1: table_name is 7: give the name of a table"),
        (
            json.dumps([row(type_=["ż" * 99])]),
            f'row 1, column id of customer_v_abc: data_type is ["{"ż" * 78}…: give a type',
        ),
        (json.dumps([row(None)]), "row 1: table_name is null: give the name of a table"),
        (json.dumps([row(column="")]), 'row 1 of customer_v_abc: column_name is "": give the name of a column'),
        (json.dumps([row(column=None)]), "row 1 of customer_v_abc: column_name is null"),
        (json.dumps([row(column=5)]), "row 1 of customer_v_abc: column_name is 5"),
        *(
            (json.dumps([row(position=position)]), f"row 1, column id of customer_v_abc: ordinal_position is {shown}: ")
            for position, shown in [
                ("first", '"first"'),
                (1.5, "1.5"),
                (True, "true"),
                ([1], "[1]"),
                (float("inf"), "Infinity"),
                (float("nan"), "NaN"),
                ("1_0", '"1_0"'),
            ]
        ),
        *(
            (
                json.dumps([row(creation_time=time)]),
                f"row 1, column id of customer_v_abc: creation_time is {json.dumps(time)}: "
                "write it as 2024-03-01 12:30:00 UTC or 2024-03-01T12:30:00Z",
            )
            for time in ("yesterday", "", 20240301, True)
        ),
        (
            json.dumps([row(creation_time="2024-03-01"), row(column="b", position=2, creation_time="2024-03-02")]),
            "version abc has more than one creation_time",
        ),
        (json.dumps([row(), row(column="b")]), "version abc has two columns at ordinal_position 1"),
        (json.dumps([row(), row(column="ID", position=2)]), "version abc has two columns named id"),
        (
            json.dumps([row(creation_time="2024-03-01"), row("customer_v_def")]),
            "some rows have a creation_time and some have none: give it for all or for none",
        ),
    ],
)
def test_a_problem_is_reported_with_its_row_and_column(text: str, problem: str) -> None:
    with pytest.raises(InvalidColumns) as refused:
        read_columns(text, "customer")
    assert refused.value.problems[0].startswith(problem)


def test_each_problem_names_the_file() -> None:
    with pytest.raises(InvalidColumns) as refused:
        read_columns("[5, {}]", "customer", file="rows.json")
    assert [problem.partition(" row")[0] for problem in refused.value.problems] == ["rows.json:", "rows.json:"]


def test_up_to_twenty_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidColumns) as refused:
        read_columns(json.dumps([row(type_="INTEGR"), {}, 5] + [{}] * 50), "customer")
    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1] == "and 33 more"
