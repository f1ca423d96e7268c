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


@pytest.mark.parametrize(
    ("path", "action", "reason"),
    [
        ("api_key", "drop", "secret"),
        ("passport_no", "drop", "card, account or document number"),
        ("emailCount", "hash", "e-mail"),
        ("fax", "hash", "phone number"),
        ("user_name", "mask", "name of a person"),
        ("nickname", "mask", "name of a person"),
        ("born", "mask", "date of birth"),
        ("home.zip", "mask", "place"),
        ("user_agent", "hash", "trace of a device"),
        ("subject", "mask", "free text"),
    ],
)
def test_a_name_decides_before_type_and_values(path: str, action: str, reason: str) -> None:
    found = draft_policy(path, parse_type("STRING"), CODES)
    assert (str(found.action), found.reason) == (action, f"{reason} by its name")


FEW = ["a" * 32, *(f"{number:02}" for number in range(19))]
"""Twenty rows with twenty different values, the longest of 32 characters: just few and short enough to be codes."""
PHONES = ["030/123456", "+49 30 123456"]


@pytest.mark.parametrize(
    ("type_", "samples", "action", "reason"),
    [
        ("STRING", FEW, "clear", "text with few different values"),
        ("STRING", FEW[1:], "mask", "text"),
        ("STRING", [*FEW, "99"], "mask", "text"),
        ("STRING", ["a" * 33, *FEW[1:]], "mask", "text"),
        ("STRING", [*PHONES, "-"], "hash", "phone number by its values"),
        ("STRING", [*PHONES, "-", "none"], "mask", "text"),
        ("STRING", ["4111 1111 1111 1111", "a" * 32], "mask", "numbers as long as those of cards"),
        ("STRING", ["4111 1111 1111 1111", "a" * 33], "mask", "text"),
        ("JSON", [], "mask", "JSON, which may hold anything"),
        ("BYTES", [], "mask", "BYTES"),
        ("ARRAY<DATE>", [], "clear", "DATE"),
    ],
)
def test_without_a_telling_name_values_and_type_decide(type_: str, samples: list[object], action: str, reason: str) -> None:
    found = draft_policy("email.reference_name", parse_type(type_), samples)
    assert (str(found.action), found.reason) == (action, reason)


def test_reason_shows_no_value() -> None:
    for value in ("ada@example.com", "+49 30 123456", "4111111111111111"):
        assert value not in draft_policy("contact", parse_type("STRING"), [value]).reason
