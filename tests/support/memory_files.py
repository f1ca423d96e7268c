"""Files of pulls in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onefold.ports.load_jobs import LoadFile
from onefold.ports.objects import StoredObject


class MemoryFiles:
    """`onefold.ports.objects.FileStore` in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def create(self, address: str, path: Path) -> bool:
        if address in self.files:
            return False
        self.files[address] = path.read_bytes()
        return True

    def find(self, address: str) -> StoredObject | None:
        data = self.files.get(address)
        return None if data is None else StoredObject(data, 1)

    def rows(self, files: Iterable[LoadFile]) -> list[dict[str, Any]]:
        return [json.loads(line) for file in files for line in self.files[file.name].decode().splitlines()]
