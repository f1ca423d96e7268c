"""The text of a current view around the text of its versions: with the base, or with the whole history in its place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from onefold.core.names import TableId, quote
from onefold.merge.lost_rows import check_nothing_is_lost
from onefold.merge.plan import MergePlan
from onefold.merge.positions_check import check_floor, check_positions
from onefold.merge.stored_base import copy_of, has_copy
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column
from onefold.views.current_view import current_query, current_query_above_floor, current_query_over_base
from onefold.views.windows import ALL_ROWS, Windows, windows_by_day

RENDERER = 5
"""The number of the form of the text around the versions. Raise it with every change of that text."""

_KEYS = "-- keys: "
_DISPUTED = "-- versions declare other keys: "
_LEFT_OUT = "-- base left out: "
_BASE = "-- base: "


@dataclass(frozen=True)
class CurrentText:
    """The text of a current view around the text of its versions.

    Attributes:
        keys: the columns of the key.
        columns: the unified columns, metadata included.
        plan: the state of the base; None where there is none.
        left_out: why the rows of a base that exists are not read; empty where there is no such reason.
        copied: whether a copy is read, since the base is about to be replaced.
        disputed: whether a version declares another key, so that a message has to look at the key again.
        without: columns of the versions that people do not read.
    """

    keys: tuple[str, ...]
    columns: tuple[Column, ...]
    plan: MergePlan | None = None
    left_out: str = ""
    copied: bool = False
    disputed: bool = False
    without: tuple[str, ...] = ()

    @classmethod
    def over_base(cls, warehouse: BaseWarehouse, plan: MergePlan, columns: tuple[Column, ...]) -> CurrentText:
        """Return the text over a base, or over the whole history where only a rebuild gives the base its types.

        Args:
            warehouse: where the base is.
            plan: the state of the base.
            columns: the unified columns, metadata included.

        Raises:
            SchemaConflict: the base can be read no more, and the history lacks rows of it.
        """
        check_floor(plan)
        if plan.schema_plan.migration == "rebuild":
            check_nothing_is_lost(warehouse, plan)
            return cls(plan.base.keys, columns, plan, left_out=_reasons(plan), copied=_is_copied(warehouse, plan))
        check_positions(warehouse, plan)
        return cls(plan.base.keys, columns, plan, copied=_is_copied(warehouse, plan))

    @property
    def windows(self) -> Windows:
        """The rows of each version that the base may lack.

        What was merged into the base after a copy of it was made is not in the copy, so all changes are read with a copy.
        """
        if self.plan is None or self.plan.stored is None or self.left_out or self.copied:
            return ALL_ROWS
        return windows_by_day(self.plan.changes)

    def around(self, changes: TableId | str) -> str:
        """Return the text of the view.

        Args:
            changes: a change table, or the text of all versions, each read in its one of `windows`.
        """
        head = keys_comment(self.keys) + (f"{_DISPUTED}yes\n" if self.disputed else "")
        if self.plan is None or self.plan.stored is None:
            return f"{head}{self._outer(current_query(changes, self.columns, self.keys))}"
        note = f"{_BASE}{'copy' if self.copied else base_note(self.plan.stored)}\n"
        if not self.left_out:
            return f"{head}{note}{self._outer(self._over_base(changes, self.plan, self.plan.stored))}"
        head += f"{_LEFT_OUT}{self.left_out}\n"
        if self.plan.state.floor is None:
            return f"{head}{self._outer(current_query(changes, self.columns, self.keys))}"
        return f"{head}{note}{self._outer(self._above_floor(changes, self.plan, self.plan.stored))}"

    def _over_base(self, changes: TableId | str, plan: MergePlan, stored: StoredTable) -> str:
        window = self.windows.condition("r.", "") if isinstance(changes, TableId) else None
        zone, read_from = plan.rules.time_zone, self._read_from(plan)
        return current_query_over_base(plan.base, stored.columns, changes, self.columns, window, zone, read_from)

    def _above_floor(self, changes: TableId | str, plan: MergePlan, stored: StoredTable) -> str:
        zone = plan.rules.time_zone
        return current_query_above_floor(plan.base, stored.columns, changes, self.columns, zone, self._read_from(plan))

    def _read_from(self, plan: MergePlan) -> TableId:
        return copy_of(plan.base.place) if self.copied else plan.base.id

    def _outer(self, query: str) -> str:
        left_out = ", ".join(map(quote, self.without))
        return f"SELECT o.* EXCEPT ({left_out})\nFROM (\n{query}\n) AS o" if left_out else query


@dataclass(frozen=True)
class AlreadyCurrentText:
    """The text of a view of the rows of a table that is current already.

    Attributes:
        left_out: the names of the columns that people do not read.
        without: as in `CurrentText`.
    """

    left_out: tuple[str, ...]
    without: tuple[str, ...] = ()

    def around(self, changes: TableId | str) -> str:
        """Return the text of the view.

        Args:
            changes: the table, or the text that converts its columns.
        """
        item = changes.quoted if isinstance(changes, TableId) else f"(\n{changes}\n)"
        left_out = ", ".join(map(quote, (*self.left_out, *self.without)))
        return f"SELECT r.*{f' EXCEPT ({left_out})' if left_out else ''}\nFROM {item} AS r"


def keys_comment(keys: Sequence[str]) -> str:
    r"""Return the comment of a current view that remembers its key.

    Examples:
        >>> keys_comment(["id"])
        '-- keys: ["id"]\n'
    """
    return f"{_KEYS}{json.dumps(list(keys))}\n"


def remembered_keys(query: str) -> tuple[str, ...]:
    """Return the key that the text of a current view remembers; empty where there is none.

    Examples:
        >>> remembered_keys('-- keys: ["id"] ...')
        ()
        >>> remembered_keys('-- keys: ["id"]')
        ('id',)
    """
    try:
        keys = json.loads(_noted(query, _KEYS) or "[]")
    except ValueError:  # somebody edited the text
        return ()
    return tuple(keys) if isinstance(keys, list) and all(isinstance(key, str) for key in keys) else ()


def is_disputed(query: str) -> bool:
    r"""Return whether the text of a current view notes that a version declares another key than the view has.

    Examples:
        >>> is_disputed('-- keys: ["id"]\n-- versions declare other keys: yes')
        True
    """
    return bool(_noted(query, _DISPUTED))


def left_out(query: str) -> str:
    r"""Return why the text of a current view does not read the base that exists; empty where it does, or there is none.

    Examples:
        >>> left_out('-- keys: ["id"]\n-- base left out: id BOOL -> STRING')
        'id BOOL -> STRING'
    """
    return _noted(query, _LEFT_OUT)


def base_noted(query: str) -> str:
    """Return the note of a current view about the base that it reads; empty where it reads none."""
    return _noted(query, _BASE)


def base_note(stored: StoredTable) -> str:
    """Return a digest of the columns of a base, by which a merge sees that a view does not read a new column yet."""
    return _columns_digest(stored.columns)


def base_comment(stored: StoredTable) -> str:
    """Return the comment of a current view that reads a base."""
    return f"{_BASE}{base_note(stored)}\n"


def columns_comment(columns: Sequence[Column]) -> str:
    """Return the comment of a view that reads all columns of a table: without a new text, BigQuery shows no new column."""
    return f"-- columns: {_columns_digest(columns)}\n"


def _columns_digest(columns: Sequence[Column]) -> str:
    named = [(column.name, str(column.type)) for column in columns]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:12]


def _is_copied(warehouse: BaseWarehouse, plan: MergePlan) -> bool:
    """Return whether a merge has copied the base that is there, to replace it by one of other types, or packed positions."""
    if plan.stored is None or (plan.base.packed and not plan.schema_plan.retyped):
        return False
    return has_copy(warehouse, plan.base.place, plan.stored)


def _noted(query: str, mark: str) -> str:
    head = takewhile(lambda line: line.startswith("--"), query.split("\n"))
    return next((line[len(mark) :] for line in head if line.startswith(mark)), "")


def _reasons(plan: MergePlan) -> str:
    retyped = [f"{change.name} {change.old} -> {change.new}" for change in plan.schema_plan.retyped]
    return ", ".join([*retyped, *(f"{name} in time zone {plan.rules.time_zone}" for name in plan.schema_plan.rezoned)])
