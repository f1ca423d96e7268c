"""Values in Spark, written as the same bytes as in BigQuery and in Python."""
