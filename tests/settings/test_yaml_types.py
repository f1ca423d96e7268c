"""Target types in onefold.yaml: by path, with a unit, and the policy of mixed numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.schema.types import parse_type
from onefold.settings.yaml_file import TablesFile, read_tables_file

UNITS = "unix_seconds, unix_millis or unix_micros"
TYPES = "tables: {customer: {types: {%s}}}"


def read(tmp_path: Path, text: str) -> tuple[TablesFile, list[str]]:
    """Return the content of a file, and its problems without the path."""
    path = tmp_path / "onefold.yaml"
    path.write_text(text)
    try:
        return read_tables_file(path), []
    except InvalidSettings as error:
        return TablesFile(), [problem.removeprefix(f"{path}:1: ") for problem in error.problems]


def test_target_types_have_paths_and_units_and_mixed_numbers_are_inherited(tmp_path: Path) -> None:
    file, problems = read(
        tmp_path,
        """
        mixed_numbers: FLOAT64
        tables:
          customer: {types: {Born: {type: TIMESTAMP, from: unix_millis}, Address.Zip: STRING}}
          order: {mixed_numbers: STRING}
        """,
    )
    assert problems == []
    customer, order = file.tables["customer"], file.tables["order"]
    assert customer.types == (("born", parse_type("TIMESTAMP")), ("address.zip", parse_type("STRING")))
    assert customer.units == (("born", "unix_millis"),)
    assert (customer.mixed_numbers, order.mixed_numbers) == ("FLOAT64", "STRING")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("mixed_numbers: NUMERIC", ["mixed_numbers: expected STRING or FLOAT64, got 'NUMERIC'"]),
        (
            TYPES % "a: {type: DATE, from: unix}",
            [f"tables.customer.types.a.from: expected {UNITS}, got 'unix'"],
        ),
        (TYPES % "b: {type: DATE}", [f"tables.customer.types.b.from: missing; expected {UNITS}"]),
        (
            TYPES % "c: {type: INT64, from: unix_micros}",
            [
                "tables.customer.types.c: unix_micros gives a time: expected one of TIMESTAMP, DATETIME, DATE, TIME, "
                "got INT64"
            ],
        ),
        (TYPES % "x..y: DATE", ["tables.customer.types.x..y: a path is written as address.zip"]),
        (
            TYPES % "s: 'STRUCT<a INT64>', S.a.b: DATE",
            ["tables.customer.types.S.a.b: s has a type of its own; write the field within it, or leave one out"],
        ),
    ],
)
def test_a_problem_is_reported_with_its_key(tmp_path: Path, text: str, problems: list[str]) -> None:
    assert read(tmp_path, text)[1] == problems
