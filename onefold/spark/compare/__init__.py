"""The Spark job that compares two inputs row by row."""
