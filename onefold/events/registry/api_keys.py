"""The keys of the registry's API: stored as hashes, compared in constant time, each for some vendors."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from onefold.core.errors import InvalidInput
from onefold.core.text import shortened
from onefold.events.registry.schema_key import part_problems

ALL_VENDORS = "*"
_HASH = re.compile(r"[0-9a-f]{64}")
_FIELDS = frozenset({"name", "sha256", "vendors", "access"})
_ADVICE = "make one with `onefold schema key create`"


class Access(StrEnum):
    """What a key allows; a key that writes also reads."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True)
class ApiKey:
    """A key as it is stored.

    Attributes:
        name: what it is for, for people and the log.
        digest: the SHA-256 of the key. A key has 122 random bits, so that a slow hash would add nothing.
        vendors: prefixes of vendors, whole parts: com.acme is for com.acme and com.acme.shop, and `*` for all.
        access: what it allows.
    """

    name: str
    digest: str
    vendors: tuple[str, ...]
    access: Access

    def reads(self, vendor: str) -> bool:
        """Return whether the key may read the schemas of a vendor."""
        return is_below(vendor, self.vendors)

    def writes(self, vendor: str) -> bool:
        """Return whether the key may add schemas of a vendor."""
        return self.access is Access.WRITE and self.reads(vendor)


def is_below(vendor: str, prefixes: Iterable[str]) -> bool:
    """Return whether a vendor has one of some prefixes, by whole parts.

    Examples:
        >>> is_below("com.acme.shop", ["com.acme"]), is_below("com.acmeshop", ["com.acme"]), is_below("com.acme", ["*"])
        (True, False, True)
    """
    return any(prefix == ALL_VENDORS or f"{vendor}.".startswith(f"{prefix}.") for prefix in prefixes)


def create_key() -> str:
    """Return a new random key: a UUID, since tools for Iglu take no other text."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def hash_key(key: str) -> str:
    """Return the hash under which a key is stored."""
    return hashlib.sha256(key.strip().lower().encode()).hexdigest()


def find_key(keys: Iterable[ApiKey], presented: str) -> ApiKey | None:
    """Return the key that a request presents; None where it is unknown. The time does not depend on the keys' content."""
    digest, found = hash_key(presented), None
    for key in keys:  # all of them: an early end would tell how far a key is from the first
        if hmac.compare_digest(key.digest, digest):
            found = key
    return found


def stored_key(name: str, key: str, vendors: Iterable[str], access: Access) -> dict[str, Any]:
    """Return the entry of a key for the file of keys.

    Args:
        name: what it is for.
        key: the key itself, which the entry does not contain.
        vendors: prefixes of vendors, or `*`.
        access: what it allows.
    """
    return {"name": name, "sha256": hash_key(key), "vendors": list(vendors), "access": str(access)}


def vendor_problems(vendors: Iterable[object]) -> list[str]:
    """Return why prefixes of vendors are not valid."""
    return [problem for vendor in vendors if vendor != ALL_VENDORS for problem in part_problems("vendor", vendor)]


def parse_keys(data: str | bytes, place: str) -> tuple[ApiKey, ...]:
    """Return the keys of a file: `{"keys": [{"name": ..., "sha256": ..., "vendors": [...], "access": "read"}]}`.

    Args:
        data: the content of the file.
        place: the file, for errors.

    Raises:
        InvalidInput: the content is not valid; the error lists all problems, and shows no hash.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{place} is not JSON: {error}; {_ADVICE}") from error
    rows = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise InvalidInput(f'{place}: expected {{"keys": [...]}}; {_ADVICE}')
    problems = [f"{place}: {problem}; {_ADVICE}" for problem in _problems(rows)]
    if problems:
        raise InvalidInput(problems)
    return tuple(ApiKey(row["name"], row["sha256"], tuple(row["vendors"]), Access(row["access"])) for row in rows)


def _problems(rows: list[Any]) -> Iterator[str]:
    names: set[str] = set()
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or row.keys() != _FIELDS:
            yield f"key {number}: expected the fields {', '.join(sorted(_FIELDS))}"
            continue
        name = row["name"]
        yield from (f"key {number} {problem}" for problem in _field_problems(row))
        if isinstance(name, str) and name in names:
            yield f"key {number}: the name {shortened(name)} is taken"
        names.add(str(name))


def _field_problems(row: Mapping[str, Any]) -> Iterator[str]:
    vendors = row["vendors"]
    if not isinstance(row["name"], str) or not row["name"]:
        yield "name: expected a text"
    if not isinstance(row["sha256"], str) or not _HASH.fullmatch(row["sha256"]):
        yield "sha256: expected 64 digits from 0 to f, the hash of the key and not the key itself"
    if not isinstance(vendors, list) or not vendors:
        yield 'vendors: expected a list of prefixes, or ["*"]'
    else:
        yield from (f"vendors: {problem}" for problem in vendor_problems(vendors))
    if row["access"] not in tuple(Access):
        yield f"access: expected read or write, got {shortened(str(row['access']))}"
