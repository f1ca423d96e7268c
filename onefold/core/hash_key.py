"""The key of keyed hashes: HMAC-SHA256, computed here and, from two stored pads, in SQL."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from onefold.core.errors import InvalidInput

_BLOCK = 64  # bytes of a block of SHA-256 (RFC 2104)
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2}){32,64}")
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
        inner, outer = (bytes(byte ^ pad for byte in padded).hex() for pad in (0x36, 0x5C))
        return inner, outer

    def hash(self, value: bytes) -> str:
        """Return the keyed hash of a value in hexadecimal, as a clean view shows it.

        Examples:
            >>> HashKey(b"k" * 32).hash(b"ada@example.com")[:12]
            '1c46a892e933'
        """
        return hmac.new(self.secret, value, hashlib.sha256).hexdigest()
