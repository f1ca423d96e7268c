"""A base in a folder: written once, whole or not at all, and known again by what stands beside it.

`_onefold.json` says of what the rows were made and which files hold them; `_SUCCESS` comes last. A folder without it is
unfinished: no job reads it, and the job that began it removes it and starts anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.errors import InvalidInput, TryAgain
from onefold.spark.copying import Kept, copy_kept
from onefold.spark.files import rows_in
from onefold.spark.filesystem import Folder
from onefold.types import Type, parse_type
from onefold.versions import Column

MANIFEST, SUCCESS = "_onefold.json", "_SUCCESS"
_OURS = ("part-", "_temporary", ".", MANIFEST)
"""How the names of everything begin that an unfinished job leaves."""


@dataclass(frozen=True)
class Manifest:
    """What a base was made of.

    arguments: those of the job. columns: with their types, of which some are held as text in the files.
    landed: for each column the types in which its values landed. files: those that hold the rows.
    """

    arguments: Mapping[str, Any]
    keys: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    landed: Mapping[str, tuple[Type, ...]] | None = None
    files: tuple[str, ...] = ()
    report: Mapping[str, Any] | None = None

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
        return Manifest(read["arguments"], keys, columns, landed, files, read["report"])
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


def write_base(spark: SparkSession, uri: str, rows: DataFrame, begun: Manifest, kept: Kept | None = None) -> tuple[str, ...]:
    """Empty the folder, write the rows into it, and name their files. It is no base yet: `finish` makes it one.

    Args:
        kept: files of an earlier base, whose rows stay beside these.

    Raises:
        InvalidInput: a job with other arguments has finished here meanwhile. Nothing was removed.
        TryAgain: another job has written here meanwhile.
    """
    folder = Folder(spark, uri)
    if is_done(folder, begun.arguments):
        raise TryAgain(f"another job has written {uri} meanwhile: run this one again, and it finds its work done")
    # The manifest goes last and comes first, so that whenever the job is killed the folder is known as ours.
    folder.clear(but=MANIFEST)
    folder.write(MANIFEST, begun.to_json())
    # Our own marker comes after the manifest, so not from Spark.
    counted = Observation()
    observed = rows.observe(counted, F.count("*").alias("rows"))
    unmarked = observed.write.mode("append").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    unmarked.parquet(uri)
    copied = copy_kept(spark, kept, uri) if kept else ()
    files = tuple(entry.path for entry in rows_in(folder))
    expected = counted.get["rows"] + (kept.rows if kept else 0)
    stored = spark.read.schema(rows.schema).option("ignoreMissingFiles", "true").parquet(uri).count()
    if stored != expected or not _is_of_one_writer({*files} - {*copied}) or _parsed(folder).arguments != begun.arguments:
        raise TryAgain(f"another job writes {uri} at the same time: run one of them again")
    return files


def finish(spark: SparkSession, uri: str, manifest: Manifest) -> None:
    folder = Folder(spark, uri)
    folder.write(MANIFEST, manifest.to_json())
    folder.write(SUCCESS, "")


def _is_of_one_writer(files: Collection[str]) -> bool:
    """Each write names its files after itself: part-00000-<its own id>-c000."""
    return len({name.split("-", 2)[-1].rsplit("-c", 1)[0] for name in files}) <= 1
