"""The Spark job that compares two sets of rows."""
