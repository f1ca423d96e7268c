"""Types, their least common type, casts, versions and differences of schemas."""
