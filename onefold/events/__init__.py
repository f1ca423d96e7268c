"""JSON events, as tables that create themselves: the registry of schemas, the shredder, and the loader."""
