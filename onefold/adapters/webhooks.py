"""Webhooks, to which messages are posted. Their addresses are secrets, and are in no error and no line of a log."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onefold.adapters.secrets import read_secret
from onefold.core.errors import Rejected, TryAgain

_ADDRESS = re.compile(r"https://[!-~]+|http://(127\.0\.0\.1|localhost)(:[0-9]+)?(/[!-~]*)?")
"""Printable ASCII. A message in clear text goes to this machine only."""
_TIMEOUT = 30
"""Seconds to connect, and to wait for the next byte of the answer."""
_LONGER = 10
"""Seconds that the whole may take longer."""
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
        found: list[int | Exception] = []
        # The client's own timeout begins again with each byte: an answer that drips would hold up all other owners.
        posting = threading.Thread(target=lambda: found.append(self._status(content)), daemon=True)
        posting.start()
        posting.join(_TIMEOUT + _LONGER)
        status = found[0] if found else TimeoutError()
        if isinstance(status, Exception):
            raise TryAgain(f"its webhook does not answer ({_reason(status)}): the next run tries again")
        if not 200 <= status < 300:
            raise TryAgain(f"its webhook answers {status}: correct the webhook if that stays so; the next run tries again")

    def _status(self, content: Mapping[str, Any]) -> int | Exception:
        """Post a message, and return the status of the answer, or why there is none."""
        import requests

        try:
            with requests.post(
                self.address, json=content, timeout=_TIMEOUT, allow_redirects=False, stream=True
            ) as answer:  # whose body nobody reads
                return answer.status_code
        except (OSError, ValueError) as error:  # among them all errors of requests; their texts have the address
            return error


def _reason(error: Exception) -> str:
    """Return why there was no answer, without the words of the error."""
    import requests

    if isinstance(error, requests.Timeout | TimeoutError):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "its address cannot be used"
