"""Why a request got no answer: the words of the system, without the classes and addresses in memory of a client's error."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from onefold.core.text import cut

_MOST_CHARACTERS = 200
_OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>:? ?|^\w+\(host=[^)]*\):? ?")


def network_reason(error: BaseException) -> str:
    """Return the innermost cause of an error on one line.

    Examples:
        >>> network_reason(ConnectionError("pool of host", ConnectionRefusedError(111, "Connection refused")))
        'Connection refused'
        >>> network_reason(TimeoutError())
        'no answer in time'
    """
    causes = list(_causes(error))
    texts = [text for cause in reversed(causes) if (text := _text(cause))]
    return cut(texts[0], _MOST_CHARACTERS) if texts else type(error).__name__


def refusal(host: str, seconds: float = 3.0) -> str | None:
    """Return why no server takes connections at an address; None where one does, or is too busy to.

    Args:
        host: HOST:PORT, or a URL.
        seconds: how long to wait. A server that is too busy for it is there all the same.
    """
    parts = urlsplit(host if "://" in host else f"//{host}")
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 0), seconds):
            return None
    except TimeoutError:
        return None
    except (OSError, ValueError) as error:
        return network_reason(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors that it was made of: clients pass them on in different ways."""
    seen: list[BaseException] = []
    found: object = error
    while isinstance(found, BaseException) and found not in seen:
        seen.append(found)
        yield found
        own = [found.__cause__, getattr(found, "cause", None), getattr(found, "reason", None), *found.args]
        found = next((one for one in own if isinstance(one, BaseException)), None)


def _text(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    details = getattr(error, "details", None)
    if callable(details):  # a call of gRPC, whose text has many lines; the cause is at the end of its message
        return str(details()).rpartition(": ")[2]
    text = getattr(error, "strerror", None) or _OBJECT.sub("", str(error))
    return ", ".join(line.strip() for line in str(text).splitlines() if line.strip())
