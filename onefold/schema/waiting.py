"""A change of a column that a contract holds until somebody decides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiting:
    """A change that the view does not show until somebody decides.

    Attributes:
        change: the identifier of the change.
        version: the version that brought it.
        path: a new column or field, or one with another type.
        old: the type that the view keeps; None for a new column.
        new: the type in which the view shows the column once the change is accepted.
        by_version: the identifier of what the version brought, whatever version came before it; empty where there is none.
        by_column: the identifier of the type, or of new columns of the table, whichever version brought it.
    """

    change: str
    version: str
    path: str
    old: str | None
    new: str
    by_version: str = ""
    by_column: str = ""

    def __str__(self) -> str:
        what = f"new column {self.path} {self.new}" if self.old is None else f"type of {self.path} {self.old} -> {self.new}"
        return f"{what} of version {self.version}" if self.version else what

    def as_dict(self) -> dict[str, str | None]:
        return {"id": self.change, "version": self.version, "path": self.path, "old": self.old, "new": self.new}
