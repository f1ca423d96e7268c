"""The adapter of Cloud Storage: small objects, read and written whole; and files, which stand in for them on a laptop.

STORAGE_EMULATOR_HOST names a stand-in for Cloud Storage, as http://host:port. Nothing is tried again here: callers do.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from onefold.core.errors import InvalidInput, Rejected, TryAgain
from onefold.ports.objects import _ADDRESS, NEW, ObjectChanged, StoredObject, check_folder

MAX_OBJECT = 64_000_000
"""Bytes. A row that BigQuery takes has some 10 MB, six times as many where JSON escapes all of its letters."""


_TIMEOUT = 60.0
_PROBE = "onefold-check"
"""An object that is never written."""
_NO_GENERATION = 1
"""Generations are numbers of 16 digits."""
# A denied permission passes: right after a grant.
_PASSING = (api.ServerError, api.TooManyRequests, api.Unauthorized, api.Forbidden)
_REQUEST_TIMEOUT = 408


class GcsObjects:
    """By their addresses, gs://BUCKET/NAME. The client is made at the first use."""

    def __init__(self) -> None:
        self._client: Any = None

    def read(self, address: str) -> bytes:
        """The whole object, or the file of an address that begins with file://.

        Raises:
            Rejected: there is none, or it is too large.
            TryAgain: trouble that may pass.
        """
        if address.startswith("file://"):
            return _read_file(address)
        found = self.find(address)
        if found is None:
            raise Rejected(f"{address}: there is no such object (any more)")
        return found.data

    def find(self, address: str) -> StoredObject | None:
        """An object, or None where there is none. Raises as `read` does."""
        blob = self._blob(address)
        with _translated(address):
            try:
                blob.reload(timeout=_TIMEOUT, retry=None)
                if (blob.size or 0) > MAX_OBJECT:
                    raise Rejected(f"{address} has {blob.size} bytes, and no row of so many fits BigQuery")
                generation = int(blob.generation or NEW)
                data = blob.download_as_bytes(if_generation_match=generation, timeout=_TIMEOUT, retry=None)
                return StoredObject(data, generation)
            except api.NotFound:
                return None

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Write an object whole, and give its generation.

        Args:
            generation: the one that was read: with another one there nothing is written, with `NEW` where there is any.

        Raises:
            ObjectChanged: there is another one.
            TryAgain, Rejected.
        """
        blob = self._blob(address)
        with _translated(address):
            blob.upload_from_string(
                data, "application/json", if_generation_match=generation, timeout=_TIMEOUT, retry=None, checksum="crc32c"
            )
            return int(blob.generation or NEW)

    def folder_problems(self, folder: str, who: str) -> list[str]:
        """Return what keeps objects from being read, written or replaced below a folder, each with its remedy.

        Writes nothing. A right may be given for a prefix, and `buckets.testIamPermissions` does not know of objects. So one
        object that nobody writes is asked for, written and deleted on the condition that its generation is 1, which no
        object has: where the right is there, the answer is 404 or 412
        (https://cloud.google.com/storage/docs/request-preconditions, 2025-11).

        Args:
            folder: gs://BUCKET/FOLDER.
            who: the member of this process, for the command that grants the rights.

        Raises:
            TryAgain, Rejected: as `read` does; a denied permission is a fault.
        """
        address = f"{check_folder(folder)}/{_PROBE}"
        bucket = address.removeprefix("gs://").split("/")[0]
        blob = self._blob(address)
        asked = {"if_generation_match": _NO_GENERATION, "timeout": _TIMEOUT, "retry": None}
        denied = []
        with _translated(address):
            try:
                blob.upload_from_string(b"", "application/json", **asked)
            except api.NotFound:
                return [f"bucket gs://{bucket} does not exist; run: gcloud storage buckets create gs://{bucket}"]
            except (api.PreconditionFailed, api.Forbidden) as error:
                denied += ["storage.objects.create"] if isinstance(error, api.Forbidden) else []
            for right, work in (("storage.objects.get", blob.reload), ("storage.objects.delete", blob.delete)):
                try:
                    work(**asked)
                except (api.NotFound, api.PreconditionFailed):
                    continue
                except api.Forbidden:
                    denied.append(right)
        if not denied:
            return []
        grant = f"gcloud storage buckets add-iam-policy-binding gs://{bucket} --member={who} --role=roles/storage.objectUser"
        return [f"{who} lacks {', '.join(denied)} below {folder}; run: {grant}"]

    def _blob(self, address: str) -> Any:
        match = _ADDRESS.fullmatch(address)
        if not match:
            raise InvalidInput(f"{address!r} is no object of a bucket: write gs://BUCKET/NAME")
        with _translated(address):
            return self._connected().bucket(match["bucket"]).blob(match["name"])

    def _connected(self) -> Any:
        if self._client is None:
            from google.cloud.storage import Client

            session = None
            if os.environ.get("STORAGE_EMULATOR_HOST"):
                session = requests.Session()
                session.trust_env = False  # a proxy of the environment would not find this machine
            self._client = Client(_http=session)  # type: ignore[no-untyped-call]
        return self._client


def _read_file(address: str) -> bytes:
    path = Path(urllib.parse.unquote(address.removeprefix("file://")))
    if not path.is_file():
        raise Rejected(f"{address}: there is no such file (any more)")
    return path.read_bytes()


@contextmanager
def _translated(address: str) -> Iterator[None]:
    try:
        yield
    except api.PreconditionFailed as error:
        raise ObjectChanged(f"{address} was written by somebody else") from error
    except auth.DefaultCredentialsError as error:
        raise Rejected(f"no credentials: run `gcloud auth application-default login` ({error})") from error
    except _PASSING as error:
        raise TryAgain(f"{address}: Cloud Storage answers {error.code}") from error
    except (requests.exceptions.RequestException, auth.GoogleAuthError) as error:
        raise TryAgain(f"{address}: {error}") from error
    except api.GoogleAPICallError as error:
        if error.code == _REQUEST_TIMEOUT:
            raise TryAgain(f"{address}: Cloud Storage answers {error.code}") from error
        raise Rejected(f"{address}: Cloud Storage answers {error.code}: {error.message}") from error
