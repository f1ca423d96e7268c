"""The key of keyed hashes."""

from __future__ import annotations

import hashlib

import pytest

from onefold.core.errors import InvalidInput
from onefold.core.hash_key import HashKey

# RFC 4231, test case 6 uses a longer key; this is the HMAC of RFC 2104 written out once more.
SECRET = bytes(range(32))


def test_hash_is_hmac_from_the_pads() -> None:
    inner, outer = map(bytes.fromhex, HashKey(SECRET).pads)
    expected = hashlib.sha256(outer + hashlib.sha256(inner + "ż".encode()).digest()).hexdigest()
    assert HashKey(SECRET).hash("ż".encode()) == expected


def test_key_is_read_from_hexadecimal_digits() -> None:
    assert HashKey.parse(f" {SECRET.hex().upper()}\n", "key.txt") == HashKey(SECRET)


@pytest.mark.parametrize("text", ["", "00" * 31, "00" * 65, "zz" * 32, "0" * 65, "٣" * 64])
def test_wrong_key_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"key\.txt: expected 64 to 128 hexadecimal digits") as raised:
        HashKey.parse(text, "key.txt")
    assert not text or text not in str(raised.value)


def test_key_is_not_in_its_text() -> None:
    key = HashKey(SECRET)
    assert not [part for part in (SECRET.hex(), repr(SECRET), *key.pads) if part in f"{key!r}{key}"]


def test_new_keys_differ() -> None:
    assert HashKey.new() != HashKey.new()
    assert len(HashKey.new().secret) == 32


def test_key_of_its_pads_hashes_alike() -> None:
    key = HashKey(SECRET)
    read = HashKey.from_pads(*key.pads, "keys")
    assert (read.hash(b"x"), read.fingerprint) == (key.hash(b"x"), key.fingerprint)


@pytest.mark.parametrize("number", [0, 1])
def test_pads_of_two_keys_are_refused_and_not_shown(number: int) -> None:
    pads = [*HashKey(SECRET).pads]
    pads[number] = HashKey(SECRET[::-1]).pads[number]
    with pytest.raises(InvalidInput, match="keys: expected the two pads of one key") as raised:
        HashKey.from_pads(pads[0], pads[1], "keys")
    assert not [pad for pad in pads if pad in str(raised.value)]
    with pytest.raises(InvalidInput, match="two pads"):
        HashKey.from_pads("", pads[1], "keys")


def test_fingerprint_tells_keys_apart() -> None:
    assert HashKey(SECRET).fingerprint != HashKey(SECRET[::-1]).fingerprint
    assert HashKey(SECRET).fingerprint not in "".join(HashKey(SECRET).pads)
