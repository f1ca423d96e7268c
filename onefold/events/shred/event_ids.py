"""The ids that a run keeps of its events, by which later runs find duplicates."""

from __future__ import annotations

import xxhash

ID, FINGERPRINT, HASH = "event_id", "fingerprint", "id_hash"
"""The columns of the ids. The last one is 8 bytes, and all that most ids are compared by."""
_SEED = 42


def hash_of(id_: str) -> int:
    """Return 64 bits of an id with their sign, by which later runs find it: the same in every release, since runs keep them.

    They are those of Spark's function xxhash64.

    Examples:
        >>> hash_of("e1")
        -2570972917046734672
    """
    found = bits_of(id_.encode("utf-8", "surrogatepass"))
    return found if found < 1 << 63 else found - (1 << 64)


def bits_of(id_: bytes) -> int:
    """Return the same 64 bits without a sign."""
    return xxhash.xxh64_intdigest(id_, _SEED)
