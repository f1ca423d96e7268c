"""Values of JSON Schemas as texts."""

from __future__ import annotations

from onefold.schema.json_types import compact_json


def test_json_for_people_has_no_blanks_and_no_escapes() -> None:
    assert compact_json({"größe": [1, "ż"]}) == '{"größe":[1,"ż"]}'
