"""Pulled files, loaded into versioned tables."""
