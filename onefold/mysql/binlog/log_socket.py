"""A connection on which a server sends its binary log, in packets that PyMySQL does not read.

PyMySQL logs in and runs the first statements, on a socket that is made here. What follows the request for the log are
packets of the replication protocol, each with a length of 3 bytes and a number of 1 byte before it. Source: "MySQL Packets",
https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, cast

import pymysql
from pymysql.constants import CR

from onefold.core.text import reason_of

_LARGEST = 0xFFFFFF
"""The length of a packet that goes on in the next one."""
_LENGTH = struct.Struct("<I")
"""The length in 3 bytes and the number in 1."""
_OK, _EOF = 0x00, 0xFE
_BUFFER_BYTES = 1 << 16


class LogSocket:
    """A connection to a server: for statements at first, and for its log once it was asked for."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Open the connection.

        Args:
            settings: the arguments of PyMySQL's `connect`.

        Raises:
            OperationalError: the server cannot be reached, or refuses the user.
        """
        self.connection = pymysql.Connection(**settings, defer_connect=True)
        self._timeout = settings["read_timeout"]
        try:
            self._socket = socket.create_connection((settings["host"], settings["port"]), settings["connect_timeout"])
        except OSError as error:
            text = f"Can't connect to MySQL server on {settings['host']!r} ({reason_of(error)})"
            raise pymysql.err.OperationalError(CR.CR_CONN_HOST_ERROR, text) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self.connection.ssl:
            self._keep_wrapped(self.connection.ctx)
        self.connection.connect(self._socket)

    def _keep_wrapped(self, context: Any) -> None:
        """Keep the socket by which the context replaces ours where the server offers TLS."""
        wrap = context.wrap_socket

        def wrap_socket(plain: socket.socket, **names: Any) -> socket.socket:
            self._socket = wrap(plain, **names)
            return self._socket

        context.wrap_socket = wrap_socket

    def packets(self, request: bytes) -> Iterator[bytes]:
        """Ask for the log, and yield its packets: each event behind a byte that is 0. A log may end, if that was asked for.

        Args:
            request: a command with its arguments.

        Raises:
            OperationalError: the connection is lost.
            MySQLError: the server refuses the request.
        """
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(struct.pack("<I", len(request)) + request)  # its number is 0
            with self._socket.makefile("rb", _BUFFER_BYTES) as stream:
                packet = b""
                for packet in _packets(cast("BinaryIO", stream)):
                    if packet[0] != _OK:
                        break
                    yield packet
        except OSError as error:
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, f"the connection was lost ({reason_of(error)})") from error
        if packet[0] != _EOF:
            pymysql.err.raise_mysql_exception(packet)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
        self._socket.close()


def _packets(stream: BinaryIO) -> Iterator[bytes]:
    """Yield packet after packet, each of one or more parts.

    Raises:
        ConnectionError: the server has closed the connection.
    """
    read = stream.read
    parts: list[bytes] = []
    while True:
        header = read(4)
        length = _LENGTH.unpack(header)[0] & _LARGEST if len(header) == _LENGTH.size else -1
        part = read(length) if length >= 0 else b""
        if len(part) != length:
            raise ConnectionError("the server closed it")
        if length == _LARGEST or parts:
            parts.append(part)
            if length == _LARGEST:
                continue
            part, parts = b"".join(parts), []
        yield part
