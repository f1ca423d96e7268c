"""Positions as bytes that sort as the texts do: a third of the size, for bases, whose positions every reader compares.

The bytes are hexadecimal digits, written one after the other. A number is one digit that says how long it is, and its own
digits without leading zeros: of two numbers the longer one is greater, and so is its first digit. A position whose sequence
has hexadecimal sections is `4`, each section as a number, `0`, the timestamp, and the rest:

- timestamp: `0` for none, else `1` for a negative one or `2`, and its decimal digits as a number;
- rest: `8` and the digest, where there are no sort keys and no identifier and the change is an upsert, as capture writes it.
  Any other rest is its text in UTF-8, after `4` where it sorts below those and after `C` where it sorts above.

Every other position is its text in UTF-8. Such a text begins with `0` or `1`, so its first byte is below `4`.
"""

from __future__ import annotations

import re

from onefold.changelog.digest import LENGTH
from onefold.changelog.position import SECTION

_SHORT = 13
"""The most digits of a number that is written by its length. A longer one is `F`, its padded text in UTF-8, and `0`."""
_LENGTHS = "123456789ABCDE"
"""The first digit of a number, by how many digits follow. `0` is free: it ends the sections."""
_TIME = 19

_SECTION = f"(?:[0-9A-F]{{{SECTION}}}|X[0-9A-F]+)"
_PACKABLE = rf"^2({_SECTION}(?:/{_SECTION})*) ((?:[01][0-9]{{{_TIME}}})?) "
_REST = rf"^ 1  [0-9a-f]{{{LENGTH}}}$"
_REST_BEGIN = " 1  "
_LOWEST_REST = _REST_BEGIN + "0"

_SHORT_NUMBERS = "|".join(f"{length.lower()}.{{{count}}}" for count, length in enumerate(_LENGTHS))
_NUMBER = f"(?:{_SHORT_NUMBERS}|f(?:[345].)+0)"
_SECTIONS = f"{_NUMBER}+"
_PACKED_TIME = f"(?:0|[12]{_NUMBER})"


def packed(position: str) -> bytes:
    """Return the text of a position as bytes that sort as the texts do, and that tell the text.

    Examples:
        >>> from onefold.changelog.position import Position
        >>> len(packed(str(Position("6553F100/1A/3B9ACA00/0", 1_700_000_000_000, tie_break=f" {'0' * 32}"))))
        36
    """
    found = re.match(_PACKABLE, position)
    if found is None:
        return position.encode()
    sections, time, rest = found[1], found[2], position[found.end() :]
    digits = "".join(["4", *map(_number, sections.split("/")), "0", _time(time), _rest(rest)])
    return bytes.fromhex(digits + "0" * (len(digits) % 2))


def _number(text: str) -> str:
    digits = text.lstrip("0")
    return _LENGTHS[len(digits)] + digits if len(digits) <= _SHORT else f"F{text.encode().hex()}0"


def _time(text: str) -> str:
    return str(int(text[0]) + 1) + _number(text[1:]) if text else "0"


def _rest(text: str) -> str:
    if re.match(_REST, text):
        return "8" + text.removeprefix(_REST_BEGIN)
    return ("4" if text < _LOWEST_REST else "C") + text.encode().hex()


def packed_sql(position: str) -> str:
    """Return the bytes of a position as an expression of type BYTES.

    Args:
        position: an expression of type STRING, which the result has many times: the name of a column.

    Examples:
        >>> packed_sql("p").startswith("IF(REGEXP_CONTAINS(p, r'^2")
        True
    """
    split = f"UNNEST(SPLIT(REGEXP_EXTRACT({position}, r'^2([^ ]*)'), '/')) AS section WITH OFFSET AS place ORDER BY place"
    sections = f"ARRAY_TO_STRING(ARRAY(SELECT {_number_sql('section')} FROM {split}), '')"
    time = f"REGEXP_EXTRACT({position}, r'^[^ ]* ([^ ]*) ')"
    number = _number_sql(f"SUBSTR({time}, 2)")
    times = f"IF(LENGTH({time}) > 0, CONCAT(IF(STARTS_WITH({time}, '0'), '1', '2'), {number}), '0')"
    rest = f"REGEXP_EXTRACT({position}, r'^[^ ]* [^ ]* (.*)$')"
    rests = (
        f"IF(REGEXP_CONTAINS({rest}, r'{_REST}'), CONCAT('8', SUBSTR({rest}, {len(_LOWEST_REST)})), "
        f"CONCAT(IF({rest} < '{_LOWEST_REST}', '4', 'C'), TO_HEX(CAST({rest} AS BYTES))))"
    )
    # With one digit more the number of digits is even, or the digit is taken away again.
    digits = f"REGEXP_REPLACE(CONCAT('4', {sections}, '0', {times}, {rests}, '0'), r'^((?:..)*).$', r'\\1')"
    return f"IF(REGEXP_CONTAINS({position}, r'{_PACKABLE}'), FROM_HEX({digits}), CAST({position} AS BYTES))"


def unpacked_sql(x: str) -> str:
    """Return the text of a position as an expression of type STRING, from an expression of the type BYTES.

    Examples:
        >>> unpacked_sql("b.p").startswith("IF(STARTS_WITH(TO_HEX(b.p), '4'), CONCAT('2', ")
        True
    """
    digits = f"TO_HEX({x})"
    sections = (
        f"ARRAY_TO_STRING(ARRAY(SELECT {_unpacked_number('section', SECTION)} "
        f"FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_EXTRACT({digits}, r'^4({_SECTIONS})0'), r'{_NUMBER}')) AS section "
        "WITH OFFSET AS place ORDER BY place), '/')"
    )
    time = f"REGEXP_EXTRACT({digits}, r'^4{_SECTIONS}0({_PACKED_TIME})')"
    number = _unpacked_number(f"SUBSTR({time}, 2)", _TIME)
    times = f"IF({time} = '0', '', CONCAT(IF(STARTS_WITH({time}, '1'), '0', '1'), {number}))"
    begin = f"^4{_SECTIONS}0{_PACKED_TIME}"
    digest = f"REGEXP_EXTRACT({digits}, r'{begin}8(.{{{LENGTH}}})')"
    text = _text_sql(f"REGEXP_EXTRACT({digits}, r'{begin}[4c]((?:..)*)')")
    rest = f"IFNULL(CONCAT('{_REST_BEGIN}', {digest}), {text})"
    return (
        f"IF(STARTS_WITH({digits}, '4'), CONCAT('2', {sections}, ' ', {times}, ' ', {rest}), "
        f"SAFE_CONVERT_BYTES_TO_STRING({x}))"
    )


def _number_sql(x: str) -> str:
    digits = f"LTRIM({x}, '0')"
    short = f"CONCAT(SUBSTR('{_LENGTHS}', LENGTH({digits}) + 1, 1), {digits})"
    return f"IF(LENGTH({digits}) <= {_SHORT}, {short}, CONCAT('F', TO_HEX(CAST({x} AS BYTES)), '0'))"


def _unpacked_number(x: str, width: int) -> str:
    long = _text_sql(f"SUBSTR({x}, 2, LENGTH({x}) - 2)")
    return f"IF(STARTS_WITH({x}, 'f'), {long}, LPAD(UPPER(SUBSTR({x}, 2)), {width}, '0'))"


def _text_sql(digits: str) -> str:
    return f"SAFE_CONVERT_BYTES_TO_STRING(FROM_HEX({digits}))"
