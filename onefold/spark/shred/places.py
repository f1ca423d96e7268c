"""Where events are and where runs go: addresses as Hadoop reads them, and as manifests name them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput
from onefold.events.shred.set_aside import StoredFile
from onefold.spark.io.filesystem import Folder

_S3, _S3A = "s3://", "s3a://"


def hadoop_address(address: str) -> str:
    """Return an address as Hadoop reads it: S3 by S3A, which every Spark can have.

    Examples:
        >>> hadoop_address("s3://bucket/events"), hadoop_address("gs://bucket/events")
        ('s3a://bucket/events', 'gs://bucket/events')
    """
    return _S3A + address.removeprefix(_S3) if address.startswith(_S3) else address


def plain_address(address: str) -> str:
    """Return an address as manifests and loaders name it.

    Examples:
        >>> plain_address("s3a://bucket/events")
        's3://bucket/events'
    """
    return _S3 + address.removeprefix(_S3A) if address.startswith(_S3A) else address


def find_events(spark: SparkSession, places: Sequence[str]) -> dict[str, StoredFile]:
    """Return the files of events, by the address that a manifest has.

    Files whose name, or a folder's below the place, begins with `_` or `.` are left out, as Spark does.

    Args:
        spark: the session.
        places: files, folders and patterns.

    Raises:
        InvalidInput: places do not exist or cannot be read; the error lists all of them.
    """
    found: dict[str, StoredFile] = {}
    problems: list[str] = []
    for place in places:
        try:
            found |= _files_at(spark, place)
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    return found


def _files_at(spark: SparkSession, place: str) -> Mapping[str, StoredFile]:
    """Return the files of one place.

    Raises:
        InvalidInput: it does not exist, or cannot be read. A pattern may match nothing.
    """
    found: dict[str, StoredFile] = {}
    for uri in _matches(spark, place):
        folder = Folder(spark, uri)
        root = folder.qualified()
        for entry in folder.files():
            is_itself = root.endswith(f"/{entry.path}") and folder.is_file()
            if not entry.hidden:
                found[plain_address(root if is_itself else f"{root}/{entry.path}")] = StoredFile(entry.size, entry.modified)
    return found


def _matches(spark: SparkSession, place: str) -> list[str]:
    """Return the files and folders that a place names.

    Raises:
        InvalidInput: there is none, and the place is not a pattern; or the store refuses an answer.
    """
    jvm: Any = spark._jvm
    java: Any = spark._jsc
    path = jvm.org.apache.hadoop.fs.Path(hadoop_address(place))
    try:
        statuses = path.getFileSystem(java.hadoopConfiguration()).globStatus(path) or []
        found = [str(status.getPath().toString()) for status in statuses]
    except Py4JJavaError as error:
        raise InvalidInput(f"--events {place} cannot be read: {error.java_exception.getMessage()}") from error
    except IllegalArgumentException:  # a name with a colon, which is no name of a file for Hadoop
        found = _listed_matches(spark, hadoop_address(place))
    found = [one for one in found if not _hidden_by_pattern(one, place)]
    if not found and not any(sign in place for sign in "*?"):
        raise InvalidInput(f"--events {place}: there is no such file or folder")
    return found


def _listed_matches(spark: SparkSession, place: str) -> list[str]:
    """Return the files and folders that a pattern matches, of those with a file in or below them.

    Hadoop lists names with a colon, and fails where it compares them with a pattern.
    """
    start = re.split("[*?]", place, maxsplit=1)[0].rpartition("/")[0] or "/"
    pattern = place.removeprefix(start).strip("/")
    matching = re.compile("".join({"*": "[^/]*", "?": "[^/]"}.get(sign, re.escape(sign)) for sign in pattern))
    folder, depth = Folder(spark, start), pattern.count("/") + 1
    paths = {"/".join(entry.path.split("/")[:depth]) for entry in folder.files()}
    return [f"{folder.qualified()}/{path}" for path in sorted(paths) if matching.fullmatch(path)]


def _hidden_by_pattern(found: str, place: str) -> bool:
    """Return whether a pattern has matched a name that begins with `_` or `.`, as Spark would pass over it."""
    pairs = zip(reversed(found.split("/")), reversed(place.split("/")), strict=False)
    return any(name.startswith(("_", ".")) and any(sign in part for sign in "*?") for name, part in pairs)
