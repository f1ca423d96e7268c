"""Self-describing JSON, as rows of the tables of its schemas."""
