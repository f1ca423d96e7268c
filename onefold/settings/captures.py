"""The key `captures` of onefold.yaml: which columns of a captured source land, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from onefold.core.names import fold_hidden
from onefold.schema.column_policy import Action

_STRICTEST_FIRST = (Action.DROP, Action.MASK, Action.HASH)


@dataclass(frozen=True)
class ColumnRules:
    """The columns of some tables that do not land as they are at the source.

    Names are compared without case, and in one form of Unicode.

    Attributes:
        tables: a pattern of `table` or `database.table`, in which `*` stands for any characters.
        drop: patterns of columns that do not land.
        mask: patterns of columns that land as NULL.
        hash: patterns of columns whose keyed hash lands.
    """

    tables: str
    drop: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    hash: tuple[str, ...] = ()

    @property
    def patterns(self) -> dict[Action, tuple[str, ...]]:
        """The patterns of columns by their actions, the strictest first."""
        return dict(zip(_STRICTEST_FIRST, (self.drop, self.mask, self.hash), strict=True))

    def action(self, column: str) -> Action:
        """Return what these rules say about a column: the strictest action of the patterns that name it."""
        found = (action for action, patterns in self.patterns.items() if any(_matches(one, column) for one in patterns))
        return next(found, Action.CLEAR)

    def concern(self, database: str, table: str) -> bool:
        """Return whether these rules are about a table."""
        return _matches(self.tables, f"{database}.{table}" if "." in self.tables else table)


@dataclass(frozen=True)
class CaptureSettings:
    """The settings of one captured source.

    Attributes:
        rules: the rules of columns, by patterns of tables.
        hash_key: a reference to the key of the hashes, as that of a password; None for the key of the clean views of the
            dataset.
    """

    rules: tuple[ColumnRules, ...] = field(default=())
    hash_key: str | None = None

    @property
    def hashes(self) -> bool:
        """Whether any column is hashed."""
        return any(one.hash for one in self.rules)


def action_of(rules: Iterable[ColumnRules], database: str, table: str, column: str) -> Action:
    """Return what happens to a column: the strictest action of all rules that name it.

    Args:
        rules: the rules of a source.
        database: the database of the table.
        table: its name.
        column: the column, as the source names it.

    Examples:
        >>> rules = (ColumnRules("customer", hash=("*mail*",)), ColumnRules("eu.*", drop=("email",)))
        >>> [str(action_of(rules, database, "customer", "Email")) for database in ("eu", "us")]
        ['drop', 'hash']
    """
    return max((one.action(column) for one in rules if one.concern(database, table)), default=Action.CLEAR)


def lost_rules(before: Iterable[ColumnRules], now: Sequence[ColumnRules]) -> list[str]:
    """Return the former rules that no present rule covers: columns may be clear now that were not before.

    Args:
        before: the former rules of a source.
        now: its present rules.

    Examples:
        >>> now = (ColumnRules("*", mask=("*mail*",)),)
        >>> lost_rules((ColumnRules("customer", drop=("pin",), hash=("email",)),), now)
        ['drop customer.pin']
    """
    patterns = ((one.tables, action, column) for one in before for action, some in one.patterns.items() for column in some)
    return [f"{action} {tables}.{column}" for tables, action, column in patterns if not _covers(now, tables, column, action)]


def _covers(rules: Sequence[ColumnRules], tables: str, column: str, action: Action) -> bool:
    """Return whether rules say at least the same of all columns that two patterns name.

    The patterns are taken for names: only a `*` matches a `*`, and so it matches all that the other one stands for.
    """
    database, dot, table = tables.partition(".")
    return action_of(rules, *((database, table) if dot else ("*", tables)), column) >= action


def _matches(pattern: str, name: str) -> bool:
    return bool(_compiled(pattern).fullmatch(fold_hidden(name)))


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in fold_hidden(pattern).split("*")), re.DOTALL)
