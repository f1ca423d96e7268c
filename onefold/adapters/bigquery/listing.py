"""The tables of a whole dataset by two queries of its metadata: what there is, and how large it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.tables import BigQueryTables
from onefold.core.names import quote, quote_text
from onefold.ports.listing import ListedTable, StoredSize

_LABEL = re.compile(r'STRUCT\("(?P<name>[^"]*)", "(?P<value>[^"]*)"\)')
_NAMES = "`"
"""Separates names in one text: no name of a table has it."""


class BigQueryListing(BigQueryTables):
    """`onefold.ports.listing.ListingWarehouse` over INFORMATION_SCHEMA."""

    def list_dataset(self, dataset: str) -> tuple[ListedTable, ...]:
        with translated(f"dataset {self.project}.{dataset}"):
            return tuple(map(listed, self._query(dataset_query(self.project, dataset))))

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        with translated(f"the sizes of dataset {self.project}.{dataset}"):
            location = str(self._call(self._client.get_dataset, f"{self.project}.{dataset}").location)
            # A query of a region's metadata has to run in that region, and its text does not tell the service which one.
            job = self._call(self._client.query, sizes_query(self.project, location, dataset), location=location)
            rows = [dict(row.items()) for row in job.result()]
        return {row["table_name"]: StoredSize(row["row_count"], row["size"], row["written_at"]) for row in rows}


def dataset_query(project: str, dataset: str) -> str:
    """Return the query for all tables and views of a dataset: one row for each.

    Texts of views may have 256K characters each, so BigQuery takes from them what they read: as `refresh.tables_read` does.
    """
    schema = f"{quote(f'{project}.{dataset}')}.INFORMATION_SCHEMA"
    reads = r"r'\bFROM `(?:[^`]*\.)?([^`.]+)`'"
    notes = r"r'(?m)^-- versions: (.*)$'"
    return (
        "SELECT t.table_name, t.table_type, t.creation_time, o.option_value AS labels, "
        f"ARRAY_TO_STRING(REGEXP_EXTRACT_ALL(v.view_definition, {reads}), '{_NAMES}') AS reads, "
        f"ARRAY_TO_STRING(REGEXP_EXTRACT_ALL(v.view_definition, {notes}), ' ') AS notes\n"
        f"FROM {schema}.TABLES AS t\n"
        f"LEFT JOIN {schema}.TABLE_OPTIONS AS o ON o.table_name = t.table_name AND o.option_name = 'labels'\n"
        f"LEFT JOIN {schema}.VIEWS AS v ON v.table_name = t.table_name"
    )


def sizes_query(project: str, location: str, dataset: str) -> str:
    """Return the query for the sizes of all tables of a dataset.

    INFORMATION_SCHEMA.PARTITIONS would answer for at most 1,000 tables; TABLE_STORAGE answers for all of a region, and is
    some minutes late (https://cloud.google.com/bigquery/docs/information-schema-table-storage, 2026-11).

    Args:
        project: the project.
        location: of the dataset, such as `EU`.
        dataset: the dataset.
    """
    return (
        "SELECT s.table_name, s.total_rows AS row_count, s.total_logical_bytes AS size, "
        "s.storage_last_modified_time AS written_at\n"
        f"FROM {quote(project)}.{quote(f'region-{location.lower()}')}.INFORMATION_SCHEMA.TABLE_STORAGE AS s\n"
        f"WHERE s.table_schema = {quote_text(dataset)} AND NOT s.deleted"
    )


def read_labels(option: str | None) -> dict[str, str]:
    """Return labels from the text of SQL in which TABLE_OPTIONS has them.

    Examples:
        >>> read_labels('[STRUCT("team", "web"), STRUCT("stage", "")]')
        {'team': 'web', 'stage': ''}
    """
    return {match["name"]: match["value"] for match in _LABEL.finditer(option or "")}


def listed(row: Mapping[str, Any]) -> ListedTable:
    """Return the table or view of a row of `dataset_query`."""
    return ListedTable(
        row["table_name"],
        row["table_type"] == "VIEW",
        row["creation_time"],
        read_labels(row["labels"]),
        frozenset((row["reads"] or "").split(_NAMES)) - {""},
        frozenset((row["notes"] or "").split()),
    )
