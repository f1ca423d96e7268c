"""Messages of the topic `change-records`: records of one version's table, packed until a message is full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LIMIT = 400_000
"""The most bytes of a message."""
_TAIL = b"]}"

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def encoded(record: Mapping[str, Any]) -> bytes:
    """A record as it stands in a message."""
    return _encode(record).encode()


def head_of(dataset: str, table: str, version: str) -> bytes:
    """How every message of a version's table begins."""
    body = {"dataset": dataset, "table": {"name": table, "version": version}}
    return encoded(body)[:-1] + b',"records":['


def reference(head: bytes, address: str) -> bytes:
    """A message in place of one that is too large, which lies at an address."""
    return head.removesuffix(b'"records":[') + b'"records_at":' + _encode(address).encode() + b"}"


@dataclass
class MessageBuilder:
    """A message while it is packed. One record always has room, however large it is."""

    head: bytes
    limit: int = LIMIT
    records: list[bytes] = field(default_factory=list)
    size: int = 0

    def __post_init__(self) -> None:
        self.size = len(self.head) + len(_TAIL)

    def takes(self, record: bytes) -> bool:
        """Whether a record has room beside the others."""
        return not self.records or self.size + len(record) + 1 <= self.limit

    def add(self, record: bytes) -> None:
        self.size += len(record) + bool(self.records)
        self.records.append(record)

    @property
    def too_large(self) -> bool:
        return self.size > self.limit

    def data(self) -> bytes:
        return self.head + b",".join(self.records) + _TAIL
