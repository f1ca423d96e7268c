"""A Maven repository on this machine that holds one jar."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def maven_repository(jar: bytes) -> Iterator[tuple[str, list[str]]]:
    """Serve one jar at any path of a group. Yields the address, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = self.path.startswith("/org/") and self.path.endswith(".jar")
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(jar if found else b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 as http.server names it
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
