"""The effects of SQL statements on tables."""
