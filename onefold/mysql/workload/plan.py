"""What each writer of a workload does: transactions of random operations, and the rows that each leaves behind."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from onefold.core.errors import InvalidInput
from onefold.mysql.connection import quoted
from onefold.mysql.workload.columns import WorkloadColumn, landed_values, random_values

Kind = Literal["insert", "update", "delete", "key change"]
KINDS: tuple[Kind, ...] = ("insert", "update", "delete", "key change")
Row = dict[str, Any]
Rows = dict[int, Row]
_LONGEST = 5
"""Operations of a transaction."""
_SHARE_UNDONE = 0.2
"""The share of transactions that roll operations back, all of them or to a savepoint."""


@dataclass(frozen=True)
class SourceOptions:
    """The properties of a workload on a real source.

    Attributes:
        operations: the number of operations that are committed.
        mix: how many of 100 operations insert, update and delete.
        seed: the seed of all random choices.
        key_changes: the share of updates that change the key, from 0 to 1.
        versions: the number of versions of the table; each version after the first adds a column.
        every_type: whether a new table has a column of every type of the source.
        rate: the most operations in a second, of all writers together; None for as many as the server takes.
        writers: the number of connections that write at the same time, each its own keys.
    """

    operations: int = 1000
    mix: tuple[int, int, int] = (40, 40, 20)
    seed: int = 7
    key_changes: float = 0.0
    versions: int = 1
    every_type: bool = True
    rate: float | None = None
    writers: int = 4

    def check(self) -> None:
        """Check the options.

        Raises:
            InvalidInput: there is no such workload; the error lists all problems.
        """
        problems = []
        if sum(self.mix) != 100 or min(self.mix) < 0:
            problems.append(f"the mix {self.mix} must be three shares that make 100: insertions, updates, deletions")
        if self.operations < 1 or not 1 <= self.versions <= self.operations:
            problems.append("there must be at least one operation, and no more versions than operations")
        if not 0 <= self.key_changes <= 1:
            problems.append("the share of key changes must be from 0 to 1")
        if self.writers < 1 or (self.rate is not None and self.rate <= 0):
            problems.append("there must be at least one writer, and a rate above 0")
        if problems:
            raise InvalidInput(problems)


@dataclass(frozen=True)
class Operation:
    """One statement on one row.

    Attributes:
        kind: what the operation does.
        sql: the statement, with `%s` for each value.
        values: the values of the statement.
        effects: the row of each key after it, as BigQuery holds it; None where the key is gone.
    """

    kind: Kind
    sql: str
    values: tuple[Any, ...]
    effects: Mapping[int, Row | None]


@dataclass(frozen=True)
class WorkloadTransaction:
    """Operations that are committed together, and others that are rolled back before: to a savepoint, or altogether."""

    operations: tuple[Operation, ...] = ()
    undone: tuple[Operation, ...] = ()


@dataclass
class WriterPlan:
    """The random operations of one writer, who writes the keys that have one remainder.

    Attributes:
        options: of the workload.
        number: of the writer, from 0.
        part: of the workload, from 0; each part has a choice of its own.
        table: the table, quoted.
        columns: the columns of the table without its key.
        rows: the rows of the writer's keys, by key.
    """

    options: SourceOptions
    number: int
    part: int
    table: str
    columns: Mapping[str, WorkloadColumn]
    rows: Rows
    _rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        # A run that goes on begins with other rows, and has to choose other values: an update to the same is no change.
        seed = f"{self.options.seed} {self.number} {self.part} {sorted(self.rows)}"
        self._rng = random.Random(seed)  # noqa: S311

    def transactions(self, operations: int) -> Iterator[WorkloadTransaction]:
        """Yield transactions of so many committed operations; what is undone does not count."""
        while operations > 0:
            size = min(operations, self._rng.randint(1, _LONGEST))
            undoes = self._rng.random() < _SHARE_UNDONE
            if undoes and self._rng.random() < 0.5:
                yield WorkloadTransaction(undone=self._undone())
            done = tuple(self._operation(self.rows) for _ in range(size))
            yield WorkloadTransaction(done, self._undone() if undoes else ())
            operations -= size

    def _undone(self) -> tuple[Operation, ...]:
        rows = dict(self.rows)
        return tuple(self._operation(rows) for _ in range(self._rng.randint(1, _LONGEST)))

    def _operation(self, rows: Rows) -> Operation:
        kind: Kind = self._rng.choices(("insert", "update", "delete"), self.options.mix)[0]
        if not rows:
            kind = "insert"
        elif kind == "update" and self._rng.random() < self.options.key_changes:
            kind = "key change"
        operation = {
            "insert": self._insert, "update": self._update, "delete": self._delete, "key change": self._change_key,
        }[kind](rows)  # fmt: skip
        for key, row in operation.effects.items():
            rows.pop(key, None)
            if row is not None:
                rows[key] = row
        return operation

    def _insert(self, rows: Rows) -> Operation:
        key, values = self._free_key(rows), random_values(self._rng, self.columns)
        names = ", ".join(["`id`", *map(quoted, values)])
        marks = ", ".join(["%s", *(self.columns[name].expression for name in values)])
        sql = f"INSERT INTO {self.table} ({names}) VALUES ({marks})"
        return Operation("insert", sql, (key, *values.values()), {key: self._row(key, values)})

    def _update(self, rows: Rows) -> Operation:
        key = self._some_key(rows)
        sets, values, row = self._changed(key, rows[key])
        sql = f"UPDATE {self.table} SET {sets} WHERE `id` = %s"
        return Operation("update", sql, (*values, key), {key: row})

    def _change_key(self, rows: Rows) -> Operation:
        old, new = self._some_key(rows), self._free_key(rows)
        sets, values, row = self._changed(new, rows[old])
        sql = f"UPDATE {self.table} SET `id` = %s, {sets} WHERE `id` = %s"
        return Operation("key change", sql, (new, *values, old), {old: None, new: row})

    def _delete(self, rows: Rows) -> Operation:
        key = self._some_key(rows)
        return Operation("delete", f"DELETE FROM {self.table} WHERE `id` = %s", (key,), {key: None})

    def _changed(self, key: int, before: Row) -> tuple[str, tuple[Any, ...], Row]:
        """Return assignments, their values and the row of an update that changes at least one value.

        A server writes no change for an update that stores what is there.
        """
        row = before
        values: Row = {}
        while {**row, "id": None} == {**before, "id": None}:
            values = random_values(self._rng, self.columns)
            row = self._row(key, values)
        sets = ", ".join(f"{quoted(name)} = {self.columns[name].expression}" for name in values)
        return sets, tuple(values.values()), row

    def _row(self, key: int, values: Row) -> Row:
        return {"id": key, **landed_values(values, self.columns)}

    def _some_key(self, rows: Rows) -> int:
        return self._rng.choice(list(rows))

    def _free_key(self, rows: Rows) -> int:
        """Return a key that no row has now: often one whose row was deleted before."""
        space = 2 * len(rows) + 20
        while (key := self.number + self.options.writers * self._rng.randint(1, space)) in rows:
            pass
        return key
