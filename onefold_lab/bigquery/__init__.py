"""The server of the embedded BigQuery: `bqemulator`, corrected where its answers differ from those of BigQuery."""
