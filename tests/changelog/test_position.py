"""Positions sort as the source ordered its changes, and are the same text in Python and in GoogleSQL."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.zetasql_judge import Judge

from onefold.changelog.position import (
    LOG_FILE,
    TEXT_PREFIX,
    Position,
    is_ordered_by_text_sql,
    is_stored_as_text,
    is_stored_as_text_sql,
    position_sql,
)
from onefold.core.names import quote_text

Sections = list[tuple[int, int, bool]]

SEQUENCES = [
    (None, "mysql-bin.1"),
    ("mysql-bin.999999", "mysql-bin.1000000"),
    ("mysql-bin.000003/9", "mysql-bin.000003/10"),
    ("zzz", "0"),
    ("", "0"),
    ("B", "ABC"),
    ("b", "ABC"),
    ("FFF/B", "FFF/ABC"),
    ("BA/FFFFFFFF", "ABC"),
    ("9", "10"),
    ("A", "A/0"),
    ("1/2/3/FFFFFFFFFFFFFFFF", "1/2/4/0"),
    ("1/2/3/4", "1/2/3/4/0"),
    ("1/2/3/4/9", "1/2/3/4/10"),
    ("9/9/9/9/9", "A"),
    ("FFFFFFFFFFFFFFFF", "10000000000000000"),
    ("FFFFFFFFFFFFFFFF/F", "10000000000000000/0"),
    ("fffffffffffffffff", "100000000000000000"),
    ("F" * 32, "1" + "0" * 32),
    ("9" * 99, "1" + "0" * 99),
    ("0" * 40 + "9", "A"),
    ("mysql-bin.000003/9", "0" * 20),
    ("bin." + "9" * 41, "bin.1" + "0" * 41),
]
# Pairs of log positions in the forms that sources document, the earlier one first.
DOCUMENTED = [
    ("mysql-bin.000003/9/2", "mysql-bin.000003/10/1"),
    ("mysql-bin.999999:4", "mysql-bin.1000000:4"),
    ("16/B374D848", "16/B374D850"),
    ("9/FFFFFFFF", "10/0"),
    ("F/0", "10/0"),
    ("0000002D00000AC00015", "0000002D00000AC0001A"),
    ("0000001F00000AC00015", "00000020000000990001"),
    ("0000002F00000AC00015", "0000003000000AC00001"),
    ("0x0000002D00000AC00015", "0x0000002D00000AC0001A"),
    ("0000002d:00000ac0:0015", "0000002d:00000ac0:001a"),
    ("0000000f:00000ac0:0015", "00000010:00000001:0001"),
    (" 0x00000f.00012345.0010 ", " 0x000010.00000001.0001 "),
    (" 0x000a.00012345.0010 ", " 0x000a.00012345.001a "),
    ("999999999999", "1000000000000"),
    # Of our own capture: epochs were counted from 1, before they became seconds since 1970.
    ("1/FF/1000/0", "6553F100/1/4"),
    ("7/FFFFFF/FFFFFFFF/FF", "6553F100/1/4/0"),
    ("6553F100/FFFFFF/FFFFFFFF/FF", "6553F101/1/4"),
    ("FFFFFFFF/1/4/0", "100000000/1/4"),
]
UNDOCUMENTED = [
    "", "/", "A//B", "A/", "/A", "1\n", "A/1\n", "0x", "0x1.2.g", "1:2", "1:2:3:4", "1/2:3", "G", "-1", "0.5",
    "0-1-100", "3E11FA47-71CA-11E1-9E33-C80AA9429562:23", "2024-01-01 10:00:00.123", "mysql-bin.000003/9/x",
    "mysql-bin", "mysql-bin." + "a" * 40,
]  # fmt: skip

NUMBERS = ["-10", "-9.5", "-9.25", "-1", "0", "0.5", "0.75", "1", "9", "10", "123456789012345678901", "a", "a9", "a10"]


@pytest.mark.parametrize(("lower", "higher"), SEQUENCES)
def test_a_lower_sequence_has_a_lower_position(lower: str | None, higher: str) -> None:
    assert str(Position(lower, 9, ("9",))) < str(Position(higher, 1, ("1",)))


@pytest.mark.parametrize(("lower", "higher"), DOCUMENTED)
def test_log_positions_that_sources_document_are_compared_as_documented(lower: str, higher: str) -> None:
    assert str(Position(lower, 9, ("9",))) < str(Position(higher, 1, ("1",)))
    assert str(Position("A", 1, (lower, "9"))) < str(Position("A", 1, (higher, "1")))
    assert not re.match("1", str(Position(higher))) or re.match(LOG_FILE, str(Position(higher)))


@pytest.mark.parametrize("sequence", UNDOCUMENTED)
def test_a_sequence_of_no_documented_form_is_ordered_as_text(sequence: str) -> None:
    position = str(Position(sequence))
    assert position.startswith(TEXT_PREFIX)
    assert not re.match(LOG_FILE, position)


SECTIONS = st.lists(
    st.tuples(
        st.integers(0, 16**6)
        | st.integers(16**16 - 3, 16**16 + 3)
        | st.integers(0, 40).flatmap(lambda digits: st.integers(16**digits - 1, 16**digits + 1))
        | st.integers(0, 16**300),
        st.integers(0, 20),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
"""Numbers, each with zeros that lead and whether its letters are small."""


def as_text(sections: Sections) -> str:
    return "/".join("0" * zeros + f"{number:{'x' if small else 'X'}}" for number, zeros, small in sections)


def as_numbers(sections: Sections) -> tuple[int, ...]:
    return tuple(number for number, _, _ in sections)


@settings(deadline=None, print_blob=True)
@given(SECTIONS, SECTIONS, st.integers(0, 6))
def test_hexadecimal_sections_of_any_number_and_length_are_numbers(one: Sections, other: Sections, common: int) -> None:
    """The oracle is Python's own comparison of lists of numbers."""
    other = [*one[:common], *other]
    for first, second in ((one, other), (other, one)):
        lower = as_numbers(first) < as_numbers(second)
        assert (str(Position(as_text(first), 9, ("9",))) < str(Position(as_text(second), 9, ("9",)))) == lower
        if len(first) > 1 and len(second) > 1:
            assert (str(Position("A", 1, (as_text(first),))) < str(Position("A", 1, (as_text(second),)))) == lower


@settings(deadline=None, print_blob=True)
@given(st.tuples(*[st.integers(0, 16**8 - 1)] * 2, st.integers(0, 16**4 - 1)), st.data())
def test_log_positions_of_sql_server_and_oracle_compare_as_numbers(
    numbers_of_position: tuple[int, ...], data: st.DataObject
) -> None:
    near = st.one_of(
        *(st.just(max(0, number - 1)) | st.just(number) | st.just(number + 1) for number in numbers_of_position)
    )
    other = tuple(data.draw(near | st.integers(0, 16**4 - 1)) for _ in numbers_of_position)
    for form in ("{:08X}{:08X}{:04X}", "{:08x}:{:08x}:{:04x}", " 0x{:06x}.{:08x}.{:04x} ", "0x{:08X}{:08X}{:04X}"):
        one, two = form.format(*numbers_of_position), form.format(*other)
        if len(one) == len(two):
            lower = numbers_of_position < other
            assert (str(Position(one)) < str(Position(two))) == lower
            assert (str(Position("A", 1, (one,))) < str(Position("A", 1, (two,)))) == lower


STORED = {
    Position(): "0   1 ",
    Position("a", 1): "2000000000000000A 10000000000000000001  1 ",
    Position("1/2/3/FFFFFFFFFFFFFFFF", -1, ("9",), deleted=True, tie_break="u d"): (
        "20000000000000001/0000000000000002/0000000000000003/FFFFFFFFFFFFFFFF 09223372036854775807 "
        "20000000000000000000000000000000000000009.  0 u d"
    ),
    Position("mysql-bin.000003/9", 1, ("-1.50", "x 9", "00000020000000990001")): (
        "1mysql-bin.0000000000000000000000000000000000000003/0000000000000000000000000000000000000009 10000000000000000001 "
        "19999999999999999999999999999999999999998.4~ 3x!0000000000000000000000000000000000000009 "
        f"2{0:020}00000020000000990001.  1 "
    ),
    Position("16/B374D848"): "20000000000000016/00000000B374D848   1 ",
    Position(" 0x00000f.00012345.0010 ", 0, ("0000002d00000ac0001a", "a/0b")): (
        "2000000000000000F/0000000000012345/0000000000000010 10000000000000000000 "
        f"2{'2D00000AC0001A'.rjust(40, '0')}. 4000000000000000A/000000000000000B  1 "
    ),
    # Numbers of exactly the width to which they are padded, and of one digit more.
    Position("F" * 16 + "/1" + "0" * 16, 1, ("9" * 40, "9" * 41, "-1" + "0" * 40)): (
        f"2{'F' * 16}/X00000000171{'0' * 16} 10000000000000000001 "
        f"2{'9' * 40}. 2;0000000041{'9' * 41}. 1/99999999588{'9' * 40}.~  1 "
    ),
}


@pytest.mark.parametrize("position", STORED)
def test_the_text_of_a_position_never_changes(position: Position) -> None:
    assert str(position) == STORED[position]


def test_sql_writes_the_texts_that_never_change(judge: Judge) -> None:
    assert written_by_sql(judge, list(STORED)) == list(STORED.values())


OLD_TEXTS = [
    # As an earlier release wrote 0000002D00000AC00015, and so on: every run of digits padded to 40.
    "10000000000000000000000000000000000000002D0000000000000000000000000000000000000000AC"
    "0000000000000000000000000000000000000015 10000000000000000001  1 u d",
    "1" + "F" * 17 + "   1 ",
    "1" + "/".join(f"{number:040}" for number in range(1, 6)) + "   1 ",
    f"1{2:040}d:{0:040}ac{0:040}:{15:040}   1 ",
    f"1!{0:040}x{0:040}a.{12345:040}.{10:040}!   1 ",
    f"2000000000000000A 10000000000000000001 3!{0:040}x{0:040}a.{12345:040}.{10:040}!  1 u d",
    f"2000000000000000A  2{9:040}. 3{16:040}/B{374:040}D{848:040} 2{9:040}.  1 u d",
]


@pytest.mark.parametrize("position", OLD_TEXTS)
def test_a_position_that_earlier_releases_ordered_as_text_is_found(position: str) -> None:
    assert is_stored_as_text(position)


@settings(deadline=None, print_blob=True)
@given(st.data())
def test_no_position_of_this_release_is_found_as_ordered_as_text(data: st.DataObject) -> None:
    assert not is_stored_as_text(str(data.draw(positions)))


@settings(deadline=None, print_blob=True, max_examples=10)
@given(st.lists(SECTIONS, min_size=2, max_size=40))
def test_sql_orders_sequences_as_numbers(judge: Judge, some: list[Sections]) -> None:
    assert ordered(judge.rows, some) == sorted(map(as_numbers, some))


@settings(deadline=None, print_blob=True, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(SECTIONS, min_size=2, max_size=40))
def test_the_embedded_bigquery_orders_sequences_as_numbers(dataset: EmulatedDataset, some: list[Sections]) -> None:
    assert ordered(dataset.run, some) == sorted(map(as_numbers, some))


def ordered(run: Callable[[str], list[tuple[Any, ...]]], some: list[Sections]) -> list[tuple[int, ...]]:
    """The numbers of sequences in the order that an engine gives to their positions."""
    rows = " UNION ALL ".join(f"SELECT {index} AS n, {quote_text(as_text(one))} AS s" for index, one in enumerate(some))
    position = position_sql("s", "0", "CAST([] AS ARRAY<STRING>)", "FALSE")
    return [as_numbers(some[n]) for (n,) in run(f"SELECT n FROM ({rows}) ORDER BY {position}")]


def test_sql_finds_the_same_positions_that_were_ordered_as_text(judge: Judge, dataset: EmulatedDataset) -> None:
    some = [*OLD_TEXTS, *map(str, STORED), *(str(Position(text)) for text in UNDOCUMENTED)]
    some += [str(Position(text)) for pair in DOCUMENTED for text in pair]
    rows = " UNION ALL ".join(f"SELECT {index} AS n, {quote_text(one)} AS p" for index, one in enumerate(some))
    sql = f"SELECT {is_ordered_by_text_sql('p')}, {is_stored_as_text_sql('p')} FROM ({rows}) ORDER BY n"
    expected = [(one[0] == "1" and not re.match(LOG_FILE, one), is_stored_as_text(one)) for one in some]
    assert judge.rows(sql) == dataset.run(sql) == expected


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise([None, -(2**63), -2, -1, 0, 9, 10, 2**63 - 1])))
def test_with_equal_sequences_the_earlier_time_is_lower(lower: int | None, higher: int) -> None:
    assert str(Position("A", lower, ("9",))) < str(Position("A", higher, ("1",)))


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise([None, *NUMBERS])))
def test_sort_keys_are_compared_one_after_the_other_and_numbers_as_numbers(lower: str | None, higher: str) -> None:
    assert str(Position("A", 1, ("x", lower, "9"))) < str(Position("A", 1, ("x", higher, "1")))


def test_fewer_sort_keys_are_lower_than_more() -> None:
    assert str(Position("A", 1, ("x",))) < str(Position("A", 1, ("x", None)))


def test_a_deletion_comes_before_an_upsert_of_the_same_position() -> None:
    assert str(Position("A", 1, ("x",), deleted=True, tie_break="z")) < str(Position("A", 1, ("x",), tie_break="a"))


def test_the_tie_break_decides_last() -> None:
    assert str(Position("A", 1, tie_break="a")) < str(Position("A", 1, tie_break="b"))


texts = st.text(st.characters(codec="utf-8"), max_size=12)
documented = st.sampled_from([text for pair in DOCUMENTED for text in pair])
sequences = st.none() | texts | SECTIONS.map(as_text) | documented | st.sampled_from(UNDOCUMENTED)
numbers = st.integers(-(10**12), 10**12).map(str) | st.decimals(-1000, 1000, places=3).map(str)
positions = st.builds(
    Position,
    sequence=sequences,
    timestamp=st.none() | st.integers(-(2**63), 2**63 - 1),
    # BigQuery stores no NULL in an array.
    sort_keys=st.lists(numbers | texts | SECTIONS.map(as_text) | documented | st.sampled_from(UNDOCUMENTED), max_size=3).map(
        tuple
    ),
    deleted=st.booleans(),
    tie_break=st.just("") | st.text("0123456789abcdef", min_size=4, max_size=4),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(positions, min_size=1, max_size=12))
def test_sql_writes_the_same_position(judge: Judge, some: list[Position]) -> None:
    assert written_by_sql(judge, some) == list(map(str, some))


def written_by_sql(judge: Judge, some: list[Position]) -> list[str]:
    expression = position_sql("s", "t", "k", "d", "g")
    return [text for (text,) in judge.rows(f"SELECT {expression} FROM ({' UNION ALL '.join(map(_row, some))})")]


def _row(position: Position) -> str:
    keys = ", ".join(quote_text(key or "") for key in position.sort_keys)
    sequence = "CAST(NULL AS STRING)" if position.sequence is None else quote_text(position.sequence)
    timestamp = "CAST(NULL AS INT64)" if position.timestamp is None else f"CAST('{position.timestamp}' AS INT64)"
    return (
        f"SELECT {sequence} AS s, {timestamp} AS t, CAST([{keys}] AS ARRAY<STRING>) AS k, "
        f"{position.deleted} AS d, {quote_text(position.tie_break)} AS g"
    )
