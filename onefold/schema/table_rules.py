"""The decisions of a user about one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from onefold.core.names import TableId, fold_case
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.casts import UTC
from onefold.schema.contract_rules import SHOW_ALL, Contract
from onefold.schema.types import Type


@dataclass(frozen=True)
class MergeWhen:
    """When a merge of many tables works on a table with new rows: where enough landed, or the last merge is old.

    Attributes:
        landed_percent: the least that has to have landed since the last merge, in percent of the base's bytes.
        max_age_hours: after how many hours the table is merged however little landed. With 20, a daily merge works on all.
    """

    landed_percent: float = 5
    max_age_hours: int = 20


@dataclass(frozen=True)
class TableRules:
    """The rules by which the versions of one table become one view and one base table.

    Attributes:
        conversions: `lossless` is the type tree; `classic` is the two rules of the published predecessor.
        time_zone: the zone in which a DATETIME is read where a TIMESTAMP is needed.
        version_column: the name of an additional first column that holds the version of each row; None for no such column.
        types: target types by column name in lower case, or by path (`address.zip`), in place of the least common type.
        units: the units of numbers that are read as times (`unix_millis`), by the same names as in `types`.
        mixed_numbers: the type of a column that is FLOAT64 in some versions and another number in others: STRING, which
            keeps every value, or FLOAT64.
        retired: versions that the view leaves out, so that their tables can be dropped.
        keys: the columns whose values identify a row of the source.
        order_by: the columns that say which row of a key is the latest, where rows have no change metadata.
        overlap_minutes: how many minutes of the last window a merge reads again. It has to be longer than the time from the
            landing of a row until the row can be read.
        current: whether messages keep the current view of the table.
        names: the naming of the versioned tables in the table's dataset.
        landed_column: the column of a plain change table that holds when a row came; None where it has no such column.
        base_dataset: the dataset of the base of a plain change table; None where it is that of the change tables.
        tool: the tool that writes a plain change table in a form of its own, such as Airbyte; None for no such tool.
        rows: what this tool writes: a row for each change, or one row for each key; None without a tool.
        merge_when: when a merge of many tables works on this one; None for always, where there are new rows.
        contract: what the views do about changes of the source.
        held: the types that columns keep by the contract, by name in lower case, where the unified type cannot give their
            values back. A value of another type that does not fit is NULL.
        of_united: whether the versions are tables of several datasets, and the version column holds the dataset.
    """

    conversions: Literal["lossless", "classic"] = "lossless"
    time_zone: str = UTC
    version_column: str | None = None
    types: tuple[tuple[str, Type], ...] = ()
    retired: frozenset[str] = field(default_factory=frozenset)
    keys: tuple[str, ...] = ()
    overlap_minutes: int = 60
    current: bool = True
    names: VersionedNames = DEFAULT_NAMES
    units: tuple[tuple[str, str], ...] = ()
    mixed_numbers: Literal["STRING", "FLOAT64"] = "STRING"
    order_by: tuple[str, ...] = ()
    landed_column: str | None = None
    base_dataset: str | None = None
    tool: str | None = None
    rows: Literal["history", "current"] | None = None
    of_united: bool = False
    merge_when: MergeWhen | None = None
    contract: Contract = SHOW_ALL
    held: tuple[tuple[str, Type], ...] = ()

    def base_place(self, table: TableId) -> TableId:
        """Return the name of a table in the dataset of its base.

        Examples:
            >>> str(TableRules(base_dataset="shop__onefold").base_place(TableId("p", "shop", "orders")))
            'p.shop__onefold.orders'
        """
        return TableId(table.project, self.base_dataset or table.dataset, table.table)

    @property
    def version_setting(self) -> str:
        """The key of onefold.yaml that names the column of the version, or of the dataset of a united table."""
        return "dataset_column" if self.of_united else "version_column"

    def whole_key(self, named: Sequence[str]) -> tuple[str, ...]:
        """Return a key as rows have it: rows of several datasets may have equal keys, so the dataset is part of the key.

        Args:
            named: the columns of the key in each dataset; empty where the key is not known.

        Examples:
            >>> TableRules(version_column="dataset", of_united=True).whole_key(["id"])
            ('dataset', 'id')
            >>> TableRules().whole_key(["id"])
            ('id',)
        """
        if not named or not self.of_united or not self.version_column:
            return tuple(named)
        return (self.version_column, *(one for one in named if fold_case(one) != fold_case(self.version_column)))

    @property
    def keeps_current(self) -> bool:
        """Whether messages keep the current view. Rows of events have no key, unless the settings name one."""
        return self.current and (bool(self.keys) or not self.names.by_labels)
