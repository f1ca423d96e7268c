"""United tables: tables of one name in many datasets, one for each tenant, that are read as one.

Each dataset takes the place of a version: a version of the united table is the table of one dataset, and is named as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from onefold.core.versioned_names import SkippedTable, VersionedNames

DEFAULT_INTO = "united"
"""The dataset of the views of united tables, where onefold.yaml names no other."""
DEFAULT_COLUMN = "dataset"
"""The column that holds the dataset of each row, where onefold.yaml names no other."""
UNITED = "united"
"""What takes the place of a pattern of names: the tables are in other datasets, and have no versions."""


@dataclass(frozen=True)
class UnitedTable:
    """An entry of `unite`.

    Attributes:
        datasets: a pattern of datasets, in which `*` stands for any characters and `?` for one.
        table: the name of the tables.
        into: the dataset of the views, of the base and of the log of merges.
        dataset_column: the column that holds the dataset of each row.
        excluded: patterns of datasets that are not read: those that Onefold writes.
    """

    datasets: str
    table: str
    into: str = DEFAULT_INTO
    dataset_column: str = DEFAULT_COLUMN
    excluded: tuple[str, ...] = ()

    def reads(self, dataset: str) -> bool:
        """Return whether a table of this name in a dataset is read.

        Examples:
            >>> orders = UnitedTable("tenant_*", "orders", excluded=("*__onefold",))
            >>> [name for name in ("tenant_a", "tenant_a__onefold", "shop") if orders.reads(name)]
            ['tenant_a']
        """
        return fnmatchcase(dataset, self.datasets) and not any(fnmatchcase(dataset, one) for one in self.excluded)


@dataclass(frozen=True)
class UnitedNames(VersionedNames):
    """The naming of a dataset of united tables: no table in it is a version.

    Attributes:
        tables: the united tables of the dataset, by name.
    """

    pattern: str = UNITED
    tables: Mapping[str, UnitedTable] = field(default_factory=dict, repr=False)

    @property
    def are_noted(self) -> bool:
        return True

    @property
    def united(self) -> Mapping[str, UnitedTable]:
        return self.tables

    @property
    def described(self) -> str:
        return "in the datasets that `unite` of onefold.yaml names"

    def described_versions(self, base: str) -> str:
        """Return where the tables of a united table are, for errors.

        Examples:
            >>> UnitedNames(tables={"orders": UnitedTable("tenant_*", "orders")}).described_versions("orders")
            'orders in datasets tenant_*, as `unite` of onefold.yaml says'
        """
        one = self.tables.get(base)
        return f"{base} in datasets {one.datasets}, as `unite` of onefold.yaml says" if one else self.described

    def versions_pattern(self, base: str) -> str:
        return f"^{re.escape(base)}$"

    def problems(self, base: str, version: str) -> list[str]:
        one = self.tables.get(base)
        return [] if one and one.reads(version) else [f"{base} is united of no dataset {version[:60]}: correct `unite`"]

    def base_name_hint(self, table: str) -> str | None:  # noqa: ARG002 no name is that of one version
        return None

    def skipped(self, tables: Iterable[str]) -> tuple[SkippedTable, ...]:  # noqa: ARG002 none looks like a version
        return ()

    def _match(self, table: str) -> tuple[str, str] | None:  # noqa: ARG002
        return None
