"""The bytes of a result, divided into rows: packets as the protocol has them, however they come."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.mysql.text_rows import text_rows

_MOST = 2**24 - 1
_END = b"\xfe\x00\x00\x02\x00"
_DENIED = b"\xff" + struct.pack("<H", 1142) + b"#42000SELECT command denied"


def packets(payloads: Sequence[bytes]) -> bytes:
    """Payloads with their headers, in parts of 16 MB less one byte; one of just that size has an empty part behind it."""
    found, number = [], 0
    for payload in payloads:
        parts = [payload[at : at + _MOST] for at in range(0, len(payload) + 1, _MOST)]
        for part in parts:
            found.append(struct.pack("<I", len(part))[:3] + bytes([number % 256]) + part)
            number += 1
    return b"".join(found)


def text(value: bytes | None) -> bytes:
    """A text of a row, by the protocol's lengths."""
    if value is None:
        return b"\xfb"
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    if size < 2**16:
        return b"\xfc" + struct.pack("<H", size) + value
    return (b"\xfd" + struct.pack("<I", size)[:3] if size < 2**24 else b"\xfe" + struct.pack("<Q", size)) + value


class Server:
    """A connection whose result is some bytes, which come in pieces. It honours what `text_rows` asks of PyMySQL's."""

    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        self._data, self._sizes = data, list(sizes)
        self._rfile, self._result, self.closed = self, self, False
        self.unbuffered_active = True

    def cursor(self, _: Any) -> Server:
        return self

    def execute(self, sql: str) -> None:
        assert sql == "SELECT 1"

    def close(self) -> None:
        assert not self.unbuffered_active

    def read1(self, size: int) -> bytes:
        size = min(self._sizes.pop() if self._sizes else size, size)
        found, self._data = self._data[:size], self._data[size:]
        return found

    def _force_close(self) -> None:
        self.closed = True


def rows_of(server: Any) -> list[bytes | None]:
    return [row for rows in text_rows(server, "SELECT 1") for row in rows]


_values = st.lists(st.none() | st.binary(max_size=6) | st.sampled_from([b"x" * 250, b"y" * 251, b"z" * 65_536]), max_size=30)


@given(values=_values, sizes=st.lists(st.integers(1, 400), max_size=60))
def test_rows_are_those_that_were_sent(values: list[bytes | None], sizes: list[int]) -> None:
    assert rows_of(Server(packets([*map(text, values), _END]), sizes)) == values


@pytest.mark.parametrize("size", [_MOST - 5, _MOST - 4, _MOST - 3, 2**24, 2 * _MOST - 9, 2 * _MOST])
def test_a_row_of_several_packets_is_one_row(size: int) -> None:
    values = [b"a", b"b" * size, None]
    rows = rows_of(Server(packets([*map(text, values), _END]), [random.randint(1, 2**16) for _ in range(9)]))
    assert rows == values


def test_an_error_among_the_rows_is_raised() -> None:
    with pytest.raises(pymysql.err.OperationalError, match="SELECT command denied"):
        rows_of(Server(packets([text(b"a"), _DENIED]), []))


@pytest.mark.parametrize("cut", [1, 5, 9, 12])
def test_a_result_that_ends_early_is_an_error(cut: int) -> None:
    server = Server(packets([text(b"a"), _END])[:-cut], [])
    with pytest.raises(pymysql.err.OperationalError, match="Lost connection"):
        rows_of(server)
    assert server.closed
