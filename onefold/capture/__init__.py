"""Capture: from a MySQL or MariaDB binary log to versioned tables."""
