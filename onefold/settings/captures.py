"""The key `captures` of onefold.yaml: which columns of a captured source land, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable
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

    def action(self, column: str) -> Action:
        """Return what these rules say about a column: the strictest action of the patterns that name it."""
        patterns = {Action.DROP: self.drop, Action.MASK: self.mask, Action.HASH: self.hash}
        found = (action for action in _STRICTEST_FIRST if any(_matches(one, column) for one in patterns[action]))
        return next(found, Action.CLEAR)


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
    matching = (one for one in rules if _matches(one.tables, f"{database}.{table}" if "." in one.tables else table))
    return max((one.action(column) for one in matching), default=Action.CLEAR)


def _matches(pattern: str, name: str) -> bool:
    return bool(_compiled(pattern).fullmatch(fold_hidden(name)))


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in fold_hidden(pattern).split("*")), re.DOTALL)
