"""Pulls: tables of a source that are read by watermark to files, and loaded into versioned tables."""
