"""Errors, names, retries, logs and shutdown, on the standard library alone."""
