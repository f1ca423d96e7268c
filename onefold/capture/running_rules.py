"""The rules of columns while capture runs: they follow the columns and tables that a statement of the log renames.

A rule names what it protects. Where a statement gives a column or a table another name, the new name gets a rule of its own.
Where a column with a rule is gone although no statement renamed or dropped it, and the table has a new column, the new one
may hold the same values: the rows of such a structure do not land. The log may be behind the tables, and so the same holds
for a copy of a table that the log renames later.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from onefold.capture.checkpoint import Checkpoint, RuledTable
from onefold.core.errors import TableRefused
from onefold.core.log import log
from onefold.core.text import shown_list
from onefold.landing.row_writer import NO_RULES, AppliedRules, LandingRules
from onefold.mysql.binlog.events import LogPosition, Statement
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.renames import ColumnGone, ColumnRenamed, NameChange, TableRenamed, name_changes
from onefold.mysql.ghost_tables import originals
from onefold.mysql.table import Structure
from onefold.schema.column_policy import Action
from onefold.settings.captures import ColumnRules


class RunningRules:
    """The rules at the position up to which the log is read. Every method may be called by any thread."""

    def __init__(self, rules: LandingRules = NO_RULES, checkpoint: Checkpoint | None = None) -> None:
        """Start from a checkpoint.

        Args:
            rules: those of onefold.yaml.
            checkpoint: the last one, with the rules that have followed a name; None for a new capture.
        """
        self._lock = threading.RLock()
        followed = checkpoint.rules.followed if checkpoint else ()
        self._current = replace(rules, followed=followed)
        self._columns = {one.table: one.columns for one in (checkpoint.ruled_tables if checkpoint else ())}
        self._dropped: dict[TableName, LogPosition] = {}

    @property
    def current(self) -> LandingRules:
        """The rules by which rows land now. It is the same object until a rule follows a name."""
        return self._current

    def added_to(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint with these rules.

        A table that was dropped keeps its rules until the log is confirmed beyond that: its rows may be read again.
        """
        position = checkpoint.reached.position
        with self._lock:
            for table, dropped in list(self._dropped.items()):
                if position and dropped.order <= position.order:
                    del self._dropped[table]
                    self._set({name: one for name, one in self._current.followed if name != table})
            ruled = tuple(RuledTable(table, self._columns[table]) for table in sorted(self._columns))
            return replace(checkpoint, rules=self._current.applied, ruled_tables=ruled)

    def start(self, structures: Mapping[TableName, Structure]) -> None:
        """Note the columns of tables of which nothing is known."""
        if self._current.rules:
            for table, structure in structures.items():
                if table not in self._columns:
                    self.check(table, structure)

    def check(self, table: TableName, structure: Structure) -> None:
        """Check, before rows of a structure land, that no rule has lost its column to another one; and note the columns.

        Raises:
            TableRefused: a column with a rule is gone without a statement, and a column without a rule is new.
        """
        with self._lock:
            rules = self._current.applied
            names = frozenset(column.name.casefold() for column in structure.columns)
            before = self._columns.get(table, names)
            lost = frozenset(_ruled(rules, table, before - names))
            gained = sorted((names - before).difference(_ruled(rules, table, names - before)))
            if lost and gained:
                raise TableRefused(*_lost(sorted(lost), gained))
            if lost or any(_ruled(rules, table, names)):
                self._columns[table] = names | lost
            else:
                self._columns.pop(table, None)

    def apply(self, event: Statement) -> None:
        """Let rules follow the names that a statement changes."""
        if self._current.rules:
            with self._lock:
                for change in name_changes(event.text, event.database, event.grammar):
                    self._change(change, event.position)

    def _change(self, change: NameChange, position: LogPosition) -> None:
        table = TableName(*change.table)
        if isinstance(change, ColumnRenamed):
            self._column_renamed(table, change.name.casefold(), change.new_name.casefold())
        elif isinstance(change, ColumnGone):
            self._rename_column(table, change.name.casefold(), None)
        elif isinstance(change, TableRenamed):
            self._table_renamed(table, TableName(*change.new))
        else:
            self._columns.pop(table, None)
            self._dropped[table] = position

    def _column_renamed(self, table: TableName, name: str, new: str) -> None:
        rules = self._current.applied
        action = rules.action(table, name)
        if action:
            self._dropped.pop(table, None)  # else the rule would be forgotten with those of a former table of this name
        if action > rules.action(table, new):
            self._follow(table, [_rules_for(new, action)], f"column {new}, which was {name}")
        self._rename_column(table, name, new)

    def _rename_column(self, table: TableName, name: str, new: str | None) -> None:
        """Note that a column with a rule, as a statement tells, is gone or has another name."""
        if (before := self._known(table)) is not None:
            self._columns[table] = before - {name} | ({new} if new else set())

    def _table_renamed(self, table: TableName, new: TableName) -> None:
        self._dropped.pop(new, None)
        present = set(self._current.applied.of_table(new))
        missing = [one for one in self._current.applied.of_table(table) if one not in present]
        if missing:
            self._follow(new, missing, f"table {new}, which was {table}")
        if (before := self._known(table)) is not None:
            self._columns[new] = before
        if originals(table.table):
            self._columns.pop(table, None)  # the next table of that name is made like the one that it stands for

    def _known(self, table: TableName) -> frozenset[str] | None:
        """Return the columns of a table; of a ghost table before its first change, those of the table it stands for."""
        names = (table.table, *originals(table.table))
        found = (self._columns.get(TableName(table.database, name)) for name in names)
        return next((one for one in found if one is not None), None)

    def _follow(self, table: TableName, rules: Iterable[ColumnRules], what: str) -> None:
        """Add rules to those of a table."""
        followed = dict(self._current.followed)
        before = followed.get(table, ColumnRules(""))
        new = followed[table] = _merged((before, *rules))
        if new == before:
            return
        self._set(followed)
        log(
            "WARNING", f"{table}: rules of columns follow {what}: name it under `captures` in onefold.yaml, too",
            event="rule_followed", database=table.database, table=table.table,
            **{str(action): list(patterns) for action, patterns in new.patterns.items() if patterns},
        )  # fmt: skip

    def _set(self, followed: Mapping[TableName, ColumnRules]) -> None:
        self._current = replace(self._current, followed=tuple(sorted(followed.items(), key=_by_table)))


def _by_table(one: tuple[TableName, ColumnRules]) -> TableName:
    return one[0]


def _ruled(rules: AppliedRules, table: TableName, names: Iterable[str]) -> list[str]:
    return [name for name in names if rules.action(table, name)]


def _rules_for(column: str, action: Action) -> ColumnRules:
    return ColumnRules("", *((column,) if action is one else () for one in ColumnRules("").patterns))


def _merged(rules: Iterable[ColumnRules]) -> ColumnRules:
    """Return the rules of one table as one."""
    some = list(rules)
    actions = ColumnRules("").patterns
    return ColumnRules("", *(tuple(sorted({name for one in some for name in one.patterns[action]})) for action in actions))


def _lost(lost: Iterable[str], gained: Iterable[str]) -> tuple[str, str]:
    """Return the reason and the remedy of a structure that lost a column with a rule, and gained another column."""
    gone, new = shown_list(lost), shown_list(gained)
    return (
        f"it has {new}, and no longer {gone}, which `captures` names. No statement of the log renamed or dropped that "
        f"column of this table; another table may have taken its name. {new} may hold the same values",
        f"name {new} under `captures` in onefold.yaml, and start capture again. If {new} may land clear, start it once with "
        "--accept-fewer-rules; that also ends the rules that followed renames (rule_followed in the log), so name their "
        "columns first",
    )
