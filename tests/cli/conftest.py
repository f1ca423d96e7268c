"""Fixtures of the tests of the command line."""

from support.event_loads import events  # noqa: F401 a fixture
