"""How the files of a run are written by Spark's text writer: it puts blocks into a file, and an end after each block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from onefold.core.shred_options import FileFormat
from onefold.events.shred.csv_values import TAB
from onefold.events.shred.duplicates import EventKey
from onefold.events.shred.row_format import RowFormat


@dataclass(frozen=True)
class FileForm:
    r"""The form of files.

    Attributes:
        name: the format of the rows.
        compression: as the manifest names it.
        end: what Spark writes after each block: the end of a line, or the last bytes of a file of Parquet.
        blocks: the blocks of a file. A file of Parquet is one block.
        ending: the end of the names of files; Spark's text writer ends them all in `.txt`.
    """

    name: FileFormat
    compression: str
    end: str
    blocks: int
    ending: str

    def file_name(self, written: str) -> str:
        """Return the name of a file by the one that Spark's text writer gave it.

        Examples:
            >>> PARQUET.file_name("part-00000-0f0b.c000.txt"), CSV.file_name("part-00000-0f0b.c000.txt")
            ('part-00000-0f0b.c000.parquet', 'part-00000-0f0b.c000.txt')
        """
        return written.removesuffix(".txt") + self.ending

    def bad_row(self, text: str) -> Any:
        """Return a bad row as blocks of this form take rows."""
        return text if self.name == "csv" else (text,)

    def id_row(self, key: EventKey) -> Any:
        """Return the id and the fingerprint of an event as blocks of this form take rows; neither has a tab."""
        return TAB.join(key) if self.name == "csv" else key


CSV = FileForm("csv", "none", "\n", 128, ".txt")
# The last bytes of every file: https://parquet.apache.org/docs/file-format/, "File format", 2026-11.
PARQUET = FileForm("parquet", "zstd", "PAR1", 1, ".parquet")
# Redshift's documents do not name zstd ("Data files for queries in Amazon Redshift Spectrum", 2026-11).
_SNAPPY = replace(PARQUET, compression="snappy")


def file_form(rows: RowFormat) -> FileForm:
    """Return the form of the files of rows.

    Examples:
        >>> file_form(RowFormat("bigquery", "parquet")).compression, file_form(RowFormat("redshift", "parquet")).compression
        ('zstd', 'snappy')
    """
    if rows.is_csv:
        return CSV
    return _SNAPPY if rows.warehouse == "redshift" else PARQUET
