"""Entities whose schema is unknown or unusable, and the table that can hold their JSON."""

from __future__ import annotations

from collections.abc import Mapping

from onefold.core.shred_options import Warehouse
from onefold.events.shred.bad_rows import Kind
from onefold.ports.kept_entities import UNKNOWN_ENTITIES

UNKNOWN_KINDS: frozenset[Kind] = frozenset({"unknown_schema", "newer_version", "no_table"})
"""The kinds of problems by which the schema of an entity is unknown or unusable, whatever its data is."""
UNKNOWN_TABLE = UNKNOWN_ENTITIES
"""The table of unknown entities. The table of a schema ends in the number of a model, so no schema has this name."""
_COLUMNS: Mapping[str, tuple[str, str]] = {
    "schema_uri": ("VARCHAR(1024)", "STRING"), "place": ("VARCHAR(255)", "STRING"), "run": ("VARCHAR(2048)", "STRING"),
    "data": ("VARCHAR(60000)", "STRING"),
}  # fmt: skip
"""The columns after those of the envelope, with Redshift's type and BigQuery's. `run` is the folder of the run that has
written the row, as the manifest table of the loader names it. A row of a result of Redshift's Data API has at most 64 KB
(Data API, "Considerations"), so that `data` has a little less."""


def unknown_columns(warehouse: Warehouse) -> tuple[tuple[str, str], ...]:
    """Return name and type of the columns of the table of unknown entities after those of the envelope.

    Examples:
        >>> unknown_columns("redshift")[-1], unknown_columns("bigquery")[0]
        (('data', 'VARCHAR(60000)'), ('schema_uri', 'STRING'))
    """
    place = 0 if warehouse == "redshift" else 1
    return tuple((name, types[place]) for name, types in _COLUMNS.items())
