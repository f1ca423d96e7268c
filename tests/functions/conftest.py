"""Fixtures of the tests of functions."""

from support.event_loads import events  # noqa: F401 a fixture
