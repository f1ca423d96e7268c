"""The choice of an adapter by the address of an object: a bucket, a web server, or a folder of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from onefold.core.errors import InvalidInput
from onefold.ports.objects import FileLister, FileReader, FolderLister, ListedFiles, ObjectFinder, ObjectWriter, check_folder


class ListedObjects(ObjectFinder, FolderLister, FileLister, FileReader, Protocol):
    """Objects by address, the folders that they are in, and files of any size."""


def run_objects_at(address: str) -> ListedObjects:
    """Return the objects below an address, to read and to list.

    Args:
        address: gs://BUCKET/FOLDER, s3://BUCKET/FOLDER, or a folder of this machine as file:///FOLDER.

    Raises:
        InvalidInput: the address is none of these.
    """
    if address.startswith("gs://"):
        from onefold.adapters.gcs import GcsObjects

        return GcsObjects()
    if address.startswith("s3://"):
        from onefold.adapters.s3 import S3Objects

        return S3Objects()
    if not address.startswith("file:///"):
        raise InvalidInput(f"{address}: expected gs://BUCKET/FOLDER, s3://BUCKET/FOLDER or a folder of this machine")
    from onefold.adapters.folder_objects import FolderObjects

    return FolderObjects(Path(address.removeprefix("file://")))


def listed_files_at(address: str) -> ListedFiles | None:
    """Return the files below an address, to read and to list; None where nobody lists them, as on a web server.

    Args:
        address: gs://BUCKET/FOLDER, s3://BUCKET/FOLDER, or a folder of this machine.
    """
    if address.startswith("gs://"):
        from onefold.adapters.gcs import GcsObjects

        return GcsObjects()
    if address.startswith("s3://"):
        from onefold.adapters.s3 import S3Objects

        return S3Objects()
    if "://" in address:
        return None
    from onefold.adapters.folder_objects import FolderObjects

    return FolderObjects(Path(address))


def writable_objects_at(address: str) -> ObjectWriter:
    """Return the objects below an address, to read and to write.

    Args:
        address: gs://BUCKET/FOLDER, or a folder of this machine.

    Raises:
        InvalidInput: the address is none of these.
    """
    if address.startswith("gs://"):
        from onefold.adapters.gcs import GcsObjects

        check_folder(address)
        return GcsObjects()
    if "://" in address:
        raise InvalidInput(f"{address}: expected gs://BUCKET/FOLDER or a folder of this machine: others are read only")
    from onefold.adapters.folder_objects import FolderObjects

    return FolderObjects(Path(address))


def objects_at(address: str, api_key: str | None = None) -> ObjectFinder:
    """Return the objects below an address, to read.

    Args:
        address: gs://BUCKET/FOLDER, s3://BUCKET/FOLDER, https://HOST/PATH, http://HOST/PATH, or a folder of this machine.
        api_key: the key for a web server.

    Raises:
        InvalidInput: the address is none of these.
    """
    if address.startswith("s3://"):
        from onefold.adapters.s3 import S3Objects

        return S3Objects()
    if address.startswith(("https://", "http://")):
        from onefold.adapters.http_objects import HttpObjects

        return HttpObjects(api_key)
    return writable_objects_at(address)
