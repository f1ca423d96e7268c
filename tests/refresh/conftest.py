"""Fixtures of the tests of the handler that keeps the views."""

from __future__ import annotations

import pytest
from support.memory_handler import MemoryHandler


@pytest.fixture
def handler(capsys: pytest.CaptureFixture[str]) -> MemoryHandler:
    """Return a handler whose warehouse has two versions and no view."""
    return MemoryHandler(capsys)
