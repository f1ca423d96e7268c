"""A change record: its metadata, its position in a total order, its digest, and a generator with known truth."""
