"""Change records written into versioned tables."""
