"""Onefold's lab: an embedded BigQuery, topics and Dataproc for one machine, and the demo."""

__version__ = "0.1.0"
