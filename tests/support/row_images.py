"""Row images as MySQL documents them, made in the other direction: from values to bytes.

Sources: `Rows_event` in libs/mysql/binlog/event/rows_event.h, sql-common/my_time.cc and strings/decimal.cc of
https://github.com/mysql/mysql-server.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from onefold.mysql.table import SourceColumn, SourceType

Values = st.SearchStrategy[tuple[bytes, Any]]
"""The bytes of a value, and what lands of it."""


def packed(number: Decimal, precision: int, scale: int) -> bytes:
    """MySQL's form of a decimal."""
    digits = (
        f"{number.copy_abs():0{precision + (scale > 0) + 1}.{scale}f}".replace(".", "")[-precision:] if precision else ""
    )
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    first = len(whole) % 9
    groups = [whole[:first], *(whole[at : at + 9] for at in range(first, len(whole), 9))]
    groups += [fraction[at : at + 9] for at in range(0, len(fraction), 9)]
    data = b"".join(int(group).to_bytes((0, 1, 1, 2, 2, 3, 3, 4, 4, 4)[len(group)], "big") for group in groups if group)
    data = bytes([data[0] ^ 0x80]) + data[1:]
    return bytes(byte ^ 0xFF for byte in data) if number < 0 else data


def image(values: Sequence[bytes | None]) -> bytes:
    """The bits of the NULLs, then the other values."""
    nulls = sum(1 << index for index, value in enumerate(values) if value is None)
    return nulls.to_bytes((len(values) + 7) // 8, "little") + b"".join(value for value in values if value is not None)


def sized(data: bytes, width: int) -> bytes:
    return len(data).to_bytes(width, "little") + data


def integers(name: str, size: int, unsigned: bool) -> tuple[SourceColumn, Values]:
    low, high = (0, 256**size - 1) if unsigned else (-(256**size) // 2, 256**size // 2 - 1)
    land: Callable[[int], Any] = str if unsigned and size == 8 else int
    values = st.integers(low, high).map(lambda n: (n.to_bytes(size, "little", signed=not unsigned), land(n)))
    return SourceColumn("", SourceType(name, unsigned=unsigned)), values


def decimals(precision: int, scale: int) -> tuple[SourceColumn, Values]:
    def both(digits: int) -> tuple[bytes, str]:
        number = Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))
        return packed(number, precision, scale), f"{number:f}"

    digits = st.integers(-(10**precision) + 1, 10**precision - 1)
    return SourceColumn("", SourceType("decimal", precision, scale)), digits.map(both)


def texts(name: str, size: int | None, width: int, charset: str, codec: str) -> tuple[SourceColumn, Values]:
    alphabet = st.characters(codec=codec)
    most = (size or 60) // 4
    values = st.text(alphabet, max_size=most).map(lambda text: (sized(text.encode(codec), width), text))
    return SourceColumn("", SourceType(name, size), charset), values


def blobs(name: str, size: int | None, width: int) -> tuple[SourceColumn, Values]:
    def both(data: bytes) -> tuple[bytes, str]:
        landed = data.ljust(size or 0, b"\0") if name == "binary" else data
        return sized(data.rstrip(b"\0") if name == "binary" else data, width), base64.b64encode(landed).decode()

    return SourceColumn("", SourceType(name, size)), st.binary(max_size=size or 300).map(both)


def _fraction(microseconds: int, digits: int) -> tuple[bytes, str]:
    shown = f"{microseconds:06}"[:digits]
    return b"".join(int(shown[at : at + 2].ljust(2, "0")).to_bytes() for at in range(0, digits, 2)), shown and f".{shown}"


def _fraction_bytes(microseconds: int, digits: int) -> tuple[bytes, str]:
    """One byte for two digits, and all of them are one big-endian number."""
    pairs, shown = _fraction(microseconds, digits)
    number = int("".join(f"{pair:02}" for pair in pairs) or "0")
    return number.to_bytes(len(pairs), "big"), shown


def datetimes(digits: int) -> tuple[SourceColumn, Values]:
    def both(at: datetime) -> tuple[bytes, str]:
        fraction, shown = _fraction_bytes(at.microsecond, digits)
        month = at.year * 13 + at.month
        number = month << 22 | at.day << 17 | at.hour << 12 | at.minute << 6 | at.second
        return (number + (1 << 39)).to_bytes(5, "big") + fraction, f"{at:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + shown

    moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))
    return SourceColumn("", SourceType("datetime", digits)), moments.map(both)


def timestamps(digits: int) -> tuple[SourceColumn, Values]:
    def both(moment: tuple[int, int]) -> tuple[bytes, str]:
        fraction, shown = _fraction_bytes(moment[1], digits)
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment[0])
        return moment[0].to_bytes(4, "big") + fraction, f"{at:%Y-%m-%d %H:%M:%S}{shown}+00:00"

    moments = st.tuples(st.integers(1, 2**32 - 1), st.integers(0, 999_999))
    return SourceColumn("", SourceType("timestamp", digits)), moments.map(both)


def times(digits: int) -> tuple[SourceColumn, Values]:
    def both(time: tuple[bool, int, int, int, int]) -> tuple[bytes, str]:
        negative, hour, minute, second, microsecond = time
        fraction, shown = _fraction_bytes(microsecond, digits)
        size = len(fraction)
        number = (hour << 12 | minute << 6 | second) << 8 * size | int.from_bytes(fraction, "big")
        data = ((0x800000 << 8 * size) + (-number if negative else number)).to_bytes(3 + size, "big")
        sign = "-" if negative and number else ""
        return data, f"0-0 0 {sign}{hour:02}:{minute:02}:{second:02}{shown}"

    parts = (st.booleans(), st.integers(0, 838), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999_999))
    return SourceColumn("", SourceType("time", digits)), st.tuples(*parts).map(both)


def dates() -> tuple[SourceColumn, Values]:
    def both(at: date) -> tuple[bytes, str]:
        return (at.year << 9 | at.month << 5 | at.day).to_bytes(3, "little"), at.isoformat()

    return SourceColumn("", SourceType("date")), st.dates().map(both)


def bits(count: int) -> tuple[SourceColumn, Values]:
    size, land = (count + 7) // 8, str if count == 64 else int
    return SourceColumn("", SourceType("bit", count)), st.integers(0, 2**count - 1).map(
        lambda n: (n.to_bytes(size, "big"), land(n))
    )


def enums(count: int) -> tuple[SourceColumn, Values]:
    names = tuple(f"value {number}" for number in range(count))
    size = 1 if count < 256 else 2
    values = st.integers(0, count).map(lambda n: (n.to_bytes(size, "little"), ("", *names)[n]))
    return SourceColumn("", SourceType("enum", size), "utf8mb4", names), values


def sets(count: int, size: int) -> tuple[SourceColumn, Values]:
    names = tuple(f"s{number}" for number in range(count))
    chosen = st.sets(st.integers(0, count - 1))
    values = chosen.map(
        lambda some: (sum(1 << n for n in some).to_bytes(size, "little"), ",".join(names[n] for n in sorted(some)))
    )
    return SourceColumn("", SourceType("set", size), "utf8mb4", names), values


def floats(name: str, code: str, numbers: st.SearchStrategy[float]) -> tuple[SourceColumn, Values]:
    return SourceColumn("", SourceType(name)), numbers.map(lambda x: (struct.pack(f"<{code}", x), x))


INTEGERS = (("tinyint", 1), ("smallint", 2), ("mediumint", 3), ("int", 4), ("bigint", 8))
COLUMNS: tuple[tuple[SourceColumn, Values], ...] = (
    *(integers(name, size, unsigned) for name, size in INTEGERS for unsigned in (False, True)),
    *(decimals(*sizes) for sizes in ((10, 2), (1, 0), (2, 2), (18, 9), (20, 0), (38, 10), (65, 30), (30, 30))),
    floats("float", "f", st.floats(allow_nan=False, allow_infinity=False, width=32)),
    floats("double", "d", st.floats(allow_nan=False, allow_infinity=False)),
    *(bits(count) for count in (1, 8, 9, 63, 64)),
    (SourceColumn("", SourceType("year")), st.integers(0, 255).map(lambda n: (bytes([n]), n + 1900 if n else 0))),
    dates(),
    *(form(digits) for form in (datetimes, timestamps, times) for digits in (0, 1, 3, 6)),
    texts("varchar", 60, 1, "utf8mb4", "utf-8"), texts("varchar", 256, 2, "utf8mb3", "utf-8"),
    texts("char", 40, 1, "gbk", "gbk"), texts("varchar", 80, 1, "cp1251", "cp1251"),
    texts("tinytext", None, 1, "latin5", "iso8859-9"), texts("text", None, 2, "utf16", "utf-16-be"),
    texts("mediumtext", None, 3, "utf8mb4", "utf-8"), texts("longtext", None, 4, "utf32", "utf-32-be"),
    blobs("binary", 16, 1), blobs("binary", 300, 2), blobs("varbinary", 20, 1), blobs("tinyblob", None, 1),
    blobs("blob", None, 2), blobs("mediumblob", None, 3), blobs("longblob", None, 4),
    enums(3), enums(300), sets(3, 1), sets(9, 2), sets(17, 3), sets(33, 8), sets(64, 8),
)  # fmt: skip
"""A column of each form of a value, without a name, and its values."""
