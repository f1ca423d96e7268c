"""What a message reports of a change: without any literal of its statement, whoever published it."""

from __future__ import annotations

import pytest

from onefold.messages.reported_change import reported_change


@pytest.mark.parametrize(
    ("statement", "recorded"),
    [
        ("ALTER TABLE m ADD a VARCHAR(20) DEFAULT 'ada@b.c' /* of Ada */", "ALTER TABLE m ADD a VARCHAR(20) DEFAULT ?"),
        ("ALTER TABLE m ADD zip text DEFAULT ?", "ALTER TABLE m ADD zip text DEFAULT ?"),
        (
            "ALTER TABLE m ADD a INT DEFAULT 4711;\nALTER TABLE m DROP b",
            "ALTER TABLE m ADD a INT DEFAULT ?; ALTER TABLE m DROP b",
        ),
        ("ALTER TABLE m ADD a INT DEFAULT 'no end", ""),
    ],
)
def test_no_literal_of_a_statement_is_taken(statement: str, recorded: str) -> None:
    assert reported_change({"origin": "capture", "statement": statement}).statement == recorded
