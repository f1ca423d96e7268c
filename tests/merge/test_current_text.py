"""What the text of a current view remembers, also where somebody edited it."""

from __future__ import annotations

import pytest

from onefold.merge.current_text import remembered_keys


@pytest.mark.parametrize(
    ("noted", "keys"),
    [('["id"]', ("id",)), ('["source_name", "größe"]', ("source_name", "größe")), ("[]", ())],
)
def test_a_key_is_remembered_with_its_columns_in_their_order(noted: str, keys: tuple[str, ...]) -> None:
    assert remembered_keys(f"-- keys: {noted}\nSELECT 1") == keys


@pytest.mark.parametrize("edited", ['"id"', '{"id": 1}', "[1]", '["id", null]', "id", "{", "1", "null"])
def test_a_key_that_somebody_edited_is_not_remembered(edited: str) -> None:
    assert remembered_keys(f"-- keys: {edited}\nSELECT 1") == ()
