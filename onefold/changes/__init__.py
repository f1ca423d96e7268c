"""The ledger of changes: each change of a schema or of a setting as one entry, with what views make of it."""
