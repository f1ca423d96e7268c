"""Measurements of a running process, as a monitoring system reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One measurement at the present time."""

    name: str
    """In Prometheus' form: with the unit at the end, and without `_total`."""
    text: str
    """The meaning, as one sentence."""
    kind: Literal["gauge", "counter"]
    value: float
    labels: Mapping[str, str]
