"""A Maven repository on this machine that holds one jar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.rest import Answer, HttpRequest, serving


@contextmanager
def maven_repository(jar: bytes) -> Iterator[tuple[str, list[str]]]:
    """Serve one jar at any path of a group. Yields the address, and the paths that were asked for."""
    paths: list[str] = []

    def answer(request: HttpRequest) -> Answer:
        paths.append(request.path)
        found = request.path.startswith("/org/") and request.path.endswith(".jar")
        return (200, jar) if found else (404, b"")

    with serving(answer) as address:
        yield address, paths
