"""A table that exists already, and what is recognised of it: who wrote it, and what its rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from onefold.changelog.position import natural_sql
from onefold.core.names import fold_case, quote
from onefold.existing.nested_rows import NestedRows
from onefold.schema.columns import Column, Schema

ROW = "r"
"""The alias of a row in every expression of SQL about it."""
Rows = Literal["history", "current", "own"]
"""What the rows of a table are.

- `history`: one row for each change; a key has many rows.
- `current`: one row for each key, which the tool keeps up to date.
- `own`: what the tool keeps for itself; nobody reads it.
"""
Confidence = Literal["certain", "likely", "guess"]


@dataclass(frozen=True)
class Validity:
    """The columns in which a tool keeps the time in which a row was valid.

    Attributes:
        start: the column of its beginning; empty where the tool does not say.
        end: the column of its end; empty where the tool does not say.
        open_end: the end of a row that is valid still; None where that is NULL.
    """

    start: str = ""
    end: str = ""
    open_end: datetime | None = None


@dataclass(frozen=True)
class TableNote:
    """What a tool writes down about one of its tables, in a table of its own.

    Attributes:
        key: the columns that identify a row.
        rows: what the rows of the table are; None where the tool does not say.
        validity: the columns of the time in which a row was valid; None where the table has a row for something else.
    """

    key: tuple[str, ...] = ()
    rows: Rows | None = None
    validity: Validity | None = None


@dataclass(frozen=True)
class ExistingTable:
    """A table of a dataset, as the metadata of the dataset tell it.

    Attributes:
        name: its name.
        columns: its columns, without pseudo-columns.
        key: the key that onefold.yaml or the table itself declares.
        partition: the column by which it is partitioned, `_PARTITIONTIME` included; empty where there is none.
        clustering: the columns by which it is clustered.
        siblings: the names of all tables of the dataset.
        notes: what the tools wrote down about it, by the table in which they did.
        rows: the number of its rows; None where that is not known.
        size: its bytes; None where that is not known.
        written_at: when it was last written; None where that is not known.
        order_by: the columns that say which row of a key is the latest, as onefold.yaml declares them.
        declared_rows: what the rows are, as onefold.yaml declares it; None where only the metadata tell.
        has_declared_key: whether the key is that of onefold.yaml, and not one that the table itself declares.
        described: the descriptions of columns, by their names as they are spelled.
    """

    name: str
    columns: Schema
    key: tuple[str, ...] = ()
    partition: str = ""
    clustering: tuple[str, ...] = ()
    siblings: frozenset[str] = frozenset()
    notes: Mapping[str, TableNote] = field(default_factory=dict)
    rows: int | None = None
    size: int | None = None
    written_at: datetime | None = None
    order_by: tuple[str, ...] = ()
    declared_rows: Rows | None = None
    has_declared_key: bool = False
    described: Mapping[str, str] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        """Return whether the table has all of these columns, in any spelling."""
        return all(self.columns.has(name) for name in names)

    def present(self, *names: str) -> tuple[str, ...]:
        """Return those of these columns that the table has, as it spells them."""
        return self.columns.only(names).names

    def beginning(self, *prefixes: str) -> tuple[str, ...]:
        """Return the columns whose names begin with one of these prefixes, in any spelling."""
        return tuple(name for name in self.columns.names if name.lower().startswith(prefixes))


@dataclass(frozen=True)
class Term:
    """One value by which changes of a key are ordered; NULL is the lowest.

    Attributes:
        sql: the value, as an expression over a row `r`.
        column: the column, where the value is the column itself, so that `order_by` of onefold.yaml can name it.
    """

    sql: str
    column: str = ""


@dataclass(frozen=True)
class LogFile:
    """The file of the log of the source that a change was in, as expressions over a row `r`.

    Attributes:
        name: the name of the file, whose numbers rise as long as one server writes one log.
        time: when the change was written, in milliseconds since 1970.
        server: the number of the server that wrote it; the same for all rows where the table does not tell.
    """

    name: str
    time: str
    server: str = "0"


@dataclass(frozen=True)
class Recognised:
    """What a table is: who wrote it, and what its rows mean. This is how the columns of a tool become order and deletion.

    Expressions of SQL are over a row `r`. One that is empty says that the tool writes no such thing.

    Attributes:
        tool: the tool, as a person names it.
        form: its mode, such as `append-only`.
        rows: what the rows are.
        confidence: how sure that is.
        why: the reason, in one sentence.
        key: the columns that identify a row of the source; empty where nothing tells.
        order: the values that say which change of a key is the latest, the most significant first.
        deleted: TRUE for a row that the source has deleted.
        key_change: TRUE for the old row of a change of the key.
        landed: when the row was written, as a TIMESTAMP.
        active: TRUE for the row that the tool itself calls the current one of a key, in a history.
        newest: a column whose greatest value in the table replaces all rows of lower ones.
        lost: TRUE for a row with a value that the tool set to NULL.
        image: the struct that holds the columns of the source; empty where they are columns of the table.
        fields: the fields of this struct, as columns.
        metadata: the columns that the tool added.
        joined: those of them by which other tables refer to the rows, so that views keep them.
        variants: columns that hold values of another type of another column, by the other column.
        parts: columns whose STRUCTs are rows of other tables, by the base name of each of these; views show them as tables.
        log: the file of the log of a change, where the order is by its name; None where it is not, or has no time.
        notes: what a person has to know before using the table.
    """

    tool: str
    form: str
    rows: Rows
    confidence: Confidence
    why: str
    key: tuple[str, ...] = ()
    order: tuple[Term, ...] = ()
    deleted: str = ""
    key_change: str = ""
    landed: str = ""
    active: str = ""
    newest: str = ""
    lost: str = ""
    image: str = ""
    fields: tuple[Column, ...] = ()
    metadata: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[NestedRows, ...]] = field(default_factory=dict)
    log: LogFile | None = None
    notes: tuple[str, ...] = ()

    @property
    def order_by(self) -> tuple[str, ...]:
        """The columns for `order_by` of onefold.yaml; empty where the order needs more than columns."""
        columns = tuple(term.column for term in self.order)
        return columns if all(columns) else ()

    def key_sql(self, column: str) -> str:
        """Return a column of the key as an expression over a row; with variants, all of them tell keys apart."""
        others = self.variants_of(column)
        values = [f"{self.image or ROW}.{quote(name)}" for name in (column, *others)]
        return f"TO_JSON_STRING(STRUCT({', '.join(values)}))" if others else values[0]

    def variants_of(self, column: str) -> tuple[str, ...]:
        """Return the variants of a column, in any spelling of its name."""
        return next((others for name, others in self.variants.items() if fold_case(name) == fold_case(column)), ())

    def as_dict(self) -> dict[str, Any]:
        """Return the properties of `--json`."""
        return {
            "tool": self.tool,
            "form": self.form,
            "rows": self.rows,
            "confidence": self.confidence,
            "why": self.why,
            "key": list(self.key),
            "order": [term.column or term.sql for term in self.order],
            "deleted": self.deleted,
            "landed": self.landed,
            "variants": {name: list(columns) for name, columns in self.variants.items()},
            "parts": {name: [part.column for part in parts] for name, parts in self.parts.items()},
            "notes": list(self.notes),
        }


def column(name: str) -> str:
    """Return a column of a row as an expression.

    Examples:
        >>> column("id")
        'r.`id`'
    """
    return f"{ROW}.{quote(name)}"


def by_value(*names: str) -> tuple[Term, ...]:
    """Return an order by the values of columns.

    Examples:
        >>> by_value("at")
        (Term(sql='r.`at`', column='at'),)
    """
    return tuple(Term(column(name), name) for name in names)


def by_number_in_text(name: str) -> Term:
    """Return an order by a text whose digits count as numbers, as the name of a log file: `bin.9` before `bin.10`."""
    return Term(natural_sql(column(name)))


def key_of(table: ExistingTable, noted: str = "", otherwise: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the key of a table: as it declares, else as its tool notes, else another one; empty where a column is missing.

    Args:
        table: the table.
        noted: the table in which the tool notes keys.
        otherwise: the key that something else suggests.
    """
    wanted = table.key or table.notes.get(noted, TableNote()).key or otherwise
    return table.present(*wanted) if table.has(*wanted) else ()
