"""Statements in the log: their database and text, from the bytes of an event."""

from __future__ import annotations

from collections.abc import Mapping

from onefold.mysql.charsets import SUPPORTED, decoder

_ESCAPING = {"sjis": "cp932", "big5": "big5hkscs", "ujis": "euc_jp", "eucjpms": "euc_jp"}
"""Character sets whose columns are not read. Statements in them are: the second byte of a character may be that of a
backslash, which escapes no quote."""
_SQL_MODE, _CHARSET, _CATALOG = 1, 4, 6
_SIZES = {0: 4, _SQL_MODE: 8, 3: 4, _CHARSET: 6}
"""Bytes of flags, the SQL mode, steps of AUTO_INCREMENT and the character set."""


def statement(body: bytes, header: int, charsets: Mapping[int, str]) -> tuple[str, str, int]:
    """Database, text and SQL mode of a statement.

    Args:
        header: how many bytes there are before the session's settings.
        charsets: the character set of each collation, by the server's numbers.
    """
    names = header + int.from_bytes(body[11:13], "little")
    text = names + body[8] + 1
    settings = _settings(body[header:names])
    found = _decoded(body[text:], settings.get(_CHARSET, 0) & 0xFFFF, charsets)
    return body[names : text - 1].decode(), found, settings.get(_SQL_MODE, 0)


def _decoded(text: bytes, client: int, charsets: Mapping[int, str]) -> str:
    """In the character set of the client, unless it is UTF-8, as is what a server writes by itself."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        charset = charsets.get(client, "")
        if charset in _ESCAPING:
            return text.decode(_ESCAPING[charset], "replace")
        found = decoder(charset)(text) if charset in SUPPORTED else text.decode(errors="replace")
        return found if isinstance(found, str) else found.value or ""


def _settings(data: bytes) -> dict[int, int]:
    """What a session was set to, by the server's numbers, as little-endian numbers; the client's collation is the first half
    of the character sets. Servers write these before what only some of them know, where reading ends.
    """
    found: dict[int, int] = {}
    at = 0
    while at < len(data) and data[at] in (*_SIZES, _CATALOG):
        key, at = data[at], at + 1
        size = _SIZES.get(key) or 1 + data[at]
        found[key] = int.from_bytes(data[at : at + size], "little")
        at += size
    return found
