"""A folder that a job writes: whole or not at all, and never together with another job."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import InvalidInput, OnefoldError, TryAgain
from onefold.merge.base_table import POSITION
from onefold.spark.io.files import rows_in
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.manifest import (
    MANIFEST,
    OWNER_MARK,
    STAGED,
    SUCCESS,
    TEMPORARY,
    OutputManifest,
    find_finished,
    parse_manifest,
)


@dataclass(frozen=True)
class StoredFiles:
    """Files of a base, and how many rows they hold."""

    files: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class StagedFiles:
    """Rows that are written but not part of the base yet: the folder, its files, and the rows in the order of the files."""

    uri: str
    files: tuple[str, ...]
    rows: DataFrame


class BaseOutput:
    """A folder in which a base is being written. It is no base until `finish` makes it one.

    Staged rows lie in a folder of their own until everything is checked. Then their files become part of the base without
    being read.
    """

    def __init__(self, spark: SparkSession, uri: str, begun: OutputManifest) -> None:
        """Empty the folder, and write the manifest of the job that begins here.

        Raises:
            InvalidInput: a job with other arguments has finished here meanwhile. Nothing was removed.
            TryAgain: another job has written here meanwhile.
        """
        self.spark, self.uri, self._begun = spark, uri, begun
        self._folder = Folder(spark, uri)
        self._owner_mark = f"{OWNER_MARK}{uuid.uuid4().hex}"
        """A file that exists until somebody else empties the folder."""
        if find_finished(self._folder, begun.arguments):
            raise TryAgain(f"another job has written {uri} meanwhile: run this one again, and it finds its work done")
        # The old manifest is removed last and the new one is written first: whenever the job is killed, the manifest shows
        # that a job has written the files here. Owner marks of other jobs are removed before their files, by their names.
        self._folder.clear(but=MANIFEST)
        self._folder.write(MANIFEST, begun.to_json())
        self._folder.write(self._owner_mark, "")

    def stage(self, rows: DataFrame) -> StagedFiles:
        """Write rows, once, so that they can be examined before they become part of the base."""
        uri = f"{self.uri}/{TEMPORARY}/{STAGED}{uuid.uuid4().hex}"
        _write(rows, uri)
        files = tuple(entry.path for entry in rows_in(Folder(self.spark, uri)))
        return StagedFiles(uri, files, self.spark.read.schema(rows.schema).parquet(uri))

    def take(self, staged: StagedFiles) -> None:
        """Make staged files part of the base."""
        stage = staged.uri.removeprefix(f"{self.uri}/")
        for name in staged.files:
            self._folder.rename(f"{stage}/{name}", name)

    def write(self, rows: DataFrame) -> int:
        """Write rows into the base, and return how many they were."""
        observation = Observation()
        _write(rows.observe(observation, F.count("*").alias("rows")), self.uri)
        return int(observation.get["rows"])

    def finish(self, manifest: OutputManifest, rows: int, stored: StoredFiles | None = None) -> None:
        """Make the folder a base.

        Args:
            manifest: the manifest, to which the names of the files are added.
            rows: how many rows the base has to hold.
            stored: the files, if each of them was written by name; None if one write of Spark's has made all of them.

        Raises:
            TryAgain: another job has written here meanwhile.
        """
        files = tuple(entry.path for entry in rows_in(self._folder))
        if not self._holds(files, rows, stored) or self._is_disturbed():
            raise self._disturbed()
        self._folder.remove(TEMPORARY)
        self._folder.write(MANIFEST, replace(manifest, files=files).to_json())
        self._folder.write(SUCCESS, "")
        self._folder.remove(self._owner_mark)

    def _holds(self, files: tuple[str, ...], rows: int, stored: StoredFiles | None) -> bool:
        if stored:
            return files == tuple(sorted(stored.files)) and rows == stored.rows
        reader = self.spark.read.schema(f"{POSITION} STRING").option("ignoreMissingFiles", "true")
        return _is_of_one_writer(files) and rows == reader.parquet(self.uri).count()

    def abandon(self, error: BaseException) -> None:
        """Remove everything that was written, because the job has failed. Files of another job stay.

        Args:
            error: the error with which the job has failed.

        Raises:
            TryAgain: another job has written here meanwhile, which may be the cause of the error.
        """
        disturbed = self._is_disturbed()
        if disturbed and not isinstance(error, OnefoldError):
            raise self._disturbed() from error
        if not disturbed and not isinstance(error, TryAgain):
            self._folder.delete()

    def _is_disturbed(self) -> bool:
        """Return whether another job has begun here since this one did."""
        folder = self._folder
        same = folder.has(MANIFEST) and parse_manifest(folder).arguments == self._begun.arguments
        return not same or not folder.has(self._owner_mark)

    def _disturbed(self) -> TryAgain:
        return TryAgain(f"another job writes {self.uri} at the same time: run one of them again")


@contextmanager
def open_output(spark: SparkSession, uri: str, begun: OutputManifest) -> Iterator[BaseOutput]:
    """Give a folder in which a base can be written. A job that fails leaves nothing there, a killed one its manifest.

    Args:
        spark: the session.
        uri: the folder.
        begun: the manifest of the job, as far as it is known when the job begins.

    Raises:
        Exception: the error with which the block has failed.
    """
    output = BaseOutput(spark, uri, begun)
    try:
        yield output
    except Exception as error:
        # If the folder cannot be reached or Java has ended, the folder stays, visibly unfinished; the first error is raised.
        with suppress(Py4JError, InvalidInput):
            output.abandon(error)
        raise


def _write(rows: DataFrame, uri: str) -> None:
    # The job writes `_SUCCESS` itself, after the manifest, so Spark must not.
    unmarked = rows.write.mode("append").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    unmarked.parquet(uri)


def _is_of_one_writer(files: Collection[str]) -> bool:
    """Return whether one write has made all files: Spark names them part-00000-<identifier of the write>-c000."""
    return len({name.split("-", 2)[-1].rsplit("-c", 1)[0] for name in files}) <= 1
