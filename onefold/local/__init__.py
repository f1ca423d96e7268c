"""The embedded stack: what stands in for Google Cloud on a laptop."""
