"""BigQuery: the warehouse, its jobs, its errors, and rows written through the Storage Write API."""
