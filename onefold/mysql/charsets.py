"""Decoders for text in the character sets of MySQL and MariaDB, which read text as their servers do.

Source: "Character Sets and Collations", https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html; the tests compare
each byte with real servers.
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onefold.core.errors import InvalidInput
from onefold.mysql.encodings import Unrepresentable

Decode = Callable[[bytes], str | Unrepresentable]

# Python's names of the codecs.
_CODECS = {
    "utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "ascii": "ascii",
    "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be",
    "gb2312": "gb2312", "gbk": "gbk", "gb18030": "gb18030", "euckr": "cp949", "cp932": "cp932",
}  # fmt: skip
_SINGLE_BYTES = {
    "latin1": "cp1252", "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "greek": "iso8859-7",
    "hebrew": "iso8859-8", "cp850": "cp850", "cp852": "cp852", "cp866": "cp866", "cp1250": "cp1250", "cp1251": "cp1251",
    "cp1256": "cp1256", "cp1257": "cp1257", "koi8r": "koi8-r", "koi8u": "koi8-u", "macroman": "mac-roman",
    "macce": "mac-latin2", "tis620": "tis-620",
}  # fmt: skip
_EXCEPTIONS: Mapping[str, Mapping[int, str]] = {
    "cp866": {0xFC: "ⁿ", 0xFD: "²"},
    "greek": {0xA1: "ʽ", 0xA2: "ʼ"},
    "hebrew": {0xAF: "‾"},
    "koi8u": {0x95: "•"},
}
"""Bytes that the server reads differently from Python's codec."""

SUPPORTED = frozenset({*_CODECS, *_SINGLE_BYTES})


@functools.cache
def decoder(charset: str) -> Decode:
    """Return the function that decodes bytes of a character set. Invalid bytes become U+FFFD, and are reported as a loss.

    Args:
        charset: the server's name of the character set.

    Raises:
        InvalidInput: text of this character set cannot be read.

    Examples:
        >>> decoder("latin1")(bytes([0xE9, 0x80]))
        'é€'
    """
    if charset in _SINGLE_BYTES:
        return functools.partial(_decode_by_table, _table(charset))
    if charset not in _CODECS:
        raise InvalidInput(
            f"text of the character set {charset} cannot be read; convert it to utf8mb4, or exclude the table"
        )
    return functools.partial(_decode, _CODECS[charset])


def is_utf8(charset: str) -> bool:
    """Return whether the text of a character set is UTF-8."""
    return _CODECS.get(charset) == "utf-8"


def _decode(codec: str, data: bytes) -> str | Unrepresentable:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return Unrepresentable(data.decode(codec, "replace"), "text")


def _decode_by_table(table: str, data: bytes) -> str | Unrepresentable:
    text = codecs.charmap_decode(data, "replace", table)[0]
    return Unrepresentable(text, "text") if "\ufffd" in text else text


def _table(charset: str) -> str:
    """Return the 256 characters of a character set; U+FFFD for a byte without a character."""
    return "".join(_character(charset, number) for number in range(256))


def _character(charset: str, number: int) -> str:
    if number in _EXCEPTIONS.get(charset, {}):
        return _EXCEPTIONS[charset][number]
    try:
        return bytes([number]).decode(_SINGLE_BYTES[charset])
    except UnicodeDecodeError:
        return (
            chr(number) if charset == "latin1" else "\ufffd"
        )  # the server's latin1 has control characters where cp1252 has none


@dataclass(frozen=True)
class Dialect:
    """The properties of a server that decide how an event's bytes are read."""

    mariadb: bool
    charsets: Mapping[int, str]
    """The character set of each collation, by the server's numbers."""
    lower_names: bool = False
    """Whether the server stores names of databases and tables in lower case (`lower_case_table_names = 1`)."""
