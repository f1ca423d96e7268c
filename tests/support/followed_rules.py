"""What the tests of rules that follow names share: a table with a card that is hashed, and what capture made of it."""

from __future__ import annotations

from typing import Any

from support.capture import Bench, latest

from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import LandingRules
from onefold.settings.captures import ColumnRules

KEY = HashKey(b"thirty-two bytes of a secret key")
CREATE = "CREATE TABLE cust (id INT PRIMARY KEY, card VARCHAR(30), name VARCHAR(30))"
RULES = LandingRules((ColumnRules("cust", drop=("pin",), hash=("card",)),), KEY)
CARDS = ("4711-0001", "4711-0002", "4711-0003")
FIRST, SECOND, THIRD = (f"({number}, '{card}', 'Ada')" for number, card in enumerate(CARDS, 1))
HASHES = [KEY.hash(card.encode()) for card in CARDS]


def written(bench: Bench) -> str:
    """All that capture has written: messages, and the files of checkpoint and large rows."""
    files = [path.read_text() for path in bench.folder.rglob("*") if path.is_file()]
    return "\n".join([*files, *(message.data.decode() for topic in bench.publisher.topics.values() for message in topic)])


def check_no_card(bench: Bench) -> None:
    assert [card for card in CARDS if card in written(bench)] == []


def rows(bench: Bench, table: str = "cust") -> dict[Any, dict[str, Any]]:
    return {key[2]: row for key, row in latest(bench.publisher.records()).items() if key[1] == table}


def cards(bench: Bench) -> list[Any]:
    return [row.get("credit") for _, row in sorted(rows(bench).items())]


def quarantine(bench: Bench) -> list[tuple[str, str]]:
    return [(one["table"], one["reason"]) for one in bench.checkpoint()["quarantine"] if not one["until"]]


def checked(bench: Bench, rules: LandingRules, **options: Any) -> Any:
    process = bench.capture(rules=rules, **options)
    return process.source, (), process.store, process.warehouse, process.options
