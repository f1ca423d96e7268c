"""Drafts of policies from names, types and samples."""

from __future__ import annotations

import pytest

from onefold.schema.policy_draft import draft_policy
from onefold.schema.types import parse_type

CODES = ["new", "paid", "sent"] * 10


@pytest.mark.parametrize(
    ("path", "type_", "samples", "action"),
    [
        ("id", "INT64", [], "clear"),
        ("customer_id", "INT64", [], "clear"),
        ("price", "NUMERIC", [], "clear"),
        ("created_at", "TIMESTAMP", [], "clear"),
        ("email", "STRING", [], "hash"),
        ("workEmail", "STRING", [], "hash"),
        ("E_MAIL", "STRING", [], "hash"),
        ("contact.mail", "STRING", [], "hash"),
        ("phone_number", "INT64", [], "hash"),
        ("first_name", "STRING", [], "mask"),
        ("lastName", "STRING", [], "mask"),
        ("name", "STRING", [], "mask"),
        ("product_name", "STRING", CODES, "clear"),
        ("birth_date", "DATE", [], "mask"),
        ("dob", "DATE", [], "mask"),
        ("address.street", "STRING", [], "mask"),
        ("lat", "FLOAT64", [], "mask"),
        ("password", "STRING", [], "drop"),
        ("card_number", "STRING", [], "drop"),
        ("note", "STRING", CODES, "mask"),
        ("status", "STRING", CODES, "clear"),
        ("status", "STRING", CODES[:5], "mask"),
        ("code", "STRING", [f"value {number}" for number in range(30)], "mask"),
        ("contact", "STRING", ["-", "ada@example.com"], "hash"),
        ("contact", "STRING", ["+49 30 123456", "030/123456", "-"], "hash"),
        ("reference", "STRING", ["4111 1111 1111 1111"], "mask"),
        ("tags", "ARRAY<STRING>", [], "mask"),
        ("scores", "ARRAY<INT64>", [], "clear"),
        ("payload", "JSON", [], "mask"),
        ("photo", "BYTES", [], "mask"),
        ("valid", "RANGE<DATE>", [], "clear"),
        ("żółw", "STRING", [], "mask"),
    ],
)
def test_draft(path: str, type_: str, samples: list[object], action: str) -> None:
    assert str(draft_policy(path, parse_type(type_), samples).action) == action


def test_reason_shows_no_value() -> None:
    for value in ("ada@example.com", "+49 30 123456", "4111111111111111"):
        assert value not in draft_policy("contact", parse_type("STRING"), [value]).reason
