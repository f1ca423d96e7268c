"""Permissions as code: access.yaml, compared with the access of datasets and the members of groups, and applied."""
