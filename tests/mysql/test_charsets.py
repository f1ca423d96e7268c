"""Text in the server's character sets: every character, invalid bytes, and character sets that cannot be read."""

from __future__ import annotations

import pytest
from support.source_database import SourceDatabase

from onefold.core.errors import InvalidInput
from onefold.mysql.charsets import SUPPORTED, decoder
from onefold.mysql.encodings import Unrepresentable

SINGLE_BYTES = sorted({
    "ascii", "latin1", "latin2", "latin5", "latin7", "greek", "hebrew", "cp850", "cp852", "cp866", "cp1250", "cp1251",
    "cp1256", "cp1257", "koi8r", "koi8u", "macroman", "macce", "tis620",
})  # fmt: skip


@pytest.mark.parametrize("charset", SINGLE_BYTES)
def test_every_character_of_a_set_is_read_as_the_server_reads_it(source: SourceDatabase, charset: str) -> None:
    values = ", ".join(
        f"CONVERT(_{charset} x'{number:02x}' USING utf8mb4)" for number in range(256 if charset != "ascii" else 128)
    )
    ((*texts,),) = source.rows(f"SELECT {values}")
    # The server converts a byte without a character to U+FFFD or `?`.
    known = {number: text for number, text in enumerate(texts) if text not in ("\ufffd", "?") or number == ord("?")}
    assert {number: decoder(charset)(bytes([number])) for number in known} == known
    assert len(known) >= 128


# Characters and bytes as the Unicode standard and the definitions of the character sets pair them.
@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("utf8mb4", "f09f9880", "😀"),
        ("utf8mb3", "c3a9", "é"),
        ("ucs2", "65e5", "日"),
        ("utf16", "d83dde00", "😀"),
        ("utf16le", "3dd800de", "😀"),
        ("utf32", "0001f600", "😀"),
        ("gbk", "c8d5", "日"),
        ("gb2312", "c8d5", "日"),
        ("gb18030", "9439fc36", "😀"),
        ("euckr", "c7d1", "한"),
        ("cp932", "93fa", "日"),
        ("latin1", "80", "€"),
        ("latin2", "e8", "č"),
        ("cp1251", "c6", "Ж"),
        ("koi8r", "f6", "Ж"),
    ],
)
def test_text_is_decoded_in_its_character_set(charset: str, data: str, text: str) -> None:
    assert decoder(charset)(bytes.fromhex(data)) == text


@pytest.mark.parametrize("byte", [0x81, 0x8D, 0x8F, 0x90, 0x9D])
def test_latin1_has_control_characters_where_cp1252_has_none(byte: int) -> None:
    """https://dev.mysql.com/doc/refman/8.4/en/charset-we-sets.html: MySQL's latin1 assigns positions for these bytes."""
    assert decoder("latin1")(bytes([byte])) == chr(byte)


@pytest.mark.parametrize(
    ("charset", "data", "replacement"),
    [
        ("utf8mb4", b"a\xffb", "a\ufffdb"),
        ("ucs2", b"\xd8\x00", "\ufffd"),
        ("ascii", b"a\x80", "a\ufffd"),
        ("cp1257", b"a\xa1b", "a\ufffdb"),
    ],
)
def test_invalid_bytes_are_replaced_and_reported_as_a_loss(charset: str, data: bytes, replacement: str) -> None:
    assert decoder(charset)(data) == Unrepresentable(replacement, "text")


def test_empty_text_is_empty_in_every_character_set() -> None:
    assert {decoder(charset)(b"") for charset in SUPPORTED} == {""}


@pytest.mark.parametrize("charset", ["swe7", "big5", "sjis", "binary", ""])
def test_a_character_set_that_cannot_be_read_is_refused_with_a_remedy(charset: str) -> None:
    assert charset not in SUPPORTED
    with pytest.raises(InvalidInput, match=f"character set {charset} cannot be read; convert it to utf8mb4"):
        decoder(charset)
