"""Fixtures that every test may use."""

from __future__ import annotations

import pytest

from judge import Judge


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Google's analyzer and evaluator: it takes seconds to start, so one serves the whole session."""
    return Judge()
