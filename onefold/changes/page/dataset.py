"""The value of a dataset's page: what is known of its tables, and none of the values of their rows.

Times are UTC. What a page may lack is empty or None: a ledger, readers and checks are there only where they are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from onefold.changes.page.cells import CellKind, PageColumn

HIDDEN_TEXT = "(it names a column that a policy hides)"


@dataclass(frozen=True)
class PageVersion:
    """A version of a table.

    Attributes:
        id: the version; empty for a table without versions.
        table: its table, as `dataset.table`.
        created: when it was created.
        rows: the number of its rows; None where that is not known.
        size: its logical bytes; None where that is not known.
        is_retired: whether no view reads it any more.
    """

    id: str
    table: str
    created: datetime | None = None
    rows: int | None = None
    size: int | None = None
    is_retired: bool = False


@dataclass(frozen=True)
class PageView:
    """A view of a table: `unified`, `current` or `clean`, its name and state, and why it is not up to date."""

    kind: str
    name: str
    state: str
    reason: str = ""


@dataclass(frozen=True)
class PageChange:
    """A change of the ledger.

    Attributes:
        id: its identifier.
        at: when it was recorded.
        origin: where it is known from, such as `capture`.
        before: the version before; empty where there is none.
        after: the version after; empty where there is none.
        decision: what became of it, such as `shown`.
        severity: the effect on readers, such as `CRITICAL`.
        operations: what changed, a text each.
        effects: what each view does with it, a text each.
        statement: the statement at the source, without literals; empty where it is not known.
        changed_at: when the source was changed; None where that is not known.
        tenant: the database or tenant; empty for a table of one.
        decided_at: when somebody decided; None where nobody did, or where that is not known.
    """

    id: str
    at: datetime
    origin: str
    before: str
    after: str
    decision: str
    severity: str
    operations: tuple[str, ...]
    effects: tuple[str, ...] = ()
    statement: str = ""
    changed_at: datetime | None = None
    tenant: str = ""
    decided_at: datetime | None = None


@dataclass(frozen=True)
class PageReader:
    """Who reads a column: a kind such as `view` or `job`, its name or how many, and whether that is certain."""

    column: str
    kind: str
    name: str
    count: int
    is_certain: bool = True


@dataclass(frozen=True)
class PageCheck:
    """The last check of a table against its source.

    Attributes:
        at: when it was.
        outcome: its result in a word.
        repaired: the number of rows that checks have repaired; None where that is not known.
    """

    at: datetime
    outcome: str
    repaired: int | None = None


@dataclass(frozen=True)
class PageTable:
    """A table over time.

    Attributes:
        name: its base name.
        kind: how its rows come, such as `captured`.
        versions: its versions in the order of time, retired ones too.
        columns: its columns, with a cell for each version.
        views: its views.
        changes: its changes, the newest first.
        readers: who reads its columns.
        check: its last check.
        landed_at: when rows came last.
        merged_at: when they were last merged into its base.
        lag_seconds: how far its capture is behind the source; None where that is not known.
        rows: the rows of all versions.
        problems: what a person has to look at.
    """

    name: str
    kind: str
    versions: tuple[PageVersion, ...]
    columns: tuple[PageColumn, ...]
    views: tuple[PageView, ...] = ()
    changes: tuple[PageChange, ...] = ()
    readers: tuple[PageReader, ...] = ()
    check: PageCheck | None = None
    landed_at: datetime | None = None
    merged_at: datetime | None = None
    lag_seconds: float | None = None
    rows: int | None = None
    problems: tuple[str, ...] = ()

    def with_kind(self, kind: CellKind) -> int:
        """Return the number of columns that have a cell of a kind."""
        return sum(any(form.kind == kind for form in column.forms) for column in self.columns)


@dataclass(frozen=True)
class DatasetPage:
    """A dataset as its page shows it.

    Attributes:
        project: the project.
        dataset: the dataset.
        written_at: when its metadata were read.
        tables: its tables, in the order of their names.
        warnings: what could not be read, and why.
    """

    project: str
    dataset: str
    written_at: datetime
    tables: tuple[PageTable, ...]
    warnings: tuple[str, ...] = ()
