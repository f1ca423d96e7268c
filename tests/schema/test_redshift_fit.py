"""Which values a column of Redshift holds that is used as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.events.shred.csv_values import csv_converter
from onefold.events.shred.values import DoesNotFit
from onefold.schema.redshift_fit import held_type

NUMBERS = ("SMALLINT", "INT", "BIGINT", "DECIMAL(18,2)", "DECIMAL(12,0)", "DECIMAL(38,19)", "DOUBLE PRECISION", "REAL")
OTHERS = ("VARCHAR(13)", "VARCHAR(256)", "CHAR(36)", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ")
EXTREMES: dict[str, list[Any]] = {
    "SMALLINT": [-32_768, 32_767], "INT": [-(2**31), 2**31 - 1], "BIGINT": [-(2**63), 2**63 - 1], "BOOLEAN": [True, False],
    "DATE": ["0001-01-01", "9999-12-31"], "DECIMAL(18,2)": [9_999_999_999_999.99, -0.01], "CHAR(36)": ["c" * 36, ""],
    "TIMESTAMP": ["2026-11-23T08:00:00Z"], "VARCHAR(13)": ["ä" * 6, ""], "VARCHAR(256)": ["x" * 256, "ä "],
    "DECIMAL(12,0)": [10**12 - 1], "DOUBLE PRECISION": [0.1, 1e300, 2**60], "REAL": [0.5],
    "DECIMAL(38,19)": [0.5], "TIMESTAMPTZ": ["2026-11-23T08:00:00+02:00"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("existing", "values", "held"),
    [
        ("DECIMAL(18,2)", "INT", "all"),
        ("DECIMAL(12,0)", "BIGINT", "some"),
        ("DECIMAL(15,2)", "DOUBLE PRECISION", "some"),
        ("SMALLINT", "BIGINT", "some"),
        ("INT", "DOUBLE PRECISION", "some"),
        ("DOUBLE PRECISION", "DECIMAL(36,2)", "some"),
        ("REAL", "DOUBLE PRECISION", "some"),
        ("CHAR(36)", "VARCHAR(4096)", "some"),
        ("CHAR(36)", "CHAR(36)", "all"),
        ("VARCHAR(13)", "VARCHAR(4096)", "some"),
        ("VARCHAR(255)", "DOUBLE PRECISION", "all"),
        ("VARCHAR(4)", "BOOLEAN", "some"),
        ("TIMESTAMP", "DATE", "all"),
        ("TIMESTAMPTZ", "TIMESTAMP", "all"),
        ("DATE", "TIMESTAMP", "none"),
        ("TIMESTAMP", "VARCHAR(4096)", "none"),
        ("INT", "VARCHAR(10)", "none"),
        ("BOOLEAN", "INT", "none"),
        ("SUPER", "VARCHAR(65535)", "none"),
    ],
)
def test_a_narrower_column_holds_some_values_and_one_of_another_kind_none(existing: str, values: str, held: str) -> None:
    assert held_type(existing, values) == held


@given(existing=st.sampled_from((*NUMBERS, *OTHERS)), values=st.sampled_from((*NUMBERS, *OTHERS)))
def test_a_column_that_holds_all_values_of_a_type_takes_its_extremes(existing: str, values: str) -> None:
    if held_type(existing, values) == "all":
        for value in EXTREMES[values]:
            csv_converter(existing)(value)  # raises DoesNotFit for what the column does not hold


@pytest.mark.parametrize(
    ("type_", "value", "field"),
    [
        ("REAL", 0.5, "0.5"),
        ("REAL", 0.1, "0.1"),
        ("REAL", 1.234567, None),
        ("REAL", 1e300, None),
        ("REAL", 2**24 + 1, None),
        ("TIMESTAMP", "2026-11-23", "2026-11-23 00:00:00"),
        ("TIMESTAMPTZ", "2026-11-23T08:00:00+02:00", "2026-11-23 06:00:00+00:00"),
        ("DECIMAL(5, 2)", 1.5, "1.50"),
        ("DECIMAL(5,2)", 1_000, None),
        ("INT", 1.5, None),
        ("CHAR(3)", "a ", None),
    ],
)
def test_a_value_is_written_exactly_or_does_not_fit(type_: str, value: Any, field: str | None) -> None:
    if field is None:
        with pytest.raises(DoesNotFit):
            csv_converter(type_)(value)
    else:
        assert csv_converter(type_)(value) == field
