"""Versioned tables: how they are made, which rows and columns they get, and how they are announced."""
