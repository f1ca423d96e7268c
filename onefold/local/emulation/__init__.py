"""The embedded BigQuery's server: `bqemulator`, with corrections of what it answers otherwise than BigQuery."""
