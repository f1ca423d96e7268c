"""Onefold: every version of every table, as one."""

__version__ = "0.1.0"
