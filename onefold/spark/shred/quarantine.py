"""The files of events that are set aside, in the output folder: one record for each, which the next runs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput
from onefold.events.shred.set_aside import SetAside, StoredFile, parse_set_aside
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.places import plain_address

SET_ASIDE = "_set_aside"
_READERS = 16
Result = TypeVar("Result")


class DamagedFiles(InvalidInput):
    """Files of events with content that cannot be read, whoever reads it and however often."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self.reasons = {plain_address(address): reason for address, reason in reasons.items()}
        super().__init__([f"--events: {address} cannot be read: {reason}" for address, reason in self.reasons.items()])


class Quarantine:
    """The records of the files that are set aside."""

    def __init__(self, spark: SparkSession, output: str) -> None:
        self._folder = Folder(spark, f"{output}/{SET_ASIDE}")

    def reasons(self, files: Mapping[str, StoredFile]) -> dict[str, str]:
        """Return which of some files were set aside and are still as they were, each with the reason."""
        with ThreadPoolExecutor(_READERS) as pool:
            records = [one for one in pool.map(self._record, self._folder.children()) if one]
        return {one.file: one.reason for one in records if one.is_of(files.get(one.file))}

    def add(self, record: SetAside) -> None:
        """Set a file aside."""
        self._folder.write(record.name, record.to_json())

    def _record(self, name: str) -> SetAside | None:
        return parse_set_aside(self._folder.read(name))


def with_readable(
    files: Mapping[str, StoredFile], work: Callable[[Mapping[str, StoredFile]], Result]
) -> tuple[Result | None, Mapping[str, StoredFile], Mapping[str, str]]:
    """Do work with files, and again without those whose content cannot be read.

    Args:
        files: the files.
        work: the work, which leaves nothing behind where it raises DamagedFiles.

    Returns:
        The result, None where no file can be read; the files that it is of; and the other ones, with the reasons.
    """
    left, damaged = dict(files), dict[str, str]()
    while left:
        try:
            return work(left), left, damaged
        except DamagedFiles as error:
            damaged |= error.reasons
            left = {address: file for address, file in left.items() if address not in damaged}
    return None, left, damaged
