"""Small files beside the rows: schemas, and the progress of first pulls. Each is created once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from onefold.ports.objects import FileStore


def create_text(store: FileStore, address: str, text: str) -> bool:
    """Create a file of text, and return whether its name was free.

    Args:
        store: takes the file.
        address: its name.
        text: its content.
    """
    with tempfile.TemporaryDirectory(prefix="onefold_pull_") as folder:
        path = Path(folder, "text")
        path.write_text(text, encoding="utf-8")
        return store.create(address, path)
