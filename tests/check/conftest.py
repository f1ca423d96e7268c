"""The table of most checks."""

from support.checked_table import scene  # noqa: F401
