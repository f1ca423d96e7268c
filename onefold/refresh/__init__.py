"""Both views of a table, kept by one message."""
