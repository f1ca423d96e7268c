"""The files of events that are set aside, in the output folder: one record for each, which the next runs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput
from onefold.events.shred.set_aside import BZIP2, HEAD, TAIL, SetAside, StoredFile, parse_set_aside, problem_of_bzip2
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.places import hadoop_address

SET_ASIDE = "_set_aside"
_READERS = 16
Result = TypeVar("Result")


class DamagedFile(InvalidInput):
    """A file of events with content that cannot be read, whoever reads it and however often."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"--events: {address} cannot be read: {reason}")
        self.address, self.reason = address, reason


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


def problems_of_ends(spark: SparkSession, files: Mapping[str, StoredFile]) -> dict[str, str]:
    """Return the files of bzip2 that are not whole, each with the reason. An empty one has no rows.

    Raises:
        InvalidInput: the store refuses an answer.
    """
    chosen = {address: file.size for address, file in files.items() if address.endswith(BZIP2) and file.size}
    with ThreadPoolExecutor(_READERS) as pool:
        problems = pool.map(lambda address: _problem_of_ends(spark, address, chosen[address]), chosen)
        return {address: problem for address, problem in zip(chosen, problems, strict=True) if problem}


def _problem_of_ends(spark: SparkSession, address: str, size: int) -> str | None:
    file, tail = Folder(spark, hadoop_address(address)), min(size, TAIL)
    return problem_of_bzip2(file.read_bytes(0, min(size, HEAD)), file.read_bytes(size - tail, tail))


def with_readable(
    files: Mapping[str, StoredFile], work: Callable[[Mapping[str, StoredFile]], Result]
) -> tuple[Result | None, Mapping[str, StoredFile], Mapping[str, str]]:
    """Do work with files, and again without each one whose content cannot be read.

    Args:
        files: the files.
        work: the work, which leaves nothing behind where it raises DamagedFile.

    Returns:
        The result, None where no file can be read; the files that it is of; and the other ones, with the reasons.
    """
    left, damaged = dict(files), dict[str, str]()
    while left:
        try:
            return work(left), left, damaged
        except DamagedFile as error:
            damaged[error.address] = error.reason
            del left[error.address]
    return None, left, damaged
