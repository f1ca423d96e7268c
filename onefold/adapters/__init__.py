"""One module for each outside system; `connect` chooses between BigQuery and the embedded one of the lab."""
