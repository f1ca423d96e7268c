"""Numbers that are read as times: `from: unix_millis` in the settings."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.schema.types import Scalar


@dataclass(frozen=True)
class UnixTime(Scalar):
    """Landed numbers that count units of time since 1970-01-01 UTC, because the settings say so. No column has this type."""

    unit: str

    def __str__(self) -> str:
        return f"{self.name} as {self.unit}"
