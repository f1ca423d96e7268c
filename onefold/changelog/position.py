"""The position of a change: a total order, as text that sorts as the position does, in Python and in GoogleSQL alike.

A position has five parts, most significant first: the source's sequence, its timestamp, its sort keys, a flag of
deletions (a deletion comes before an upsert of the same position), and a tie-break: the change's identifier and, in stored
rows, a digest of the row as it landed. Each part is encoded so that a plain comparison of text gives the right order:
numbers compare as numbers, NULL is lowest. A blank ends each part, and no character within a part sorts below a blank.

A sequence consists of hexadecimal sections, separated by `/`. Sections compare as numbers, whatever their count and length.
The nearest published contract (BigQuery change data capture, `_CHANGE_SEQUENCE_NUMBER`) has one to four sections of 1 to 16
digits. The log positions that PostgreSQL, SQL Server and Oracle document are sections, too; file and offset of MySQL are
text with numbers in it (docs/explanation/position-and-digest.md lists all forms). Text sorts below all hexadecimal sections,
and runs of digits in text compare as numbers (`mysql-bin.999999` before `mysql-bin.1000000`). Text of no documented form is
reported as ordered by text. NULL, of a backfill or a row of a snapshot, is lowest.

Positions are stored in bases, so the text of a position never changes from release to release, with one exception: sequences
and sort keys of hexadecimal form that earlier releases ordered as text. `STORED_AS_TEXT` matches those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_H = "[0-9A-Fa-f]+"
# The log sequence number of SQL Server as Debezium writes it, `0000002d:00000ac0:0015`, and as T-SQL does,
# `0x0000002D00000AC00015`; the rs_id of Oracle's V$LOGMNR_CONTENTS, ` 0x000a.00012345.0010 `.
_DOCUMENTED_FORMS = rf"{_H}:{_H}:{_H}| *0[xX]{_H}(?:\.{_H}\.{_H})? *"
SHORT_HEXADECIMAL = r"^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$"
"""The most frequent form of a sequence, which needs less work than the general form, `HEXADECIMAL`."""
SHORT_SECTIONS = 4
PADDED = r"^[0-9A-F]{16}(/[0-9A-F]{16}){0,3}$"
"""Sequences of the most frequent form that are written as they are stored: upper case, 16 digits a section."""
HEXADECIMAL = rf"^(?:{_H}(?:/{_H})*|{_DOCUMENTED_FORMS})$"
KEY_HEXADECIMAL = rf"^(?:{_H}(?:/{_H})+|{_DOCUMENTED_FORMS})$"
"""A sort key in hexadecimal form. A key of one section only is a number, or a word."""
KEY_LSN = r"^[0-9A-Fa-f]{20}$"
"""The exception: ten bytes, the form in which functions of SQL Server return a log sequence number."""
BEFORE_DIGITS, MARKS = "^(?:0X)?0*", "[/:.]0*"
SECTION = 16
LONG = "X"
"""The beginning of a section of more than 16 significant digits, which sorts above every digit. Their number follows."""
LONG_WIDTH = 10
NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
SMALL_NUMBER = r"^[0-9]{1,40}$"
"""The most frequent form of a sort key, a number of at most WIDTH digits."""
PIECES = r"[0-9]+|[^0-9]+"
LOW = r"[\x00-\x20]"
WIDTH = 40
"""The digits to which a number within text is padded, more than any source writes (a NUMBER of Oracle has 38)."""
MANY = ";"
"""The beginning of a number of more significant digits, which sorts above every digit. Their number follows."""

TEXT_PREFIX = "1"
"""The beginning of a position whose sequence has no hexadecimal form. It is ordered as text, right for `LOG_FILE` only."""
LOG_FILE = r"^1[^ /:]*[A-Za-z][^ /:]*\.[0-9]{40}([/:][0-9]{40})* "
"""Positions of MySQL and MariaDB: the file of the binary log, the offset in it and so on, each number padded."""
_PADDED_FORMS = rf"{_H}:{_H}:{_H}|!*0+[xX]{_H}(?:\.{_H}\.{_H})?!*"
STORED_AS_TEXT = rf"^(?:1(?:{_H}(?:/{_H})*|{_PADDED_FORMS}) |[^ ]* [^ ]* (?:[^ ]+ )*3(?:{_H}(?:/{_H})+|{_PADDED_FORMS}) )"
"""A position of hexadecimal form that an earlier release ordered as text; this release never writes one."""

_BLANK = "' '"
INT64 = 2**63
DIGITS, COMPLEMENTS = f"0123456789{MANY}", "9876543210/"


@dataclass(frozen=True)
class Position:
    """The position of one change, from its metadata; `str` gives the text that sorts.

    Attributes:
        sequence: the change sequence number of the source; None where there is none.
        timestamp: the time of the change in milliseconds since 1970; None where there is none.
        sort_keys: further keys, most significant first.
        deleted: True for a deletion.
        tie_break: the identifier of the change, and a digest of the row where rows are stored.

    Examples:
        >>> str(Position("FF/9")) < str(Position("100/1"))
        True
    """

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
        return "2" + _sections(sequence)
    return TEXT_PREFIX + _natural(sequence)


def _sections(text: str) -> str:
    digits = re.sub(BEFORE_DIGITS, "", text.strip(" ").upper())
    return "/".join(map(_section, re.sub(MARKS, "/", digits).split("/")))


def _section(digits: str) -> str:
    """Return the text of a section without leading zeros.

    Examples:
        >>> _section("FF")
        '00000000000000FF'
        >>> _section("FFFFFFFFFFFFFFFF") < _section("10000000000000000")
        True
    """
    if len(digits) <= SECTION:
        return digits.rjust(SECTION, "0")
    return LONG + str(len(digits)).rjust(LONG_WIDTH, "0") + digits


def _timestamp(timestamp: int | None) -> str:
    if timestamp is None:
        return ""
    return f"1{timestamp:019}" if timestamp >= 0 else f"0{timestamp + INT64:019}"


def _key(key: str | None) -> str:
    """Return a sort key as text that sorts: NULL lowest, then numbers, text, hexadecimal sections."""
    if key is None:
        return "0"
    if re.fullmatch(NUMBER[1:-1], key):
        # Of two negative numbers the one with the greater digits is lower, so each digit is replaced by its complement; `~`
        # sorts above every digit, so that -1 is above -1.5.
        complement = str.maketrans(DIGITS, COMPLEMENTS)
        return "1" + _padded_number(key[1:]).translate(complement) + "~" if key[0] == "-" else "2" + _padded_number(key)
    if re.fullmatch(KEY_LSN[1:-1], key):
        return "2" + _padded_number(key.upper())
    if re.fullmatch(KEY_HEXADECIMAL[1:-1], key):
        return "4" + _sections(key)
    return "3" + _natural(key)


def _padded_number(text: str) -> str:
    whole, _, fraction = text.partition(".")
    return _padded(whole) + "." + fraction.rstrip("0")


def _padded(digits: str) -> str:
    """Return the text of a number that sorts as the number does.

    Examples:
        >>> _padded("9" * 41) < _padded("1" + "0" * 41) == _padded("0" * 9 + "1" + "0" * 41)
        True
    """
    digits = digits.lstrip("0")
    if len(digits) <= WIDTH:
        return digits.rjust(WIDTH, "0")
    return MANY + str(len(digits)).rjust(LONG_WIDTH, "0") + digits


def _natural(text: str) -> str:
    pieces = re.findall(PIECES, re.sub(LOW, "!", text))
    return "".join(_padded(piece) if "0" <= piece[0] <= "9" else piece for piece in pieces)


def position_sql(sequence: str, timestamp: str, sort_keys: str, deleted: str, tie_break: str = "''") -> str:
    """Return a position as an expression of type STRING.

    Args:
        sequence: an expression of type STRING.
        timestamp: an expression of type INT64, in milliseconds since 1970.
        sort_keys: an expression of type ARRAY<STRING>.
        deleted: an expression of type BOOL, never NULL.
        tie_break: an expression of type STRING, never NULL.

    Examples:
        >>> position_sql("s", "t", "k", "d").endswith(", ' ', IF(d, '0', '1'), ' ', '')")
        True
    """
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
    """Return the first part of a position, the sequence, as an expression of type STRING.

    Args:
        x: an expression of type STRING.

    Examples:
        >>> sequence_sql("s").startswith("CASE WHEN s IS NULL THEN '0'")
        True
    """
    sections = f"UNNEST(SPLIT({x}, '/')) AS section WITH OFFSET AS place ORDER BY place"
    padded = f"ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), {SECTION}, '0') FROM {sections}), '/')"
    return (
        f"CASE WHEN {x} IS NULL THEN '0' WHEN REGEXP_CONTAINS({x}, r'{SHORT_HEXADECIMAL}') THEN CONCAT('2', {padded}) "
        f"WHEN REGEXP_CONTAINS({x}, r'{HEXADECIMAL}') THEN CONCAT('2', {_sections_sql(x)}) "
        f"ELSE CONCAT('{TEXT_PREFIX}', {natural_sql(x)}) END"
    )


def is_ordered_by_text_sql(position: str) -> str:
    """Return a condition of SQL on a position: its sequence has no documented form, so it was ordered as text.

    Examples:
        >>> is_ordered_by_text_sql("p").startswith("(STARTS_WITH(p, '1')")
        True
    """
    return f"(STARTS_WITH({position}, '{TEXT_PREFIX}') AND NOT REGEXP_CONTAINS({position}, r'{LOG_FILE}'))"


def is_stored_as_text_sql(position: str) -> str:
    """Return a condition of SQL on a stored position: an earlier release ordered as text what is a number now.

    Examples:
        >>> is_stored_as_text_sql("p").startswith("IFNULL(REGEXP_CONTAINS(p, r'")
        True
    """
    return f"IFNULL(REGEXP_CONTAINS({position}, r'{STORED_AS_TEXT}'), FALSE)"


def is_stored_as_text(position: str) -> bool:
    """Return whether an earlier release ordered as text what is compared as a number now.

    Examples:
        >>> is_stored_as_text("1" + "2".rjust(40, "0") + "D" + "AC".rjust(42, "0") + "  1 ")
        True
        >>> is_stored_as_text(str(Position("0000002D00000AC00015")))
        False
    """
    return re.search(STORED_AS_TEXT, position) is not None


def readable_sequence(text: str) -> str:
    """Return the sequence of a position for people: its numbers without the zeros with which they are padded.

    Examples:
        >>> readable_sequence("1e11fa47:" + "23".rjust(40, "0"))
        '1e11fa47:23'
    """
    padded = rf"(?:{MANY}[0-9]{{{LONG_WIDTH}}})?([0-9]{{{WIDTH},}})"
    return re.sub(padded, lambda number: number[1].lstrip("0") or "0", text)


def _sections_sql(x: str) -> str:
    digits = f"REGEXP_REPLACE(UPPER(TRIM({x}, ' ')), r'{BEFORE_DIGITS}', '')"
    split = f"SPLIT(REGEXP_REPLACE({digits}, r'{MARKS}', '/'), '/')"
    long = f"CONCAT('{LONG}', LPAD(CAST(LENGTH(section) AS STRING), {LONG_WIDTH}, '0'), section)"
    section = f"IF(LENGTH(section) <= {SECTION}, LPAD(section, {SECTION}, '0'), {long})"
    sections = f"SELECT {section} FROM UNNEST({split}) AS section WITH OFFSET AS place ORDER BY place"
    return f"ARRAY_TO_STRING(ARRAY({sections}), '/')"


def _timestamp_sql(x: str) -> str:
    # A negative timestamp is stored as x + 2^63. The sum is written as (2^63 - 1) - ~x, since 2^63 is not an INT64, and ~x
    # is -x - 1.
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
    negative = f"CONCAT('1', TRANSLATE({number}, '{DIGITS}', '{COMPLEMENTS}'), '~')"
    return (
        f"CONCAT(CASE WHEN {x} IS NULL THEN '0' "
        f"WHEN REGEXP_CONTAINS({x}, r'{NUMBER}') THEN IF(STARTS_WITH({x}, '-'), {negative}, CONCAT('2', {number})) "
        f"WHEN REGEXP_CONTAINS({x}, r'{KEY_LSN}') THEN CONCAT('2', LPAD(UPPER({x}), {WIDTH}, '0'), '.') "
        f"WHEN REGEXP_CONTAINS({x}, r'{KEY_HEXADECIMAL}') THEN CONCAT('4', {_sections_sql(x)}) "
        f"ELSE CONCAT('3', {natural_sql(x)}) END, ' ')"
    )


def _padded_sql(x: str) -> str:
    digits = f"LTRIM({x}, '0')"
    many = f"CONCAT('{MANY}', LPAD(CAST(LENGTH({digits}) AS STRING), {LONG_WIDTH}, '0'), {digits})"
    return f"IF(LENGTH({digits}) <= {WIDTH}, LPAD({digits}, {WIDTH}, '0'), {many})"


def natural_sql(x: str) -> str:
    """Return text as an expression of type STRING that sorts with its runs of digits as numbers."""
    pieces = f"REGEXP_EXTRACT_ALL(REGEXP_REPLACE({x}, r'{LOW}', '!'), r'{PIECES}')"
    piece = f"IF(REGEXP_CONTAINS(piece, r'^[0-9]'), {_padded_sql('piece')}, piece)"
    return f"ARRAY_TO_STRING(ARRAY(SELECT {piece} FROM UNNEST({pieces}) AS piece WITH OFFSET AS place ORDER BY place), '')"
