"""The key of keyed hashes: HMAC-SHA256, computed here and, from two stored pads, in SQL."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from onefold.core.errors import InvalidInput

_BLOCK = 64  # bytes of a block of SHA-256 (RFC 2104)
_INNER, _OUTER = 0x36, 0x5C  # ipad and opad of RFC 2104
_FINGERPRINT = 16
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2}){32,64}")
_PAD = re.compile(r"[0-9a-fA-F]{128}")
_NEW = 32


@dataclass(frozen=True)
class HashKey:
    """A secret key. Its text form never shows the key, so that no log does.

    Attributes:
        secret: from 32 to 64 bytes.
    """

    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> HashKey:
        """Return a new random key."""
        return cls(secrets.token_bytes(_NEW))

    @classmethod
    def parse(cls, text: str, where: str) -> HashKey:
        """Return the key of a text.

        Args:
            text: the key in hexadecimal; space around it is ignored.
            where: where the text comes from, for the error, which does not show the text.

        Raises:
            InvalidInput: the text is no key.
        """
        if not _HEXADECIMAL.fullmatch(text.strip()):
            raise InvalidInput(f"{where}: expected 64 to 128 hexadecimal digits: make a key with `openssl rand -hex 32`")
        return cls(bytes.fromhex(text.strip()))

    @property
    def pads(self) -> tuple[str, str]:
        """The key XOR ipad and XOR opad (RFC 2104), in hexadecimal."""
        padded = self.secret.ljust(_BLOCK, b"\0")
        return _xor(padded, _INNER).hex(), _xor(padded, _OUTER).hex()

    @classmethod
    def from_pads(cls, inner: str, outer: str, where: str) -> HashKey:
        """Return the key of two pads. It hashes like the key that the pads were made of.

        Args:
            inner: the key XOR ipad, in hexadecimal.
            outer: the key XOR opad.
            where: where the pads come from, for the error, which does not show them.

        Raises:
            InvalidInput: the two texts are not the pads of one key.
        """
        if _PAD.fullmatch(inner) and _PAD.fullmatch(outer):
            padded = _xor(bytes.fromhex(inner), _INNER)
            if padded == _xor(bytes.fromhex(outer), _OUTER):
                return cls(padded)
        raise InvalidInput(f"{where}: expected the two pads of one key: write a key with `onefold policies key --rotate`")

    @property
    def fingerprint(self) -> str:
        """A text by which two keys are told apart, and from which the key cannot be computed."""
        return self.hash(b"onefold: fingerprint of a key")[:_FINGERPRINT]

    def hash(self, value: bytes) -> str:
        """Return the keyed hash of a value in hexadecimal, as a clean view shows it.

        Examples:
            >>> HashKey(b"k" * 32).hash(b"ada@example.com")[:12]
            '1c46a892e933'
        """
        return hmac.new(self.secret, value, hashlib.sha256).hexdigest()


def _xor(data: bytes, pad: int) -> bytes:
    return bytes(byte ^ pad for byte in data)
