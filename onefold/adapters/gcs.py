"""The adapter of Cloud Storage: small objects, read and written whole; and files, which replace objects on a laptop.

STORAGE_EMULATOR_HOST names an emulator of Cloud Storage, as http://host:port. No request is retried here: callers retry.
"""

from __future__ import annotations

import os
import urllib.parse
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests
from google.api_core import exceptions as api

from onefold.adapters.google_errors import CLOUD_STORAGE
from onefold.core.errors import InvalidInput, NotFound, Rejected
from onefold.core.text import shown_list
from onefold.ports.objects import _ADDRESS, NEW, StoredObject, check_folder

MAX_OBJECT = 64_000_000
"""Bytes. A row that BigQuery takes has some 10 MB, six times as many where JSON escapes all of its letters."""
_TIMEOUT = 60.0
"""Seconds."""
_PROBE = "onefold-check"
"""An object that is never written."""
_NO_GENERATION = 1
"""Generations are numbers of 16 digits."""


def _content_type(address: str) -> str:
    """Return the type by which a browser knows what an object is: pages are read by people, all else by programs."""
    return "text/html; charset=utf-8" if address.endswith(".html") else "application/json"


class GcsObjects:
    """The objects of Cloud Storage, by their addresses, gs://BUCKET/NAME. The client is created at the first use."""

    def __init__(self) -> None:
        self._client: Any = None

    def read(self, address: str) -> bytes:
        """Return a whole object, or the file of an address that begins with file://.

        Raises:
            Rejected: there is no such object or file, or the object is too large.
            TryAgain: Cloud Storage failed, and may answer later.
        """
        if address.startswith("file://"):
            return _read_file(address)
        found = self.find(address)
        if found is None:
            raise Rejected(f"{address}: there is no such object, or no longer: correct the address")
        return found.data

    def find(self, address: str) -> StoredObject | None:
        """Return an object with its generation, or None where there is no such object.

        Raises:
            Rejected: the object is too large, or Cloud Storage refuses to return it.
            TryAgain: Cloud Storage failed, and may answer later.
        """
        blob = self._blob(address)
        with CLOUD_STORAGE.translated(address):
            try:
                blob.reload(timeout=_TIMEOUT, retry=None)
                if (blob.size or 0) > MAX_OBJECT:
                    raise Rejected(
                        f"{address} has {blob.size} bytes, and BigQuery takes no row of that size: shorten it at the source"
                    )
                generation = int(blob.generation or NEW)
                data = blob.download_as_bytes(if_generation_match=generation, timeout=_TIMEOUT, retry=None)
                return StoredObject(data, generation)
            except api.NotFound:
                return None

    def list_folders(self, address: str) -> list[str]:
        """Return the names of the folders right below a folder.

        Raises:
            NotFound: no object is below it.
            Rejected: Cloud Storage refuses to list the bucket.
            TryAgain: Cloud Storage failed, and may answer later.
        """
        # A bucket alone is a folder, too.
        marker = self._blob(f"{address.rstrip('/')}/x")
        prefix = marker.name.removesuffix("x")
        with CLOUD_STORAGE.translated(address):
            listed = marker.client.list_blobs(marker.bucket, prefix=prefix, delimiter="/", timeout=_TIMEOUT, retry=None)
            found = [(page.prefixes, page.num_items) for page in listed.pages]
        if not any(names or count for names, count in found):
            raise NotFound(f"there is no folder {address}: no object is below it: correct the address")
        return [name.removeprefix(prefix).rstrip("/") for names, _ in found for name in names]

    def list_files(self, address: str) -> list[str]:
        """Return the names of all objects below a folder, relative to it.

        Raises:
            NotFound: no object is below it.
            Rejected: Cloud Storage refuses to list the bucket.
            TryAgain: Cloud Storage failed, and may answer later.
        """
        marker = self._blob(f"{address.rstrip('/')}/x")
        prefix = marker.name.removesuffix("x")
        with CLOUD_STORAGE.translated(address):
            listed = marker.client.list_blobs(marker.bucket, prefix=prefix, timeout=_TIMEOUT, retry=None)
            names = [str(blob.name).removeprefix(prefix) for blob in listed]
        if not names:
            raise NotFound(f"there is no folder {address}: no object is below it: correct the address")
        return names

    def read_file(self, address: str) -> bytes:
        """Return an object of any size.

        Raises:
            NotFound: there is no such object.
            Rejected: Cloud Storage refuses to return it.
            TryAgain: Cloud Storage failed, and may answer later.
        """
        blob = self._blob(address)
        with CLOUD_STORAGE.translated(address):
            try:
                data: bytes = blob.download_as_bytes(timeout=_TIMEOUT, retry=None)
                return data
            except api.NotFound as error:
                raise NotFound(f"there is no object {address}: correct the address") from error

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Write a whole object, and return its new generation.

        Args:
            address: gs://BUCKET/NAME.
            data: the content.
            generation: the generation that was read, or `NEW` where there was no object: if another one is stored now,
                nothing is written. Without a generation the object is written in any case.

        Raises:
            ObjectChanged: somebody else has written the object since it was read.
            TryAgain: Cloud Storage failed, and may answer later.
            Rejected: Cloud Storage refused the object.
        """
        blob = self._blob(address)
        with CLOUD_STORAGE.translated(address):
            blob.upload_from_string(
                data, _content_type(address), if_generation_match=generation, timeout=_TIMEOUT, retry=None, checksum="crc32c"
            )
            return int(blob.generation or NEW)

    def create(self, address: str, path: Path) -> bool:
        """Upload a file of any size under a name that is free, and return whether the name was free.

        Args:
            address: gs://BUCKET/NAME.
            path: the file of this machine.

        Raises:
            TryAgain: Cloud Storage failed, and may answer later. The object may have been written.
            Rejected: Cloud Storage refused the object.
        """
        blob = self._blob(address)
        with CLOUD_STORAGE.translated(address):
            try:
                # Asked for first: the condition alone would be answered after a large file was sent.
                if blob.exists(timeout=_TIMEOUT, retry=None):
                    return False
                blob.upload_from_filename(
                    str(path), "application/octet-stream", if_generation_match=NEW, timeout=_TIMEOUT, checksum="crc32c"
                )
            except api.PreconditionFailed:
                return False
        return True

    def delete(self, address: str) -> None:
        """Delete an object. One that is not there is no error.

        Raises:
            TryAgain: Cloud Storage failed, and may answer later.
            Rejected: Cloud Storage refuses to delete the object.
        """
        blob = self._blob(address)
        with CLOUD_STORAGE.translated(address), suppress(api.NotFound):
            blob.delete(timeout=_TIMEOUT, retry=None)

    def folder_problems(self, folder: str, who: str) -> list[str]:
        """Return what keeps objects from being read, written or replaced below a folder, each with its remedy.

        Writes nothing. A right may be granted for a prefix, and `buckets.testIamPermissions` does not know of objects. So
        the method writes, reads and deletes one object that nobody writes, on the condition that its generation is 1, which
        no object has: where the right is granted, the answer is 404 or 412
        (https://cloud.google.com/storage/docs/request-preconditions, 2025-11).

        Args:
            folder: gs://BUCKET/FOLDER.
            who: the member of this process, for the command that grants the rights.

        Raises:
            TryAgain: Cloud Storage failed, and may answer later.
            Rejected: Cloud Storage refused for another reason than a denied permission.
        """
        address = f"{check_folder(folder)}/{_PROBE}"
        bucket = address.removeprefix("gs://").split("/")[0]
        blob = self._blob(address)
        condition = {"if_generation_match": _NO_GENERATION, "timeout": _TIMEOUT, "retry": None}
        denied = []
        with CLOUD_STORAGE.translated(address):
            try:
                blob.upload_from_string(b"", "application/json", **condition)
            except api.NotFound:
                return [f"bucket gs://{bucket} does not exist; run: gcloud storage buckets create gs://{bucket}"]
            except (api.PreconditionFailed, api.Forbidden) as error:
                denied += ["storage.objects.create"] if isinstance(error, api.Forbidden) else []
            for right, method in (("storage.objects.get", blob.reload), ("storage.objects.delete", blob.delete)):
                try:
                    method(**condition)
                except (api.NotFound, api.PreconditionFailed):
                    continue
                except api.Forbidden:
                    denied.append(right)
        if not denied:
            return []
        grant = f"gcloud storage buckets add-iam-policy-binding gs://{bucket} --member={who} --role=roles/storage.objectUser"
        return [f"{who} lacks {shown_list(denied)} below {folder}; run: {grant}"]

    def _blob(self, address: str) -> Any:
        match = _ADDRESS.fullmatch(address)
        if not match:
            raise InvalidInput(f"{address!r} is not an object of a bucket: write gs://BUCKET/NAME")
        with CLOUD_STORAGE.translated(address):
            return self._connected().bucket(match["bucket"]).blob(match["name"])

    def _connected(self) -> Any:
        if self._client is None:
            from google.cloud.storage import Client

            session = None
            if os.environ.get(CLOUD_STORAGE.emulator):
                session = requests.Session()
                session.trust_env = False  # a proxy of the environment would not reach this machine
            self._client = Client(_http=session)  # type: ignore[no-untyped-call]
        return self._client


def _read_file(address: str) -> bytes:
    path = Path(urllib.parse.unquote(address.removeprefix("file://")))
    if not path.is_file():
        raise Rejected(f"{address}: there is no such file, or no longer: correct the address")
    return path.read_bytes()
