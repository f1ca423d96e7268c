"""The BigQuery warehouse of a project: `client` sends the requests, `views`, `tables` and `statements` say which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.inserts import BigQueryInserts
from onefold.adapters.bigquery.layouts import BigQueryLayouts
from onefold.adapters.bigquery.listing import BigQueryListing
from onefold.adapters.bigquery.queries import BigQueryQueries
from onefold.adapters.bigquery.query_texts import BigQueryTexts
from onefold.adapters.bigquery.tables import is_plain_table
from onefold.adapters.bigquery.usage import BigQueryUsage
from onefold.adapters.bigquery.versions import united_query, version_row, versions_from_rows, versions_query
from onefold.adapters.bigquery.views import BigQueryViews
from onefold.core.errors import NotFound, TryAgain
from onefold.core.names import TableId
from onefold.core.united_names import UnitedTable
from onefold.core.version_labels import LabelledNames
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.versions import Version

_VERSIONS_PAGE = 250
"""Versions read in one call. BigQuery would answer with up to 10 MB, and several copies of an answer are in memory while
it is parsed (REST reference, `jobs.query`, https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query, 2025-11)."""

_DATASETS = 100
"""Datasets whose metadata one query reads, by two of the 1,000 tables of a query for each."""


class BigQueryWarehouse(
    BigQueryViews,
    BigQueryListing,
    BigQueryLayouts,
    BigQueryQueries,
    BigQueryUsage,
    BigQueryTexts,
    BigQueryInserts,
):
    """`onefold.ports.warehouse.BaseWarehouse` over the REST API."""

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        if isinstance(names, LabelledNames):
            return self._labelled_versions(base, names)
        if one := names.united.get(base.table):
            return versions_from_rows(self._united_rows(one, names), base, names)
        with translated(f"dataset {base.dataset}"):
            return versions_from_rows(self._query(versions_query(base, names), _VERSIONS_PAGE), base, names)

    def _united_rows(self, one: UnitedTable, names: VersionedNames) -> Iterator[Mapping[str, Any]]:
        """Yield the tables of a united table, as `united_query` does.

        Raises:
            TryAgain: a dataset was removed after the datasets were listed.
        """
        datasets = sorted(filter(one.reads, self.list_datasets()))
        for start in range(0, len(datasets), _DATASETS):
            query = united_query(self.project, datasets[start : start + _DATASETS], one.table, names)
            try:
                with translated(f"the datasets {one.datasets}"):
                    yield from self._query(query, _VERSIONS_PAGE)
            except NotFound as error:
                raise TryAgain(f"{error}: a dataset was removed meanwhile; try again") from error

    def _labelled_versions(self, base: TableId, names: LabelledNames) -> tuple[Version, ...]:
        """Return the versions by labels, which the list of a dataset has, from the tables themselves.

        INFORMATION_SCHEMA may show columns late that a load has added, and has labels as the text of SQL only.
        """
        known = names.resolved(self.list_labels(base.dataset or ""))
        found = (self._get(base.sibling(table)) for table in known.tables_of(base.table))
        rows = (version_row(table) for table in found if table is not None and is_plain_table(table))
        return versions_from_rows(rows, base, known)
