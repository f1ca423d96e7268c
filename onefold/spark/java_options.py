"""How Java runs a job on this machine: one that reads little ends before it pays to optimize its code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a Java process that runs for seconds: optimizing its code takes more than it gives."""
_LITTLE = 64 * 1024 * 1024
"""Bytes of files; compressed columns of some million rows."""


def java_options(reads: Iterable[str]) -> str:
    """Return the options of Java for a job that runs on this machine; none where it reads much, or nobody knows how much.

    Args:
        reads: the folders that the job reads: paths, also as `file:/folder`. Those of buckets and tables are elsewhere.

    Examples:
        >>> java_options(["gs://bucket/folder"]), java_options([])
        ('', '')
    """
    folders = [folder.removeprefix("file:") for folder in reads]
    if not folders or any(":" in folder.partition("/")[0] for folder in folders):
        return ""
    total = 0
    for size in _sizes(folders):
        total += size
        if total > _LITTLE:
            return ""
    return SHORT_LIVED


def _sizes(folders: Iterable[str]) -> Iterator[int]:
    for folder in folders:
        for place, _, names in os.walk(folder):
            yield from (os.stat(os.path.join(place, name)).st_size for name in names)
