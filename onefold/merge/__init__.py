"""Change tables merged into a base table, and the current view over both."""
