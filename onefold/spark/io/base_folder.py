"""A base in a folder: written once, whole or not at all, and known again by what stands beside it.

`_onefold.json` says of what the rows were made and which files hold them; `_SUCCESS` comes last. A folder without it is
unfinished: no job reads it, and the job that began it removes it and starts anew.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import InvalidInput, OnefoldError, TryAgain
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar, Type, parse_type
from onefold.spark.io.files import read_folder, reading, rows_in
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.frames import LandedFrame

MANIFEST, SUCCESS = "_onefold.json", "_SUCCESS"
TEMPORARY, STAGED, PROOF = "_temporary", "winners-", "_job-"
POSITIONS = 2
"""How positions are written. 1: some sequences and sort keys of hexadecimal form as text, which sorts otherwise."""
_OURS = ("part-", TEMPORARY, ".", MANIFEST, PROOF)
"""How the names of everything begin that an unfinished job leaves."""


@dataclass(frozen=True)
class Manifest:
    """What a base was made of.

    arguments: those of the job. columns: with their types, of which some are held as text in the files.
    landed: for each column the types in which its values landed. files: those that hold the rows.
    positions: how they are written, see POSITIONS.
    """

    arguments: Mapping[str, Any]
    keys: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    landed: Mapping[str, tuple[Type, ...]] | None = None
    files: tuple[str, ...] = ()
    report: Mapping[str, Any] | None = None
    positions: int = POSITIONS

    def to_json(self) -> str:
        landed = self.landed or {}
        columns = [
            {"name": column.name, "type": str(column.type), "landed": [str(type_) for type_ in landed.get(column.name, ())]}
            for column in self.columns
        ]
        written = {
            "arguments": dict(self.arguments),
            "keys": list(self.keys),
            "columns": columns,
            "files": list(self.files),
            "report": self.report,
            "positions": self.positions,
        }
        return json.dumps(written, ensure_ascii=False, indent=1) + "\n"


def read_manifest(folder: Folder) -> Manifest | None:
    """None where no job of ours has written here.

    Raises:
        InvalidInput: the job that wrote here was not finished, or others wrote here too.
    """
    if not folder.has(MANIFEST):
        return None
    if not folder.has(SUCCESS):
        raise InvalidInput(f"{folder.uri} is unfinished: run the job that writes it once more")
    manifest = _parsed(folder)
    found = tuple(entry.path for entry in rows_in(folder))
    if found != manifest.files:
        raise InvalidInput(
            f"{folder.uri} holds other files than were written: two jobs wrote here, or it was changed. Name a new folder"
        )
    return manifest


def _parsed(folder: Folder) -> Manifest:
    try:
        read = json.loads(folder.read(MANIFEST))
        columns = tuple(Column(column["name"], parse_type(column["type"])) for column in read["columns"])
        landed = {column["name"]: tuple(map(parse_type, column["landed"])) for column in read["columns"]}
        keys, files = tuple(read["keys"]), tuple(read["files"])
        return Manifest(read["arguments"], keys, columns, landed, files, read["report"], read.get("positions", 1))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{folder.uri}/{MANIFEST} cannot be read: {error}") from error


def is_done(folder: Folder, arguments: Mapping[str, Any]) -> Manifest | None:
    """The manifest of the job that has written here with the same arguments: then there is nothing left to do.

    Raises:
        InvalidInput: there is something else.
    """
    if not folder.has(SUCCESS):
        _check_unfinished(folder)
        return None
    manifest = read_manifest(folder)
    if manifest is None or manifest.arguments != arguments:
        raise InvalidInput(f"--output {folder.uri} is there already, from other arguments: name a new folder")
    return manifest


def _check_unfinished(folder: Folder) -> None:
    """What is not ours is never removed. A job that was killed has left its manifest, or nothing."""
    strange = [entry.path for entry in folder.files() if not entry.path.startswith(_OURS)]
    if folder.exists() and folder.files() and (strange or not folder.has(MANIFEST)):
        raise InvalidInput(f"--output {folder.uri} holds what no job of this kind left there: name a new folder")


@dataclass(frozen=True)
class StoredFiles:
    """Files of a base, and how many rows they hold."""

    files: tuple[str, ...]
    rows: int


class BaseOutput:
    """A folder in which a base is being written. It is no base until `finish` makes it one.

    What is staged lies in a folder of its own until all is checked, and then becomes part of the base without being read.
    """

    def __init__(self, spark: SparkSession, uri: str, begun: Manifest) -> None:
        """Empty the folder, and say there of what it is to be made.

        Raises:
            InvalidInput: a job with other arguments has finished here meanwhile. Nothing was removed.
            TryAgain: another job has written here meanwhile.
        """
        self.spark, self.uri, self._begun = spark, uri, begun
        self._folder = Folder(spark, uri)
        self._proof = f"{PROOF}{uuid.uuid4().hex}"
        """A file that is there as long as nobody else empties the folder."""
        if is_done(self._folder, begun.arguments):
            raise TryAgain(f"another job has written {uri} meanwhile: run this one again, and it finds its work done")
        # The manifest goes last and comes first, so that whenever the job is killed the folder is known as ours. The proofs
        # of others go before their files, by their names.
        self._folder.clear(but=MANIFEST)
        self._folder.write(MANIFEST, begun.to_json())
        self._folder.write(self._proof, "")

    def stage(self, rows: DataFrame) -> StagedFiles:
        """Write rows, once, to be looked at before they become part of the base."""
        stage = f"{TEMPORARY}/{STAGED}{uuid.uuid4().hex}"
        _write(rows, f"{self.uri}/{stage}")
        uri = f"{self.uri}/{stage}"
        files = tuple(entry.path for entry in rows_in(Folder(self.spark, uri)))
        return StagedFiles(uri, files, self.spark.read.schema(rows.schema).parquet(uri))

    def take(self, staged: StagedFiles) -> None:
        """Make staged files part of the base."""
        stage = staged.uri.removeprefix(f"{self.uri}/")
        for name in staged.files:
            self._folder.rename(f"{stage}/{name}", name)

    def write(self, rows: DataFrame) -> int:
        """Write rows into the base, and return how many they were."""
        counted = Observation()
        _write(rows.observe(counted, F.count("*").alias("rows")), self.uri)
        return int(counted.get["rows"])

    def finish(self, manifest: Manifest, rows: int, stored: StoredFiles | None = None) -> None:
        """Make the folder a base.

        Args:
            manifest: what to say of it; the names of the files are added.
            rows: how many it has to hold.
            stored: what was put there, where each file was written by name; else one write of Spark's is expected.

        Raises:
            TryAgain: another job has written here meanwhile.
        """
        files = tuple(entry.path for entry in rows_in(self._folder))
        if not self._holds(files, rows, stored) or self._is_disturbed():
            raise self._disturbed()
        self._folder.remove(TEMPORARY)
        self._folder.write(MANIFEST, replace(manifest, files=files).to_json())
        self._folder.write(SUCCESS, "")
        self._folder.remove(self._proof)

    def _holds(self, files: tuple[str, ...], rows: int, stored: StoredFiles | None) -> bool:
        if stored:
            return files == tuple(sorted(stored.files)) and rows == stored.rows
        read = self.spark.read.schema(f"{POSITION} STRING").option("ignoreMissingFiles", "true")
        return _is_of_one_writer(files) and rows == read.parquet(self.uri).count()

    def abandon(self, error: BaseException) -> None:
        """Remove what was written, since the job cannot be carried out. What another job has written stays.

        Raises:
            TryAgain: another job has written here meanwhile, which may be why.
        """
        disturbed = self._is_disturbed()
        if disturbed and not isinstance(error, OnefoldError):
            raise self._disturbed() from error
        if not disturbed and not isinstance(error, TryAgain):
            self._folder.delete()

    def _is_disturbed(self) -> bool:
        """Whether another job has begun here since this one did."""
        folder = self._folder
        ours = folder.has(MANIFEST) and _parsed(folder).arguments == self._begun.arguments
        return not ours or not folder.has(self._proof)

    def _disturbed(self) -> TryAgain:
        return TryAgain(f"another job writes {self.uri} at the same time: run one of them again")


@dataclass(frozen=True)
class StagedFiles:
    """Rows that are written, and not part of the base yet: the folder, its files, and their rows in the order of these."""

    uri: str
    files: tuple[str, ...]
    rows: DataFrame


@contextmanager
def written(spark: SparkSession, uri: str, begun: Manifest) -> Iterator[BaseOutput]:
    """Give a folder to write a base into. Where a job fails nothing of it stays; one that is killed leaves its manifest."""
    output = BaseOutput(spark, uri, begun)
    try:
        yield output
    except Exception as error:
        # Where the folder cannot be reached any more, or Java is gone, that it is unfinished shows; the error is the first.
        with suppress(Py4JError, InvalidInput):
            output.abandon(error)
        raise


def _write(rows: DataFrame, uri: str) -> None:
    # Our own marker comes after the manifest, so not from Spark.
    unmarked = rows.write.mode("append").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    unmarked.parquet(uri)


def _is_of_one_writer(files: Collection[str]) -> bool:
    """Each write names its files after itself: part-00000-<its own id>-c000."""
    return len({name.split("-", 2)[-1].rsplit("-c", 1)[0] for name in files}) <= 1


_OWN = (POSITION, DELETED)


@dataclass(frozen=True)
class BaseFolder:
    """The rows, in held form, and what the batch that wrote them said of them (None: a plain copy of the source)."""

    landed: LandedFrame
    manifest: Manifest | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the source."""
        return tuple(column for column in self.landed.columns if column.name not in _OWN)

    @property
    def has_present_positions(self) -> bool:
        """Whether this release, or one that writes positions as it does, has written all of its positions."""
        return self.manifest is not None and self.manifest.positions == POSITIONS

    def landed_types(self) -> Mapping[str, tuple[Type, ...]]:
        """By folded name, the types in which the values of a column landed before they came into the base."""
        known = self.manifest.landed if self.manifest and self.manifest.landed else {}
        return {fold_case(column.name): known.get(column.name) or (column.type,) for column in self.columns}

    def is_known_unique(self, keys: Sequence[str], unified: Sequence[Column]) -> bool:
        """Whether no key can be repeated: a batch wrote it by the same keys, and they are still of the same types."""
        types = {fold_case(column.name): column.type for column in unified}
        same = (column.type == types[fold_case(column.name)] for column in self.columns if column.name in keys)
        return self.manifest is not None and _folded(self.manifest.keys) == _folded(keys) and all(same)


def find_base(spark: SparkSession, uri: str, keys: Sequence[str]) -> BaseFolder | None:
    """None where there is none.

    Raises:
        InvalidInput: it is unfinished or cannot be read.
    """
    folder = Folder(spark, uri)
    manifest = read_manifest(folder)
    if manifest is not None:
        own = (Column(POSITION, STRING), Column(DELETED, Scalar("BOOL")))
        with reading(uri):
            return BaseFolder(LandedFrame(uri, spark.read.parquet(uri), (*manifest.columns, *own)), manifest)
    return BaseFolder(read_folder(spark, uri, keys)) if rows_in(folder) else None


def _folded(keys: Sequence[str]) -> set[str]:
    return {fold_case(key) for key in keys}
