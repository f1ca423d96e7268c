"""Values of keys: read from the warehouse as text that JSON can hold, and written as the rows of a capture have them."""

from __future__ import annotations

import pytest

from onefold.landing.key_values import key_text, landing_value
from onefold.schema.types import parse_type


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("INT64", "-7", -7),
        ("INT64", "9223372036854775807", 9223372036854775807),
        ("STRING", "7", "7"),
        ("STRING", "1.50", "1.50"),
        ("BYTES", "YQ==", "YQ=="),
        ("NUMERIC", "1.50", "1.5"),
        ("NUMERIC", "100", "100"),
        ("NUMERIC", "100.00", "100"),
        ("BIGNUMERIC", "0.0010", "0.001"),
        ("DATE", "2026-01-31", "2026-01-31"),
        ("TIMESTAMP", "2026-01-31 10:00:00+00", "2026-01-31 10:00:00+00:00"),
        ("INT64", None, None),
        ("TIMESTAMP", None, None),
    ],
)
def test_a_key_is_written_as_its_row_landed(type_: str, text: str | None, value: object) -> None:
    written = landing_value(parse_type(type_), text)
    assert (written, type(written)) == (value, type(value))


def test_bytes_are_base64_and_all_else_is_text_in_the_type_of_the_target() -> None:
    text, number, data = map(parse_type, ("STRING", "INT64", "BYTES"))
    assert key_text("v.id", data, data) == "TO_BASE64(v.id)"
    assert key_text("v.id", text, text) == "v.id"
    assert key_text("v.id", number, number) == key_text("v.id", number, text) == "CAST(v.id AS STRING)"
