"""Statements in the log: their database and text, from the body of a QUERY_EVENT or an EXECUTE_LOAD_QUERY_EVENT.

The body: thread (4 bytes), seconds (4), length of the database's name (1), error (2), length of the session's settings (2);
for EXECUTE_LOAD_QUERY_EVENT 13 more bytes about the file; then the settings, the database's name and a zero, the text.

Sources: `Query_event` in libs/mysql/binlog/event/statement_events.h of https://github.com/mysql/mysql-server; "QUERY_EVENT",
https://mariadb.com/kb/en/query_event/.
"""

from __future__ import annotations

from collections.abc import Mapping

from onefold.mysql.charsets import SUPPORTED, decoder

QUERY_HEADER, EXECUTE_LOAD_HEADER = 13, 26
"""Bytes before the session's settings."""
_ESCAPING = {"sjis": "cp932", "big5": "big5hkscs", "ujis": "euc_jp", "eucjpms": "euc_jp"}
"""Character sets whose columns are refused but whose statements are read: the second byte of a character may be that of a
backslash, which must not be taken for an escape."""
_SQL_MODE, _CHARSET, _CATALOG = 1, 4, 6
_SIZES = {0: 4, _SQL_MODE: 8, 3: 4, _CHARSET: 6}
"""Bytes of flags, the SQL mode, steps of AUTO_INCREMENT and the character sets, by the number of the setting."""


def statement(body: bytes, header: int, charsets: Mapping[int, str]) -> tuple[str, str, int]:
    """Return the database, the text and the SQL mode of a statement.

    Args:
        body: the event without header and checksum.
        header: bytes before the session's settings.
        charsets: the character set of each collation, by the server's numbers.
    """
    names = header + int.from_bytes(body[11:13], "little")
    text = names + body[8] + 1
    settings = _settings(body[header:names])
    # The setting has three collations of two bytes each; the client's is the first.
    sql = _decoded(body[text:], settings.get(_CHARSET, 0) & 0xFFFF, charsets)
    return body[names : text - 1].decode(), sql, settings.get(_SQL_MODE, 0)


def _decoded(text: bytes, client: int, charsets: Mapping[int, str]) -> str:
    """Decode a statement as UTF-8, in which servers write their own statements; else in the client's character set."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        charset = charsets.get(client, "")
        if charset in _ESCAPING:
            return text.decode(_ESCAPING[charset], "replace")
        sql = decoder(charset)(text) if charset in SUPPORTED else text.decode(errors="replace")
        return sql if isinstance(sql, str) else sql.value or ""


def _settings(data: bytes) -> dict[int, int]:
    """Return a session's settings, by the server's numbers, as little-endian integers.

    Servers write the settings that all of them know first. Reading ends at the first unknown one, whose size is unknown too.
    """
    found: dict[int, int] = {}
    at = 0
    while at < len(data) and data[at] in (*_SIZES, _CATALOG):
        key, at = data[at], at + 1
        size = _SIZES.get(key) or 1 + data[at]
        found[key] = int.from_bytes(data[at : at + size], "little")
        at += size
    return found
