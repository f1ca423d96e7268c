"""Values in Spark, written to the same bytes as in BigQuery and in Python."""
