"""Fixtures of the tests of loads of events."""

from support.event_loads import events  # noqa: F401 a fixture
