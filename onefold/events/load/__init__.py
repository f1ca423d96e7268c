"""Runs of the shredder, loaded into the tables of their schemas."""
