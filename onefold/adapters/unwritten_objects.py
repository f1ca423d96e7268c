"""The objects of a look without a change: what would be written is kept in memory, above what is there."""

from __future__ import annotations

from onefold.ports.objects import NEW, ObjectChanged, ObjectFinder, StoredObject, generation_of


class UnwrittenObjects:
    """Reads objects, and keeps those that are written to itself."""

    def __init__(self, below: ObjectFinder) -> None:
        self._below = below
        self._kept: dict[str, bytes] = {}

    def find(self, address: str) -> StoredObject | None:
        """Return the object that was written last; else the one that is there.

        Raises:
            OnefoldError: the store does not answer, or refuses.
        """
        kept = self._kept.get(address)
        return self._below.find(address) if kept is None else StoredObject(kept, generation_of(kept))

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Keep an object, and return its new generation.

        Raises:
            ObjectChanged: the object has another generation than the one that is named.
        """
        found = self.find(address)
        if generation is not None and generation != (found.generation if found else NEW):
            raise ObjectChanged(f"{address}: written by somebody else since it was read: run the command again")
        self._kept[address] = data
        return generation_of(data)
