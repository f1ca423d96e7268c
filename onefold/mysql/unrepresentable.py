"""What BigQuery cannot hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unrepresentable:
    """What is left of a value, and its kind: a `date` or a `text` that is none, a `geometry` without bytes."""

    value: str | None
    kind: str
