"""Who this process is to Google Cloud: the member that a grant has to name."""

from __future__ import annotations

from typing import Any

UNKNOWN = "serviceAccount:ACCOUNT"
"""Credentials do not always tell: people replace ACCOUNT by the account of the process."""
_NOT_ASKED_YET = "default"
"""What credentials of a metadata server tell as their account before their first token."""


def member(credentials: Any) -> str:
    """Return the member of a policy that credentials of `google.auth` stand for.

    >>> from types import SimpleNamespace
    >>> member(SimpleNamespace(service_account_email="capture@my-project.iam.gserviceaccount.com"))
    'serviceAccount:capture@my-project.iam.gserviceaccount.com'
    >>> member(SimpleNamespace(account="ada@example.com"))
    'user:ada@example.com'
    >>> member(SimpleNamespace())
    'serviceAccount:ACCOUNT'
    """
    service_account = getattr(credentials, "service_account_email", None)
    if service_account and service_account != _NOT_ASKED_YET:
        return f"serviceAccount:{service_account}"
    person = getattr(credentials, "account", None)
    return f"user:{person}" if person else UNKNOWN
