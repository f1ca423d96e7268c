"""Tables of events in a warehouse, the files that are loaded into them, and the manifest table that lists what was loaded.

A loader goes through the methods in this order: `prepare`, `recorded`, and for each run `find`, `histories`, `record_plan`,
`create` or `change`, `load`, `finish`. Each of them may be repeated, and two processes may call them at the same time. The
process may be killed before, in or after any of them; then another one begins from the start.

The manifest table has a row for each step of a run and a table, and rows are only ever added:

| state | written | meaning |
|---|---|---|
| `planned` | before a table is created or changed | the table may have these columns from now on |
| `begun` | before rows are loaded, where the warehouse remembers loads itself | a load that is older is not of these rows |
| `loaded` | with the load, or after it | the rows of the run are in the table, which has at least these columns |
| `finished` | last, without a table | all tables of the run are loaded |
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from onefold.core.errors import OnefoldError
from onefold.core.event_labels import label_value
from onefold.core.shred_options import FileFormat, Warehouse

MANIFEST_TABLE = "onefold_manifest"
"""The name of the manifest table, in the dataset or the schema of the tables of events."""
State = Literal["planned", "begun", "loaded", "finished"]
Columns = tuple[tuple[str, str], ...]
"""Names and types in the order of the table, those of the envelope included. Types are spelled as in manifests."""


@dataclass(frozen=True)
class EventTable:
    """A table as it is to be.

    Attributes:
        name: the name of the table, `com_acme_ad_click_1`, `com_acme_ad_click_1_0_2_recovered_0f0b3ce0` or `events`.
        columns: all columns.
        uri: the schema that the table is at; empty for the events.
        base: what all models and recovery tables of the schema share, `com_acme_ad_click`.
        version: the model, `1`, or `1r` and a hash; empty for the events, which have no labels.
        is_adopted: whether another loader made the table: then it is never created.
        descriptions: of columns that have none, where a warehouse has such: of a wide column the model of its schema.
    """

    name: str
    columns: Columns
    uri: str = ""
    base: str = ""
    version: str = ""
    is_adopted: bool = False
    descriptions: tuple[tuple[str, str], ...] = ()

    @property
    def is_recovery(self) -> bool:
        """Whether it has the data of one version that does not fit into the table of its model."""
        return "r" in self.version

    @property
    def labels(self) -> tuple[str, str]:
        """The values of the labels `LABEL_BASE` and `LABEL_VERSION`; both are empty for the events, which have none."""
        return (label_value(self.base), label_value(self.version)) if self.version else ("", "")


@dataclass(frozen=True)
class FoundTable:
    """A table as the warehouse has it.

    Attributes:
        columns: all columns, in their order; types as a manifest of a run spells them, as far as manifests have such types.
        uri: the description or the comment of the table; empty where there is none.
        labels: base and version by the table's labels, each empty where it is missing; None where the warehouse has no
            labels.
        descriptions: those of columns that have one, by name; None where the loader describes no columns.
    """

    columns: Columns
    uri: str = ""
    labels: tuple[str, str] | None = None
    descriptions: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class KnownColumns:
    """Columns that the manifest table lists for a table.

    Attributes:
        columns: the columns.
        uri: the schema that the table is at with these columns.
        registry_read_at: when the run began that had these columns, and read the registry.
        is_loaded: whether rows were loaded: then the table surely had all of these columns. Otherwise it may have them.
    """

    columns: Columns
    uri: str
    registry_read_at: datetime
    is_loaded: bool


@dataclass(frozen=True)
class EventFile:
    """A file of rows.

    Attributes:
        address: its whole address, gs://BUCKET/NAME, s3://BUCKET/NAME or file:///FOLDER/NAME.
        rows: the rows in it.
        bytes: its size.
    """

    address: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class EventTableLoad:
    """The rows of one run for one table.

    Attributes:
        run: the address of the folder of the run, as `recorded` has it.
        registry_read_at: when the run began, and read the registry.
        table: the table with the columns that it has to have: the table of the warehouse may have more by now.
        files: the files, at least one.
        compression: `none`, `gzip`, `snappy` or `zstd`.
        of_files: the columns of the files in their order, where these are not the columns of `table`.
        format: the format of the files.
    """

    run: str
    registry_read_at: datetime
    table: EventTable
    files: tuple[EventFile, ...]
    compression: str
    of_files: Columns = ()
    format: FileFormat = "csv"

    @property
    def columns(self) -> Columns:
        """The columns of the files in their order."""
        return self.of_files or self.table.columns

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class LoadResult:
    """What became of the load of one table.

    Attributes:
        table: the name of the table.
        job: the identifier of the job or statement that loaded the rows; empty where there is none.
        error: None where the rows are in the table and that is recorded. TryAgain where the load still runs, or may succeed
            if it is repeated; any other error where somebody has to act first.
    """

    table: str
    job: str = ""
    error: OnefoldError | None = None


class EventWarehouse(Protocol):
    """A dataset of BigQuery, or a schema of Redshift, with tables of events.

    Each method raises TryAgain for an error that may pass, and Rejected or another error for one that a retry does not
    change.
    """

    @property
    def place(self) -> str:
        """The name of the dataset or schema, for people."""

    @property
    def warehouse(self) -> Warehouse:
        """Which warehouse it is: it loads the formats of `FORMATS_OF`."""

    def grown(self, existing: str, new: str) -> str | None:
        """Return the type that a column of one type gets so that it also takes the values of another type.

        It is the type that exists wherever that one takes the values of both. This asks nobody.

        Args:
            existing: the type of the column.
            new: the type of the values.

        Returns:
            None where the warehouse cannot change the one type into such a type in place.
        """

    def prepare(self) -> None:
        """Create the manifest table unless it exists.

        Raises:
            NotFound: the dataset or schema does not exist.
        """

    def recorded(self, runs: Collection[str]) -> frozenset[tuple[str, str]]:
        """Return what is `loaded` and `finished` of some runs, each as the run and the table.

        The table is empty for `finished`. Nothing is returned where there is no manifest table.

        Args:
            runs: the addresses of their folders.
        """

    def find(self, name: str) -> FoundTable | None:
        """Return a table as it really is; None where there is none.

        Raises:
            Rejected: something else than a table has the name.
        """

    def histories(self, names: Collection[str]) -> Mapping[str, Sequence[KnownColumns]]:
        """Return the columns of `planned` and `loaded` for some tables, each list of columns once for each kind at least.

        A table that is not listed may be left out. Nothing is listed where there is no manifest table.

        Args:
            names: the names of the tables.
        """

    def record_plan(self, run: str, registry_read_at: datetime, tables: Sequence[EventTable]) -> None:
        """Record that tables may have these columns from now on. This is called before each `create` and `change`.

        Args:
            run: the address of the folder of the run that has these columns.
            registry_read_at: when that run began.
            tables: the tables as they are to be, at least one.
        """

    def create(self, table: EventTable) -> None:
        """Create a table, empty, with data columns that may all be NULL; a table of this name stays as it is.

        Raises:
            LimitExceeded: the warehouse would refuse the table.
        """

    def change(self, name: str, before: FoundTable, after: EventTable) -> None:
        """Bring a table to more columns, grown types, another uri, other labels or descriptions: what differs, and no more.

        Columns are added in their order, so that two processes that change a table to the columns of two runs leave the
        columns of the later run. A column or a type that the table has already is no error.

        Args:
            name: the name of the table.
            before: the table as it was found.
            after: the table as it is to be. Its columns begin with those of `before`, each with its type or what `grown`
                makes of it.

        Raises:
            TryAgain: another process changed the table in another way; look at it again.
        """

    def load(self, loads: Sequence[EventTableLoad], wait: float | None = None) -> Sequence[LoadResult]:
        """Load the rows of one run into its tables, and record each table as `loaded`, with the columns of its files.

        Rows are loaded by the names of their columns: a column of the table that the files do not have stays NULL. Rows of a
        run and a table are in the table once, however often this is called and by how many: a load that was started, by
        anybody, is waited for and never started a second time. A load that was done into another table of this name, or
        before the rows of the manifest table about it were deleted, does not count.

        Args:
            loads: tables of one run, at least one; each is all or nothing.
            wait: the seconds after which loads that still run are left to go on, with TryAgain as their result; None waits
                for as long as they take.

        Returns:
            A result for each load, in their order. An error of one table is in its result, and the other tables are loaded.
            Where the warehouse counts other rows than the manifest of the run lists, that is an error.

        Raises:
            TryAgain: no table was loaded, or not all of what was is recorded: call this again.
        """

    def finish(self, run: str) -> None:
        """Record that all tables of a run are loaded, so that nobody has to read the manifest of the run again.

        Args:
            run: the address of the folder of the run.
        """
