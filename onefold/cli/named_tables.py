"""The tables that a command line names."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class NamedTables:
    """What a command line names: one table, those that match a pattern, or all of a dataset.

    dataset: the dataset.
    table: the base name of one table; None for many.
    match: a pattern of base names, with `*`, `?` and `[...]` as in a shell; None for one table, and for all.
    project: the project of `PROJECT.DATASET.TABLE`; None where the tables are named without one.
    among_others: whether the command line names other tables as well.
    """

    dataset: str
    table: str | None = None
    match: str | None = None
    project: str | None = None
    among_others: bool = False

    @property
    def is_dataset(self) -> bool:
        """Whether neither a table nor a pattern is named."""
        return self.table is None and self.match is None

    @property
    def text(self) -> str:
        """The tables as a command line names them."""
        return f"{self.dataset}.{self.name or '*'}"

    @property
    def name(self) -> str:
        """The table, or the pattern; an empty text for all tables."""
        return self.table or self.match or ""

    def holds(self, base: str) -> bool:
        """Return whether a base name is among the tables."""
        return base == self.table if self.table else self.match is None or fnmatchcase(base, self.match)
