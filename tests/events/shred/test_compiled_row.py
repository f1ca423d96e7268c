"""A compiled row has for each value what the conversion of its column makes of it, or refuses it as that does."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onefold.events.shred.compiled_row import ABSENT, RowColumn, compile_row, usual_value
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.values import DoesNotFit

FORMS = {
    RowFormat("redshift", "csv"): (
        "SMALLINT",
        "INT",
        "BIGINT",
        "DOUBLE PRECISION",
        "REAL",
        "BOOLEAN",
        "VARCHAR(5)",
        "CHAR(3)",
    ),
    RowFormat("redshift", "parquet"): ("SMALLINT", "BIGINT", "DOUBLE PRECISION", "BOOLEAN", "VARCHAR(5)", "DECIMAL(5,2)"),
    RowFormat("bigquery", "parquet"): ("STRING", "INT64", "FLOAT64", "BOOL", "NUMERIC", "DATE"),
}
COLUMNS = [(form, type_) for form, types in FORMS.items() for type_ in types]
EDGES = st.sampled_from(
    [2**15, -(2**15) - 1, 2**31, 2**53 + 1, 2**63, -(2**63), 1.0, -0.0, 1e300, "12345", "é1234", "123456"]
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), EDGES, st.text(max_size=7),
    st.text("\\N\"\t\né", max_size=3), st.decimals(allow_nan=False, allow_infinity=False, places=3), st.just([1, "a"]),
    st.just({"a": None}),
)  # fmt: skip


def result_of(work: Callable[[], Any]) -> Any:
    """The value with its type, since 1, 1.0 and True are equal, or the word for a refusal."""
    try:
        found = work()
    except DoesNotFit:
        return "refused"
    return type(found), str(found) if isinstance(found, Decimal) else repr(found)


@given(column=st.sampled_from(COLUMNS), value=VALUES, plain=st.booleans())
def test_a_value_becomes_what_its_conversion_makes_of_it(column: tuple[RowFormat, str], value: Any, plain: bool) -> None:
    form, type_ = column
    convert = form.converter(type_, plain)
    row = compile_row((), [RowColumn(0, "key", convert, usual_value(type_, form, plain=plain))], form.null)
    expected = result_of(lambda: form.null if value is None else convert(value))
    assert result_of(lambda: row({"key": value})[0]) == expected


def test_values_are_in_objects_and_what_is_none_has_no_values() -> None:
    columns = [RowColumn(0, "a", str), RowColumn(2, 'c"\n', str), RowColumn(0, ABSENT, str)]
    row = compile_row([(0, "b"), (1, "b")], columns, None)
    assert row({"a": 1, "b": {"b": {'c"\n': 2}}}) == ["1", "2", None]
    assert row({"b": {"b": 3}}) == row({"b": 4}) == row(["a"]) == row(None) == [None, None, None]
