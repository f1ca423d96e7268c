"""Keys of the API: what they allow, and a file of keys that is not valid."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from onefold.core.errors import InvalidInput
from onefold.events.registry.api_keys import Access, ApiKey, create_key, find_key, hash_key, parse_keys, stored_key


def test_a_key_is_a_random_uuid_since_tools_for_iglu_take_no_other_text() -> None:
    made = {create_key() for _ in range(1_000)}
    assert len(made) == 1_000
    assert {uuid.UUID(key).version for key in made} == {4}


def test_a_key_is_found_by_its_hash_wherever_it_is_in_the_file() -> None:
    keys = [create_key() for _ in range(3)]
    stored = parse_keys(json.dumps({"keys": [stored_key(key, key, ["a"], Access.READ) for key in keys]}), "f")
    assert [find_key(stored, key) for key in keys] == list(stored)
    assert find_key(stored, keys[0].upper()) == stored[0]
    for wrong in ("", "x", keys[0][:-1], hash_key(keys[0]), "größe", "\ud83d"[:0]):
        assert find_key(stored, wrong) is None


@pytest.mark.parametrize(
    ("prefix", "vendor", "allowed"),
    [
        ("com.acme", "com.acme", True),
        ("com.acme", "com.acme.shop", True),
        ("com.acme", "com.acmeshop", False),
        ("com.acme", "com", False),
        ("com.acme", "org.com.acme", False),
        ("com.acme", "COM.acme", False),
        ("*", "com.acme", True),
    ],
)
def test_a_prefix_is_of_whole_parts(prefix: str, vendor: str, allowed: bool) -> None:
    reader, writer = (ApiKey("n", "0" * 64, (prefix,), access) for access in Access)
    assert (reader.reads(vendor), reader.writes(vendor)) == (allowed, False)
    assert (writer.reads(vendor), writer.writes(vendor)) == (allowed, allowed)


GOOD: dict[str, Any] = {"name": "a", "sha256": "0" * 64, "vendors": ["com.acme"], "access": "read"}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{**GOOD, "sha256": "secret"}], ["key 1 sha256"]),
        ([{**GOOD, "sha256": "0" * 63}, {**GOOD, "name": "b", "access": "admin"}], ["key 1 sha256", "key 2 access"]),
        ([{**GOOD, "vendors": []}, {**GOOD, "name": 7}], ["key 1 vendors", "key 2 name"]),
        ([{**GOOD, "vendors": ["com.*", "../x"]}], ["key 1 vendors", "key 1 vendors"]),
        ([GOOD, GOOD], ["key 2: the name 'a' is taken"]),
        ([{**GOOD, "more": 1}, 7, None], ["key 1: expected the fields", "key 2: expected", "key 3: expected"]),
    ],
)
def test_every_problem_of_a_file_is_told_and_no_hash(rows: list[Any], told: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_keys(json.dumps({"keys": rows}), "keys.json")
    assert len(caught.value.problems) == len(told)
    for problem, expected in zip(caught.value.problems, told, strict=True):
        assert problem.startswith(f"keys.json: {expected}")
        assert "secret" not in problem
        assert "00000000" not in problem


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"keys": {}}', "[" * 100_000])
def test_a_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"keys\.json"):
        parse_keys(text, "keys.json")
