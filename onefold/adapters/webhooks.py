"""Webhooks, to which messages are posted. Their addresses are secrets, and are in no error and no line of a log."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onefold.adapters.secrets import read_secret
from onefold.core.errors import Rejected, TryAgain

_ADDRESS = re.compile(r"https://[!-~]+|http://(127\.0\.0\.1|localhost)(:[0-9]+)?(/[!-~]*)?")
"""Printable ASCII. A message in clear text goes to this machine only."""
_TIMEOUT = 30
"""Seconds to connect, and to wait for the answer."""
# It logs the path of each request at DEBUG.
logging.getLogger("urllib3").setLevel(logging.INFO)


@dataclass(frozen=True)
class Webhook:
    """A webhook.

    Attributes:
        address: its address, a secret.
    """

    address: str = field(repr=False)

    @classmethod
    def of(cls, reference: str, environ: Mapping[str, str]) -> Webhook:
        """Read the address to which a setting refers.

        Args:
            reference: `projects/P/secrets/S`, with or without `/versions/V`; `env:NAME` or `file:PATH`.
            environ: the environment variables.

        Raises:
            Rejected: the address cannot be read, or is no address.
            TryAgain: Secret Manager does not answer.
        """
        try:
            address = read_secret(reference, environ, "webhook").strip()
        except UnicodeDecodeError:  # it has the bytes
            raise Rejected(f"the webhook in {reference} is no text in UTF-8: correct it there") from None
        if not _ADDRESS.fullmatch(address):
            raise Rejected(f"the webhook in {reference} is no address that begins with https://: correct it there")
        return cls(address)

    def post(self, content: Mapping[str, Any]) -> None:
        """Post a message as JSON. A redirection is not followed: it would lead the message elsewhere.

        Raises:
            TryAgain: the webhook does not answer, or does not take the message.
        """
        import requests

        try:
            with requests.post(
                self.address, json=content, timeout=_TIMEOUT, allow_redirects=False, stream=True
            ) as answer:  # whose body nobody reads
                status = answer.status_code
        except (OSError, ValueError) as error:  # among them all errors of requests; their texts have the address
            raise TryAgain(f"its webhook does not answer ({_reason(error)}): the next run tries again") from None
        if not 200 <= status < 300:
            raise TryAgain(f"its webhook answers {status}: correct the webhook if that stays so; the next run tries again")


def _reason(error: Exception) -> str:
    """Return why there was no answer, without the words of the error."""
    import requests

    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "its address cannot be used"
