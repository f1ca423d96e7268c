"""How the files of a run are written."""

from __future__ import annotations

from onefold.events.shred.row_format import RowFormat


def compression_of(rows: RowFormat) -> str:
    """Return the compression of the files of rows, as the manifest names it.

    Examples:
        >>> compression_of(RowFormat("bigquery", "parquet")), compression_of(RowFormat("redshift", "parquet"))
        ('zstd', 'snappy')
    """
    if rows.is_csv:
        return "none"
    # Redshift's documents do not name zstd ("Data files for queries in Amazon Redshift Spectrum", 2026-11).
    return "snappy" if rows.warehouse == "redshift" else "zstd"
