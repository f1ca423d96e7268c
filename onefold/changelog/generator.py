"""Workloads with a known truth: a change log in Datastream's form, the table at a chosen time, and the table at the end.

The truth is a dict from key to row that is updated with each generated operation; it does not come from reading the log.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from onefold.changelog.generator_values import TYPES, column_value
from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.core.errors import InvalidInput

METADATA_TYPE = str(metadata_type(METADATA_FIELDS))
START = 1_700_000_000_000
"""The time of the first operation, in milliseconds of the epoch."""

Row = dict[str, Any]


@dataclass(frozen=True)
class WorkloadOptions:
    """The properties of a workload.

    Attributes:
        operations: the number of operations at the source.
        mix: how many of 100 operations insert, update and delete.
        seed: the seed of all random choices.
        key_changes: the share of updates that change the key, from 0 to 1.
        duplicates: the share of changes that are delivered twice, from 0 to 1.
        shuffle: True to deliver changes in any order.
        same_second: True to give all changes of a second one timestamp, as sources of that precision do.
        backfill: True to write the whole table after half of the operations again, as insertions without a position.
        unpadded: True to write sequence numbers without leading zeros.
        versions: the number of versions in which the table lands; each version after the first adds a column.
        base_at: the number of operations after which the base is taken; None for half of them.
        every_type: True to add a column of every type of BigQuery to the key, a name and an amount.
    """

    operations: int = 1000
    mix: tuple[int, int, int] = (40, 40, 20)
    seed: int = 7
    key_changes: float = 0.0
    duplicates: float = 0.0
    shuffle: bool = False
    same_second: bool = False
    backfill: bool = False
    unpadded: bool = False
    versions: int = 1
    base_at: int | None = None
    every_type: bool = True


@dataclass
class Workload:
    """Changes by version, in the order of their delivery, and the table at the chosen time and at the end, by key."""

    changes: dict[str, list[Row]]
    base: list[Row]
    truth: list[Row]
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, str]:
        """The type of each column of the source, in the order in which they appear."""
        rows = [*(rows[0] for rows in self.changes.values() if rows), *self.base[:1], *self.truth[:1]]
        return {name: type_of(name) for row in rows for name in row if name != METADATA}


def type_of(column: str) -> str:
    """Return the BigQuery type of a column of a workload.

    Examples:
        >>> type_of("amount"), type_of("added_1")
        ('INT64', 'STRING')
    """
    if column == METADATA:
        return METADATA_TYPE
    return "INT64" if column in ("id", "amount") else TYPES.get(column, "STRING")


def check_options(options: WorkloadOptions) -> None:
    """Check the options of a workload.

    Examples:
        >>> check_options(WorkloadOptions(operations=10, mix=(50, 50, 0)))

    Raises:
        InvalidInput: there is no such workload; the error lists all problems.
    """
    problems = []
    if sum(options.mix) != 100 or min(options.mix) < 0:
        problems.append(f"the mix {options.mix} must be three shares that make 100: insertions, updates, deletions")
    if options.operations < 1 or not 1 <= options.versions <= options.operations:
        problems.append("there must be at least one operation, and no more versions than operations")
    shares = {"key changes": options.key_changes, "duplicates": options.duplicates}
    problems += [f"the share of {name} must be from 0 to 1" for name, share in shares.items() if not 0 <= share <= 1]
    if options.base_at is not None and not 0 <= options.base_at <= options.operations:
        problems.append(f"the base must be taken after 0 to {options.operations} operations")
    if problems:
        raise InvalidInput(problems)


def make_workload(options: WorkloadOptions) -> Workload:
    """Return the workload of some options; equal options give equal workloads.

    Examples:
        >>> workload = make_workload(WorkloadOptions(operations=10, every_type=False))
        >>> workload.counts["insert"] - workload.counts["delete"] == len(workload.truth)
        True

    Raises:
        InvalidInput: the options are not valid.
    """
    check_options(options)
    source = _Source(options)
    base_at = options.operations // 2 if options.base_at is None else options.base_at
    base: list[Row] = source.table()
    changes: list[tuple[str, Row]] = []
    for number in range(1, options.operations + 1):
        changes += source.operate(number)
        if number == base_at:
            base = source.table()
        if options.backfill and number == options.operations // 2:
            changes += source.backfill(number)
    return Workload(_delivered(changes, options), base, source.table(), source.counts)


def _delivered(changes: list[tuple[str, Row]], options: WorkloadOptions) -> dict[str, list[Row]]:
    """Return the delivered changes by version: some twice, and in any order where the options say so."""
    rng = random.Random(f"delivery {options.seed}")  # noqa: S311
    delivered = [change for change in changes for _ in range(2 if rng.random() < options.duplicates else 1)]
    if options.shuffle:
        rng.shuffle(delivered)
    tables: dict[str, list[Row]] = {_version(number): [] for number in range(options.versions)}
    for version, row in delivered:
        tables[version].append(row)
    return tables


def _version(number: int) -> str:
    return f"a{number:03}"


class _Source:
    """The simulated table at the source, and the changes that each operation writes."""

    def __init__(self, options: WorkloadOptions) -> None:
        self._options = options
        self._rng = random.Random(options.seed)  # noqa: S311
        self._rows: dict[int, Row] = {}
        self._next_key = 1
        self._version = 0
        self.counts = {"insert": 0, "update": 0, "delete": 0, "key change": 0}

    def table(self) -> list[Row]:
        """Return every row in the columns of the present version, by key."""
        return [{**dict.fromkeys(self._columns()), **self._rows[key]} for key in sorted(self._rows)]

    def operate(self, number: int) -> Iterator[tuple[str, Row]]:
        """Apply one operation to the table, and yield its changes: (version, row)."""
        self._version = (number - 1) * self._options.versions // self._options.operations
        kind = self._rng.choices(("insert", "update", "delete"), self._options.mix)[0]
        if not self._rows:
            kind = "insert"
        if kind == "insert":
            yield self._insert(number)
        elif kind == "delete":
            yield self._delete(number)
        elif self._rng.random() < self._options.key_changes:
            yield from self._change_key(number)
        else:
            yield self._update(number)

    def backfill(self, number: int) -> list[tuple[str, Row]]:
        """Return the whole table as insertions of one time, without a sequence: (version, row)."""
        metadata = {**self._metadata(number, "INSERT"), "change_sequence_number": None, "sort_keys": []}
        return [(_version(self._version), {**row, METADATA: metadata}) for row in self.table()]

    def _insert(self, number: int) -> tuple[str, Row]:
        self.counts["insert"] += 1
        key, self._next_key = self._next_key, self._next_key + 1
        return self._store(key, number, "INSERT")

    def _update(self, number: int) -> tuple[str, Row]:
        self.counts["update"] += 1
        return self._store(self._some_key(), number, "UPDATE-INSERT")

    def _delete(self, number: int) -> tuple[str, Row]:
        self.counts["delete"] += 1
        return self._change(self._take(self._some_key()), number, "DELETE")

    def _change_key(self, number: int) -> Iterator[tuple[str, Row]]:
        self.counts["key change"] += 1
        yield self._change(self._take(self._some_key()), number, "UPDATE-DELETE")
        key, self._next_key = self._next_key, self._next_key + 1
        yield self._store(key, number, "UPDATE-INSERT")

    def _store(self, key: int, number: int, kind: str) -> tuple[str, Row]:
        values = {column: self._value(column) for column in self._columns() if column != "id"}
        self._rows[key] = {"id": key, **values}
        return self._change(self._rows[key], number, kind)

    def _take(self, key: int) -> Row:
        return self._rows.pop(key)

    def _some_key(self) -> int:
        return self._rng.choice(list(self._rows))

    def _columns(self) -> list[str]:
        typed = TYPES if self._options.every_type else ()
        return ["id", "name", "amount", *typed, *(f"added_{number}" for number in range(1, self._version + 1))]

    def _value(self, column: str) -> Any:
        if column in TYPES:
            return column_value(self._rng, column)
        if self._rng.random() < 0.1:
            return None
        number = self._rng.randrange(100_000)
        return number if column == "amount" else f"{column} {number} é"

    def _change(self, row: Row, number: int, kind: str) -> tuple[str, Row]:
        whole = {**dict.fromkeys(self._columns()), **row}
        return _version(self._version), {**whole, METADATA: self._metadata(number, kind)}

    def _metadata(self, number: int, kind: str) -> Row:
        grain = 1000 if self._options.same_second else 1
        # Two hexadecimal sections, like the number of a log file and the offset in the file.
        file, offset = divmod(number * 37, 4096)
        sequence = f"{file:X}/{offset:X}" if self._options.unpadded else f"{file:08X}/{offset:016X}"
        return {
            "uuid": f"{self._options.seed:08x}-{number:08x}",
            "source_timestamp": (START + number * 40) // grain * grain,
            "change_sequence_number": sequence,
            "change_type": kind,
            "sort_keys": [str(START + number * 40), f"mysql-bin.{file}", str(offset)],
        }
