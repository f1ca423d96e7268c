"""The stores of events and runs as the workers reach them: by the file systems of Arrow, without Java."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyarrow.fs import FileSystem, LocalFileSystem
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput

_FILE, _GCS, _S3 = "file:", "gs://", ("s3://", "s3a://")
_KEYS = {"access.key": "access_key", "secret.key": "secret_key", "session.token": "session_token"}
"""The settings of S3A with credentials, and the names that Arrow has for them."""
_NO_PLACE = "expected gs://, s3://, s3a:// or a folder of this machine"


@dataclass(frozen=True)
class Stores:
    """What the workers need to know of the stores. It goes to them with each task.

    Attributes:
        s3: names and values of Arrow's options for S3; credentials only where the session has them.
    """

    s3: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def find(self, address: str) -> tuple[FileSystem, str]:
        """Return the file system of an address, and the path in it.

        Raises:
            OSError: the store does not answer.
        """
        if address.startswith(_GCS):
            return _gcs(), address.removeprefix(_GCS)
        if address.startswith(_S3):
            path = address.partition("://")[2]
            return _s3(path.partition("/")[0], self.s3), path
        return LocalFileSystem(), local_path(address)


def local_path(address: str) -> str:
    """Return the path of a file of this machine.

    Examples:
        >>> local_path("file:/lake/a b"), local_path("file:///lake"), local_path("/lake")
        ('/lake/a b', '/lake', '/lake')
    """
    return "/" + address.removeprefix(_FILE).lstrip("/")


def problems_of_places(addresses: Sequence[str]) -> list[str]:
    """Return why workers cannot reach some addresses: an empty list where they can.

    Examples:
        >>> problems_of_places(["gs://lake/a", "file:/lake/b", "hdfs://c/d"])
        ['hdfs://c/d: expected gs://, s3://, s3a:// or a folder of this machine']
    """
    known = (_GCS, *_S3, _FILE, "/")
    return [f"{address}: {_NO_PLACE}" for address in addresses if not address.startswith(known)]


def open_stores(spark: SparkSession, addresses: Sequence[str]) -> Stores:
    """Return the stores, with the settings that S3A has in the session.

    Args:
        spark: the session.
        addresses: the files and folders that will be asked for.

    Raises:
        InvalidInput: there are addresses that workers cannot reach.
    """
    if problems := problems_of_places(addresses):
        raise InvalidInput(problems)
    java: Any = spark._jsc
    conf = java.hadoopConfiguration()
    found = {name: str(conf.get(f"fs.s3a.{key}") or "") for key, name in _KEYS.items()}
    found["region"] = str(conf.get("fs.s3a.endpoint.region") or "")
    scheme, _, host = str(conf.get("fs.s3a.endpoint") or "").rpartition("://")
    if host:
        plain = str(conf.get("fs.s3a.connection.ssl.enabled") or "true") == "false"
        found |= {"endpoint_override": host, "scheme": scheme or ("http" if plain else "https")}
    return Stores(tuple((name, value) for name, value in found.items() if value))


@lru_cache
def _gcs() -> FileSystem:
    from pyarrow.fs import GcsFileSystem  # not in every build of Arrow

    return GcsFileSystem()


@lru_cache
def _s3(bucket: str, options: tuple[tuple[str, str], ...]) -> FileSystem:
    from pyarrow.fs import S3FileSystem, resolve_s3_region  # not in every build of Arrow

    named = dict(options)
    if not named.keys() & {"region", "endpoint_override"}:
        named["region"] = resolve_s3_region(bucket)
    return S3FileSystem(**named)
