"""The names of pulled files. Each is used once: a writer creates a file only if its name is free, else it takes the next."""

from __future__ import annotations

from datetime import UTC, date, datetime
from urllib.parse import quote

from onefold.batches.source_arguments import Window

FOLDERS = {"15m": "partition/15m", "day": "partition/1d", "full": "full", "dq": "dq"}
FIRST = "first"
"""The folder of the first pull of a structure, whose key ranges may be read on after a kill."""


def folder_of(cluster: str, database: str, table: str) -> str:
    """Return the folder of a table's files; a character that is not plain is percent-encoded.

    Examples:
        >>> folder_of("fraud", "models", "a/b")
        'json/fraud/models/a%2Fb'
    """
    return f"json/{_path(cluster, database, table)}"


def data_file(
    folder: str, window: Window, started: datetime, number: int, *, first: bool = False, compressed: bool = False
) -> str:
    """Return the name of a file of rows.

    Args:
        folder: that of the table.
        window: of the pull.
        started: when the pull was asked for; a daily file has the midnight of its day.
        number: 0 for the first name that is tried.
        first: whether this is the first pull of a structure.
        compressed: whether the file is compressed with gzip.

    Examples:
        >>> data_file("json/f/m/t", "15m", datetime(2026, 5, 3, 10, 15, tzinfo=UTC), 2)
        'json/f/m/t/partition/15m/20260503/20260503101500_2.json'
        >>> data_file("json/f/m/t", "day", datetime(2026, 5, 3, 4, tzinfo=UTC), 0, compressed=True)
        'json/f/m/t/partition/1d/20260503/20260503000000_0.json.gz'
    """
    at = started.astimezone(UTC)
    clock = "000000" if window == "day" else f"{at:%H%M%S}"
    name = f"{_day(at.date())}{clock}_{number}.json{'.gz' if compressed else ''}"
    return f"{folder}/{FIRST if first else FOLDERS[window]}/{_day(at.date())}/{name}"


def schema_file(cluster: str, database: str, table: str, version: str) -> str:
    """Return the name of the schema of one version.

    Examples:
        >>> schema_file("fraud", "models", "score", "5b6ffe5fb")
        'schemas/fraud/models/score/5b6ffe5fb.json'
    """
    return f"schemas/{_path(cluster, database, table)}/{version}.json"


def progress_file(folder: str, version: str, attempt: str, part: int | None = None) -> str:
    """Return the name of what is kept of a first pull: its key ranges, or the files of one range that was read.

    Args:
        folder: that of the table.
        version: of the structure.
        attempt: names the pull; a pull that was killed has the same name when it runs again.
        part: the number of a range; None for the list of ranges.

    Examples:
        >>> progress_file("json/f/m/t", "5b6ffe5fb", "a1", 3)
        'json/f/m/t/first/5b6ffe5fb/a1/range_3.json'
    """
    return f"{folder}/{FIRST}/{version}/{attempt}/{'ranges' if part is None else f'range_{part}'}.json"


def _path(*names: str) -> str:
    # `.` and `..` would be folders.
    return "/".join(
        quote(name, safe="").replace(".", "%2E") if not name.strip(".") else quote(name, safe="") for name in names
    )


def _day(day: date) -> str:
    return f"{day:%Y%m%d}"
