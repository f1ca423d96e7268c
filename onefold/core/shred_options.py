"""What a run of the shredder is told: the warehouse and the format, the form of the events, unknown entities, the layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Warehouse = Literal["bigquery", "redshift"]
FileFormat = Literal["csv", "parquet"]
"""The format of the files of a run."""
FORMATS_OF: Mapping[Warehouse, tuple[FileFormat, ...]] = {"bigquery": ("parquet",), "redshift": ("csv", "parquet")}
"""The formats that each warehouse takes, the usual one first. BigQuery's tables have nested columns, which CSV has not."""
InputForm = Literal["self-describing", "enriched-tsv", "enriched-json"]
INPUT_FORMS: tuple[InputForm, ...] = get_args(InputForm)
Layout = Literal["tables", "wide"]
"""tables: an entity is a row of the table of its schema.
wide: it is in a column of the row of its event."""
Unknown = Literal["bad_event", "bad_entity", "keep_json"]
"""What becomes of an entity whose schema is unknown or unusable.

bad_event: the whole event is a bad row.
bad_entity: the event is loaded, and the entity is a bad row of its own.
keep_json: the event is loaded, and the JSON of the entity is a row of the table of unknown entities."""
MOST_DAYS = 365
"""The longest window over which runs look for duplicates, in days."""
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)


def usual_format(warehouse: Warehouse) -> FileFormat:
    """Return the format of files for a warehouse where none is named."""
    return FORMATS_OF[warehouse][0]


def implied_warehouse(format_: FileFormat) -> Warehouse:
    """Return the warehouse of files where none is named, as in runs of before a warehouse was a choice of its own.

    Examples:
        >>> implied_warehouse("csv"), implied_warehouse("parquet")
        ('redshift', 'bigquery')
    """
    return "redshift" if format_ == "csv" else "bigquery"
