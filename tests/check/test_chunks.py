"""Chunks of two sides: every planted difference is found, nothing else is, and nobody reads a value that is not clear."""

from __future__ import annotations

import math
import random
import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onefold.check.chunks import ChunkResult, Disclosure, compare_chunk, confirmed
from onefold.check.counts import RowCounts, is_confirmed
from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT, Finding
from onefold.core.hash_key import HashKey

PLANTED = 1_000
ROWS = 5_000
KEY = HashKey(b"k" * 32)
DIGITS_38 = Decimal("12345678.12345678901234567890123456789012345678")
EXACTLY = Context(prec=80)
Row = dict[str, Any]


def row(key: int, chance: random.Random) -> Row:
    """A row with a value of every type, of which each planted difference changes one."""
    return {
        "id": key,
        "bytes": chance.randbytes(chance.randrange(1, 9)),
        "exact": EXACTLY.add(DIGITS_38, chance.randrange(1000)),
        "float": chance.choice([0.1, 1e22, -1.5, 5e-324, 1.7976931348623157e308]) * chance.choice([1.0, -1.0]),
        "text": chance.choice(["caf\u00e9", "Zo\u00eb \u00c5", "\u1e69 na\u00efve"]),
        "note": chance.choice(["", "x", "\U0001f600", None]),
        "at": datetime(2026, 5, 3, tzinfo=UTC) + timedelta(microseconds=chance.randrange(10**12)),
        "day": date(1, 1, 1) + timedelta(days=chance.randrange(3_000_000)),
        "flag": chance.random() < 0.5,
        "document": {"a": [1, None, "\u00e9"], "b": chance.randrange(9)},
    }


def one_bit(value: Row, chance: random.Random) -> str:
    data = bytearray(value["bytes"])
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    value["bytes"] = bytes(data)
    return "bytes"


def null(value: Row, chance: random.Random) -> str:
    column = chance.choice(["bytes", "exact", "float", "text", "at", "day", "flag", "document"])
    value[column] = None
    return column


def decimal_30(value: Row, _: random.Random) -> str:
    value["exact"] = EXACTLY.add(value["exact"], Decimal("1e-30"))
    return "exact"


def last_digit(value: Row, _: random.Random) -> str:
    value["float"] = math.nextafter(value["float"], 0.0)
    return "float"


def trailing_space(value: Row, _: random.Random) -> str:
    value["text"] += " "
    return "text"


def normal_form(value: Row, _: random.Random) -> str:
    value["text"] = unicodedata.normalize("NFD", value["text"])
    return "text"


def microsecond(value: Row, _: random.Random) -> str:
    value["at"] += timedelta(microseconds=1)
    return "at"


def empty_for_null(value: Row, _: random.Random) -> str:
    value["note"] = "" if value["note"] is None else None
    return "note"


CHANGES: tuple[Callable[[Row, random.Random], str], ...] = (
    one_bit, null, decimal_30, last_digit, trailing_space, normal_form, microsecond, empty_for_null,
)  # fmt: skip


def test_a_thousand_planted_differences_are_found_and_nothing_else(chance: random.Random) -> None:
    source = {key: row(key, chance) for key in range(ROWS)}
    warehouse = {key: dict(value) for key, value in source.items()}
    planted: set[tuple[str, str, str | None]] = set()
    for number, key in enumerate(chance.sample(range(ROWS), PLANTED)):
        kind = number % (len(CHANGES) + 2)
        if kind == len(CHANGES):
            del warehouse[key]
            planted.add((ONLY_LEFT, str(key), None))
        elif kind > len(CHANGES):
            del source[key]
            planted.add((ONLY_RIGHT, str(key), None))
        else:
            planted.add((DIFFERENT, str(key), CHANGES[kind](warehouse[key], chance)))
    shuffled = chance.sample(list(warehouse.values()), len(warehouse))
    found = compare_chunk(source.values(), shuffled, ["id"])
    assert {(one.kind, str(one.key["id"]), one.column) for one in found.findings} == planted
    assert len(found.findings) == PLANTED


def test_equal_rows_have_no_findings(chance: random.Random) -> None:
    rows = [row(key, chance) for key in range(100)]
    assert compare_chunk(rows, [dict(reversed(one.items())) for one in rows], ["id"]).findings == ()


def test_a_difference_that_does_not_stay_is_not_confirmed() -> None:
    first = compare_chunk([{"id": 1, "a": 1}, {"id": 2, "a": 1}], [{"id": 1, "a": 2}], ["id"])
    second = compare_chunk([{"id": 1, "a": 3}, {"id": 2, "a": 1}], [{"id": 1, "a": 2}], ["id"])
    assert confirmed(first, second).findings == (Finding(ONLY_LEFT, {"id": "2"}),)
    assert confirmed(first, ChunkResult()).findings == ()
    assert confirmed(first, first) == first


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_value_that_is_not_clear_is_in_no_sentence(left: str, right: str) -> None:
    marked_left, marked_right = f"<{left}>", f"<{right}>"
    sentence = Disclosure(("id",), KEY).worded(Finding(DIFFERENT, {"id": "1"}, "email", marked_left, marked_right))
    for value in (marked_left, marked_right):
        assert value not in sentence
        assert KEY.hash(value.encode("utf-8", "surrogatepass"))[:16] in sentence


def test_a_key_that_is_not_clear_is_hashed_and_null_stays_null() -> None:
    nothing_clear = Disclosure((), KEY)
    sentence = nothing_clear.worded(Finding(DIFFERENT, {"id": "4711"}, "a", None, "secret"))
    assert sentence == (
        f"`a` does not match between MySQL (val=NULL) and BigQuery (val=hash {KEY.hash(b'secret')[:16]}), "
        f"in the row id=hash {KEY.hash(b'4711')[:16]}"
    )
    assert HashKey(b"j" * 32).hash(b"4711")[:16] not in sentence


def test_texts_that_look_the_same_are_shown_with_escapes() -> None:
    shop = Disclosure(("id", "name"), KEY)
    sentence = shop.worded(Finding(DIFFERENT, {"id": "1"}, "Name", "caf\u00e9", "cafe\u0301"))
    assert '(val="caf\\u00e9")' in sentence
    assert '(val="cafe\\u0301")' in sentence
    assert '"caf\u00e9"' in shop.worded(Finding(DIFFERENT, {"id": "1"}, "name", "caf\u00e9", "tea"))


def test_counts_of_two_reads_are_confirmed_only_by_the_same_difference() -> None:
    assert RowCounts("time", 3, 3).same
    assert is_confirmed(RowCounts("time", 5, 4), RowCounts("time", 8, 7))
    assert not is_confirmed(RowCounts("time", 5, 4), RowCounts("time", 8, 8))
    assert not is_confirmed(RowCounts("time", 5, 4), RowCounts("time", 8, 9))
