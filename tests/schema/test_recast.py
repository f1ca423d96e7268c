"""A stored value is converted again only where that gives what one conversion of the landed value gives."""

from __future__ import annotations

import pytest

from onefold.schema.recast import keeps_values
from onefold.schema.types import parse_type

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("landed", "stored", "new", "kept"),
    [
        ("BOOL", "BOOL", "STRING", True),
        ("BOOL", "STRING", "STRING", True),
        ("BOOL", "INT64", "NUMERIC", True),
        # As text, TRUE is `true`, and `1` once it was a number.
        ("BOOL", "INT64", "STRING", False),
        ("INT64", "NUMERIC", "STRING", True),
        ("INT64", "STRING", "NUMERIC", False),
        ("STRING", "INT64", "NUMERIC", False),
        ("DATE", "DATETIME", "TIMESTAMP", True),
        ("DATE", "TIMESTAMP", "STRING", False),
        ("ARRAY<INT64>", "ARRAY<NUMERIC>", "ARRAY<STRING>", True),
        ("ARRAY<BOOL>", "ARRAY<INT64>", "ARRAY<STRING>", False),
        ("INT64", "ARRAY<NUMERIC>", "ARRAY<STRING>", False),
        ("STRUCT<a INT64>", "STRUCT<a NUMERIC>", "STRUCT<a STRING>", True),
        ("STRUCT<a BOOL, b INT64>", "STRUCT<a INT64, b INT64>", "STRUCT<a STRING, b INT64>", False),
        # A field that is new everywhere, and one that some version did not land, whose NULL may be converted otherwise.
        ("STRUCT<a INT64>", "STRUCT<a NUMERIC>", "STRUCT<a NUMERIC, b STRING>", True),
        ("STRUCT<a INT64>", "STRUCT<a INT64, b INT64>", "STRUCT<a INT64, b INT64, c DATE>", True),
        ("STRUCT<a INT64>", "STRUCT<a INT64, b INT64>", "STRUCT<a INT64, b NUMERIC>", False),
    ],
)
def test_values_are_kept_where_two_conversions_give_what_one_gives(landed: str, stored: str, new: str, kept: bool) -> None:
    assert keeps_values(parse_type(landed), parse_type(stored), parse_type(new)) == kept


@pytest.mark.parametrize(
    ("types", "kept"),
    [
        (("DATE", "DATETIME", "TIMESTAMP"), False),
        (("ARRAY<DATE>", "ARRAY<DATETIME>", "ARRAY<TIMESTAMP>"), False),
        (("STRUCT<t DATE>", "STRUCT<t DATETIME>", "STRUCT<t TIMESTAMP>"), False),
        (("INT64", "NUMERIC", "BIGNUMERIC"), True),
    ],
)
def test_in_a_named_zone_no_time_is_converted_twice(types: tuple[str, str, str], kept: bool) -> None:
    landed, stored, new = map(parse_type, types)
    assert keeps_values(landed, stored, new, BERLIN) == kept
