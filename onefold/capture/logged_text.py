"""Statements in the log: their database and text, from the bytes of an event."""

from __future__ import annotations

from collections.abc import Mapping

from onefold.capture.charsets import SUPPORTED, decoder

_CHARSET, _CATALOG = 4, 6
_SIZES = {0: 4, 1: 8, 3: 4}
"""Of what may stand before the character set: flags, the SQL mode, steps of AUTO_INCREMENT."""


def statement(body: bytes, header: int, charsets: Mapping[int, str]) -> tuple[str, str]:
    """Database and text of a statement.

    Args:
        header: how many bytes there are before the session's settings.
        charsets: the character set of each collation, by the server's numbers.
    """
    names = header + int.from_bytes(body[11:13], "little")
    text = names + body[8] + 1
    return body[names : text - 1].decode(), _decoded(body[text:], _client(body[header:names]), charsets)


def _decoded(text: bytes, client: int, charsets: Mapping[int, str]) -> str:
    """In the character set of the client, unless it is UTF-8, as is what a server writes by itself."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        charset = charsets.get(client, "")
        found = decoder(charset)(text) if charset in SUPPORTED else text.decode(errors="replace")
        return found if isinstance(found, str) else found.value or ""


def _client(settings: bytes) -> int:
    """The client's collation, among what else a session was set to; servers write it before what only some of them know."""
    at = 0
    while at < len(settings):
        key, at = settings[at], at + 1
        if key == _CHARSET:
            return int.from_bytes(settings[at : at + 2], "little")
        if key not in (*_SIZES, _CATALOG):
            break
        at += _SIZES.get(key) or 1 + settings[at]
    return 0
