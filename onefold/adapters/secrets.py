"""Passwords and keys, from Secret Manager, the environment or a file. A reference is stored, a secret never is."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onefold.core.errors import Rejected, TryAgain
from onefold.core.network import network_reason

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_ADDRESS = "https://secretmanager.googleapis.com/v1/"
_REFERENCE = re.compile(r"(env|file):.+|projects/[^/\s]+/secrets/[^/\s]+(/versions/[^/\s]+)?")
_TIMEOUT = 30
"""Seconds."""
_PASSING = (408, 429)
"""HTTP: request timeout, too many requests. Like every status from 500 on, they may pass."""


def key_or_text(text: str) -> str:
    """Return the key to which a text refers, as `read_secret` takes it; another text is the key itself.

    Examples:
        >>> key_or_text("5a1e0c4f-0000-4000-8000-000000000000")
        '5a1e0c4f-0000-4000-8000-000000000000'

    Raises:
        Rejected: the variable, the file or the secret cannot be read.
        TryAgain: Secret Manager does not answer.
    """
    return read_secret(text, os.environ, "key of the registry") if _REFERENCE.fullmatch(text) else text


def read_password(reference: str, environ: Mapping[str, str]) -> str:
    """Return the password to which a setting refers, as `read_secret` does."""
    return read_secret(reference, environ, "password")


def read_secret(reference: str, environ: Mapping[str, str], what: str) -> str:
    """Return the secret to which a setting refers.

    Args:
        reference: `projects/P/secrets/S`, with or without `/versions/V`; `env:NAME` or `file:PATH`.
        environ: the environment variables.
        what: what the secret is, for errors.

    Raises:
        Rejected: the variable, the file or the secret cannot be read, or the text is no reference.
        TryAgain: Secret Manager does not answer.
    """
    if not _REFERENCE.fullmatch(reference):  # it may be the secret itself, and is in no error
        raise Rejected(f"the {what} is not named by a reference: write env:NAME, file:PATH or projects/P/secrets/S")
    kind, _, name = reference.partition(":")
    if kind == "env":
        if name not in environ:
            raise Rejected(f"the {what} is in the variable {name}, which is not set: set it, or name another reference")
        return environ[name]
    if kind == "file":
        try:
            return Path(name).read_text(encoding="utf-8").rstrip("\r\n")
        except OSError as error:
            raise Rejected(
                f"the {what} is in the file {name}, which cannot be read: {error.strerror}: correct the "
                "file, or name another one"
            ) from error
    return _secret(reference if "/versions/" in reference else f"{reference}/versions/latest", _session())


def _session() -> Any:
    import google.auth
    from google.auth import exceptions
    from google.auth.transport.requests import AuthorizedSession

    from onefold.adapters.google_errors import no_credentials

    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except exceptions.DefaultCredentialsError as error:
        raise Rejected(no_credentials(error)) from error
    return AuthorizedSession(credentials)  # type: ignore[no-untyped-call]


def _secret(version: str, session: Any, address: str = _ADDRESS) -> str:
    """Return the content of a version of a secret.

    Args:
        version: its name.
        session: sends the request, with credentials.
        address: of Secret Manager.

    Raises:
        Rejected: the secret does not exist, or may not be read.
        TryAgain: Secret Manager does not answer.
    """
    import requests
    from google.auth import exceptions

    try:
        answer = session.get(f"{address}{version}:access", timeout=_TIMEOUT)
    except (requests.RequestException, exceptions.GoogleAuthError) as error:
        raise TryAgain(
            f"{version} cannot be read: Secret Manager does not answer ({network_reason(error)}): try again"
        ) from error
    if answer.status_code in _PASSING or answer.status_code >= 500:
        raise TryAgain(f"{version} cannot be read: Secret Manager answers {answer.status_code}: try again")
    if not answer.ok:
        raise Rejected(
            f"{version} cannot be read: Secret Manager answers {answer.status_code}: create the secret, and grant the "
            "account of this job roles/secretmanager.secretAccessor on it"
        )
    return base64.b64decode(answer.json()["payload"]["data"]).decode()
