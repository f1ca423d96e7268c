"""The embedded BigQuery gives the values that Google's evaluator gives for the same SQL over the same rows."""

from __future__ import annotations

import pytest
from emulated_values import VALUES, BothEngines
from emulator import EmulatedDataset
from judge import Judge

from onefold.conversions import conversion_faults, convert
from onefold.digest import digest_sql, text_sql
from onefold.types import STRING, Scalar, Type, parse_type
from onefold.versions import Column

SCALARS = (
    "BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64", "DATE", "DATETIME", "TIMESTAMP", "TIME", "BYTES", "JSON", "STRING",
)  # fmt: skip


@pytest.fixture
def engines(judge: Judge, dataset: EmulatedDataset) -> BothEngines:
    return BothEngines(judge, dataset)


@pytest.mark.parametrize("type_", VALUES)
def test_a_value_is_the_same_text(engines: BothEngines, type_: str) -> None:
    expression = convert("t.v", parse_type(type_), STRING)
    assert engines.emulated(type_, expression) == engines.judged(type_, expression)


@pytest.mark.parametrize("type_", VALUES)
def test_a_row_has_the_same_digest(engines: BothEngines, type_: str) -> None:
    expression = digest_sql("t", [Column("v", parse_type(type_)), Column("n", Scalar("INT64"))])
    assert engines.emulated(type_, expression) == engines.judged(type_, expression)


@pytest.mark.parametrize("type_", SCALARS)
def test_a_value_converted_to_any_other_type_is_the_same(engines: BothEngines, type_: str) -> None:
    source = parse_type(type_)
    targets = [Scalar(name) for name in SCALARS if name != type_ and not conversion_faults(source, Scalar(name))]
    differing = {}
    for target in targets:
        expression = _as_text(convert("t.v", source, target), target)
        emulated, judged = engines.emulated(type_, expression), engines.judged(type_, expression)
        values = zip(engines.values(type_), emulated, judged, strict=True)
        if wrong := [(value, *one, *other) for (value, _), one, other in values if one != other]:
            differing[str(target)] = wrong
    assert differing == {}


def _as_text(expression: str, target: Type) -> str:
    return text_sql(f"({expression})", target)


@pytest.mark.parametrize(
    "expression",
    [
        "TO_JSON_STRING(TO_JSON(t.v))",
        "TO_JSON_STRING(t.v)",
    ],
)
@pytest.mark.parametrize("type_", VALUES)
def test_json_without_the_projects_options_is_the_same(engines: BothEngines, type_: str, expression: str) -> None:
    """As somebody else would write it."""
    assert engines.emulated(type_, expression) == engines.judged(type_, expression)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_a_timestamp_is_the_same_text_in_any_zone(engines: BothEngines, zone: str) -> None:
    # The first two are the first and the last time of all, of which other zones have no local time.
    expression = f"IF(t.n < 2, NULL, STRING(t.v, '{zone}'))"
    assert engines.emulated("TIMESTAMP", expression) == engines.judged("TIMESTAMP", expression)


@pytest.mark.parametrize("expression", ["CAST('x' AS BIGNUMERIC)", "BIGNUMERIC '1e40'", "CAST(b'\\xff' AS STRING)"])
def test_what_does_not_fit_is_an_error_and_null_if_it_is_to_be_safe(dataset: EmulatedDataset, expression: str) -> None:
    with pytest.raises(Exception, match="expected a BIGNUMERIC|utf-8|NOT IMPLEMENTED"):
        dataset.run(f"SELECT {expression}")
