"""The job that checks tables against their source."""
