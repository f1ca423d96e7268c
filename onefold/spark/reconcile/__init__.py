"""The Spark job that merges change logs into a base."""
