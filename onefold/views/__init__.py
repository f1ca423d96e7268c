"""Versioned tables united in one view."""
