"""What BigQuery cannot hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lossy:
    """What is left of a value, and of what kind it was: a `date` that is none, a `text` that is none."""

    value: str | None
    kind: str
