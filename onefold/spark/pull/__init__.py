"""The job that pulls tables of a source."""
