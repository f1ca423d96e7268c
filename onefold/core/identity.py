"""The identity of this process in Google Cloud: the member that a grant has to name."""

from __future__ import annotations

from typing import Any

UNKNOWN = "serviceAccount:ACCOUNT"
"""The placeholder for credentials that do not name their account: people replace ACCOUNT."""
_UNKNOWN_YET = "default"
"""The account that credentials of a metadata server name before their first token."""


def member(credentials: Any) -> str:
    """Return the member of an IAM policy to which credentials of `google.auth` belong.

    Examples:
        >>> from types import SimpleNamespace
        >>> member(SimpleNamespace(service_account_email="capture@my-project.iam.gserviceaccount.com"))
        'serviceAccount:capture@my-project.iam.gserviceaccount.com'
        >>> member(SimpleNamespace(account="ada@example.com"))
        'user:ada@example.com'
        >>> member(SimpleNamespace())
        'serviceAccount:ACCOUNT'
    """
    service_account = getattr(credentials, "service_account_email", None)
    if service_account and service_account != _UNKNOWN_YET:
        return f"serviceAccount:{service_account}"
    person = getattr(credentials, "account", None)
    return f"user:{person}" if person else UNKNOWN
