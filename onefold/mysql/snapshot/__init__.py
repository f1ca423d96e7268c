"""Copies of tables, read consistently and in the order of a key."""
