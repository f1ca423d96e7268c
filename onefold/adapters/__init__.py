"""One module for each outside system; `connect` chooses between BigQuery and its emulator."""
