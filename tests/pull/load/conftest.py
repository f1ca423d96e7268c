"""The table of most loads from real servers."""

from support.changed_table import scene  # noqa: F401
