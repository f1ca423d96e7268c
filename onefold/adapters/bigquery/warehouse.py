"""The BigQuery warehouse of a project: `client` sends the requests, `views`, `tables` and `statements` say which."""

from __future__ import annotations

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.tables import BigQueryTables
from onefold.adapters.bigquery.versions import versions_from_rows, versions_query
from onefold.adapters.bigquery.views import BigQueryViews
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.versions import Version

_VERSIONS_PAGE = 250
"""Versions read in one call. BigQuery would answer with up to 10 MB, and several copies of an answer are in memory while
it is parsed (REST reference, `jobs.query`, https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query, 2025-11)."""


class BigQueryWarehouse(BigQueryViews, BigQueryTables):
    """`onefold.ports.warehouse.BaseWarehouse` over the REST API."""

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        with translated(f"dataset {base.dataset}"):
            return versions_from_rows(self._query(versions_query(base, names), _VERSIONS_PAGE), base, names)
