"""The position of a change: a total order, as text that sorts as the position does, in Python and in GoogleSQL alike.

A position has five parts, most significant first: the source's sequence, its timestamp, its sort keys, whether the
change is a deletion (which comes before an upsert of the same position), and a tie-break: the change's identifier, and
where rows are stored a digest of the row as it landed. Each part is written so that plain comparison of text compares it
as it is meant: numbers as numbers, NULL lowest. A blank ends each part; nothing within a part sorts below it.

The sequence: one to four hexadecimal sections, separated by `/`, each compared as a number, is the nearest published
contract (BigQuery change data capture, `_CHANGE_SEQUENCE_NUMBER`). Text of another form has its place below all of that
form, and is compared with its runs of digits as numbers (`mysql-bin.999999` before `mysql-bin.1000000`). NULL is lowest: a
backfill, a row of a snapshot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

HEXADECIMAL = r"^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$"
NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
PIECES = r"[0-9]+|[^0-9]+"
LOW = r"[\x00-\x20]"
WIDTH = 40
"""Digits of a number within text; longer ones are not cut, and sort above."""

TEXT_PREFIX = "1"
"""How a position begins whose sequence is ordered as text."""

_BLANK = "' '"
INT64 = 2**63
DIGITS, COMPLEMENTS = "0123456789", "9876543210"


@dataclass(frozen=True)
class Position:
    """What a change says of its place; milliseconds for the timestamp."""

    sequence: str | None = None
    timestamp: int | None = None
    sort_keys: tuple[str | None, ...] = ()
    deleted: bool = False
    tie_break: str = ""

    def __str__(self) -> str:
        keys = "".join(f"{_key(key)} " for key in self.sort_keys)
        kind = "0" if self.deleted else "1"
        return f"{_sequence(self.sequence)} {_timestamp(self.timestamp)} {keys} {kind} {self.tie_break}"


def _sequence(sequence: str | None) -> str:
    if sequence is None:
        return "0"
    if re.fullmatch(HEXADECIMAL[1:-1], sequence):
        return "2" + "/".join(section.upper().rjust(16, "0") for section in sequence.split("/"))
    return TEXT_PREFIX + _natural(sequence)


def _timestamp(timestamp: int | None) -> str:
    if timestamp is None:
        return ""
    return f"1{timestamp:019}" if timestamp >= 0 else f"0{timestamp + INT64:019}"


def _key(key: str | None) -> str:
    """Numbers below text, NULL lowest; a negative number by the complement of its digits."""
    if key is None:
        return "0"
    if not re.fullmatch(NUMBER[1:-1], key):
        return "3" + _natural(key)
    if key.startswith("-"):
        return "1" + _padded_number(key[1:]).translate(str.maketrans(DIGITS, COMPLEMENTS)) + "~"
    return "2" + _padded_number(key)


def _padded_number(text: str) -> str:
    whole, _, fraction = text.partition(".")
    return whole.rjust(WIDTH, "0") + "." + fraction.rstrip("0")


def _natural(text: str) -> str:
    pieces = re.findall(PIECES, re.sub(LOW, "!", text))
    return "".join(piece.rjust(WIDTH, "0") if piece[0] in DIGITS else piece for piece in pieces)


def position_sql(sequence: str, timestamp: str, sort_keys: str, deleted: str, tie_break: str = "''") -> str:
    """The same as an expression: STRING, INT64, ARRAY<STRING>, BOOL and STRING expressions in, STRING out."""
    parts = (
        sequence_sql(sequence),
        _timestamp_sql(timestamp),
        f"ARRAY_TO_STRING(ARRAY(SELECT {_key_sql('sort_key')} FROM UNNEST({sort_keys}) AS sort_key WITH OFFSET AS place "
        "ORDER BY place), '')",
        f"IF({deleted}, '0', '1')",
        tie_break,
    )
    return f"CONCAT({f', {_BLANK}, '.join(parts)})"


def sequence_sql(x: str) -> str:
    """The first part alone."""
    sections = f"UNNEST(SPLIT({x}, '/')) AS section WITH OFFSET AS place ORDER BY place"
    padded = f"ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM {sections}), '/')"
    return (
        f"CASE WHEN {x} IS NULL THEN '0' WHEN REGEXP_CONTAINS({x}, r'{HEXADECIMAL}') THEN CONCAT('2', {padded}) "
        f"ELSE CONCAT('{TEXT_PREFIX}', {_natural_sql(x)}) END"
    )


def _timestamp_sql(x: str) -> str:
    # x + 2^63, which is no INT64: ~x is -x - 1.
    negative = f"CONCAT('0', LPAD(CAST({INT64 - 1} - ~{x} AS STRING), 19, '0'))"
    return (
        f"CASE WHEN {x} IS NULL THEN '' WHEN {x} < 0 THEN {negative} "
        f"ELSE CONCAT('1', LPAD(CAST({x} AS STRING), 19, '0')) END"
    )


def _key_sql(x: str) -> str:
    number = (
        f"CONCAT({_padded_sql(f'REGEXP_EXTRACT({x}, r{chr(39)}[0-9]+{chr(39)})')}, '.', "
        f"RTRIM(IFNULL(REGEXP_EXTRACT({x}, r'\\.([0-9]+)'), ''), '0'))"
    )
    return (
        f"CONCAT(CASE WHEN {x} IS NULL THEN '0' "
        f"WHEN NOT REGEXP_CONTAINS({x}, r'{NUMBER}') THEN CONCAT('3', {_natural_sql(x)}) "
        f"WHEN STARTS_WITH({x}, '-') THEN CONCAT('1', TRANSLATE({number}, '{DIGITS}', '{COMPLEMENTS}'), '~') "
        f"ELSE CONCAT('2', {number}) END, ' ')"
    )


def _padded_sql(x: str) -> str:
    return f"IF(LENGTH({x}) >= {WIDTH}, {x}, LPAD({x}, {WIDTH}, '0'))"


def _natural_sql(x: str) -> str:
    pieces = f"REGEXP_EXTRACT_ALL(REGEXP_REPLACE({x}, r'{LOW}', '!'), r'{PIECES}')"
    piece = f"IF(REGEXP_CONTAINS(piece, r'^[0-9]'), {_padded_sql('piece')}, piece)"
    return f"ARRAY_TO_STRING(ARRAY(SELECT {piece} FROM UNNEST({pieces}) AS piece WITH OFFSET AS place ORDER BY place), '')"
