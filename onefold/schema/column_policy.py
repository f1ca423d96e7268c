"""Policies of columns: which action a clean view takes on a column, by patterns of tables and columns.

A pattern is a name in which `*` stands for any characters, dots included. Names are compared without case, that of letters
beyond ASCII too, and in one form of Unicode, although BigQuery tells `É` from `é`: who writes a policy means both.

- `clear` decides the columns that its pattern names, and no fields below them: a field that a struct gains later waits for a
  decision. The other actions decide the fields below as well.
- The most specific pattern decides. A pattern is more specific than another if everything that it names, with the fields
  below, is named by the other one, too, and not the other way round. Of patterns of equal rank, the stricter action decides.
- A column that no pattern names is masked until somebody decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

from onefold.core.names import TableId, fold_hidden
from onefold.schema.patterns import example, full_table, matches


class Action(IntEnum):
    """What a clean view shows of a column; a greater value is stricter."""

    CLEAR = 0
    HASH = 1
    MASK = 2
    DROP = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class PolicyRule:
    """An action for the columns that two patterns name.

    Attributes:
        table: the pattern of the tables: `customer`, `shop.customer`, `shop.*`. Without a dot, tables of every dataset.
        column: the pattern of the columns by their paths: `email`, `address.zip`, `address.*`.
        action: the action.
    """

    table: str
    column: str
    action: Action

    def names_table(self, table: str) -> bool:
        """Return whether the rule is about a table.

        Args:
            table: the table as `dataset.table`, as `fold_hidden` returns it.
        """
        return matches(self._table, table)

    def names_column(self, path: str) -> bool:
        """Return whether the rule decides a column, or the struct that holds it."""
        deciding = self._columns[:1] if self.action is Action.CLEAR else self._columns
        return any(matches(pattern, fold_hidden(path)) for pattern in deciding)

    def is_within(self, other: PolicyRule) -> bool:
        """Return whether the other rule names everything that this rule names, with the fields below."""
        return matches(other._table, example(self._table)) and all(
            any(matches(wider, example(pattern)) for wider in other._columns) for pattern in self._columns
        )

    def fields_named_below(self, path: str, open_: bool) -> Iterator[str]:
        """Yield a path for each way in which the pattern names a field below a column.

        Args:
            path: the column, as `fold_hidden` returns it.
            open_: whether the column holds structs or JSON, so that `*.email` names a field of it. Otherwise only a pattern
                that spells the column out names a field of it.
        """
        pattern = fold_hidden(self.column)
        for dot in (found.start() for found in re.finditer(r"\.", pattern)):
            if pattern[:dot] == path or (open_ and matches(pattern[:dot], path)):
                yield path + example(pattern[dot:])

    @property
    def full_table(self) -> str:
        """The pattern of the tables, with one of their datasets."""
        return full_table(self.table)

    @cached_property
    def _table(self) -> str:
        return fold_hidden(self.full_table)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        """The pattern, and the pattern of the fields below."""
        column = fold_hidden(self.column)
        return (column, f"{column}.*")


@dataclass(frozen=True)
class Decision:
    """The action for a column.

    Attributes:
        action: the action.
        decided: False where no policy names the column, which is masked therefore.
    """

    action: Action
    decided: bool = True


UNDECIDED = Decision(Action.MASK, decided=False)


@dataclass(frozen=True)
class ColumnPolicies:
    """The policies of an installation."""

    rules: tuple[PolicyRule, ...] = ()

    def of_table(self, table: TableId) -> TablePolicies:
        """Return the policies about one table, given the dataset and the base name."""
        name = fold_hidden(f"{table.dataset or ''}.{table.table}")
        return TablePolicies(tuple(rule for rule in self.rules if rule.names_table(name)))


@dataclass(frozen=True)
class TablePolicies:
    """The policies about one table."""

    rules: tuple[PolicyRule, ...] = ()

    @property
    def variant_names(self) -> tuple[str, ...]:
        """The columns of the table that a view shows as parts of others."""
        return ()

    def decide(self, path: str) -> Decision:
        """Return the action for a column.

        Args:
            path: a column, or a field as `address.zip`; the elements of an array have the path of the array.

        Examples:
            >>> policies = TablePolicies((PolicyRule("*", "*", Action.CLEAR), PolicyRule("*", "*mail*", Action.HASH)))
            >>> str(policies.decide("Work_Mail").action), str(policies.decide("id").action)
            ('hash', 'clear')
            >>> TablePolicies().decide("id")
            Decision(action=<Action.MASK: 2>, decided=False)
        """
        rules = TablePolicies.deciding(self, path)
        return Decision(rules[0].action) if rules else UNDECIDED

    def deciding(self, path: str) -> tuple[PolicyRule, ...]:
        """Return the most specific rules about a column, the strictest first; none where no rule names the column.

        Examples:
            >>> policies = TablePolicies((PolicyRule("*", "*", Action.CLEAR), PolicyRule("*", "*mail*", Action.HASH)))
            >>> [rule.column for rule in policies.deciding("email")]
            ['*mail*']
        """
        found = [rule for rule in self.rules if rule.names_column(path)]
        deciding = (rule for rule in found if not any(_is_more_specific(other, rule) for other in found))
        return tuple(sorted(deciding, key=lambda rule: -rule.action))

    def decide_below(self, path: str, open_: bool) -> Decision | None:
        """Return the strictest action for the fields below a column that patterns name; None where they name none.

        Args:
            path: the column.
            open_: whether the column holds structs or JSON.
        """
        below = {name for rule in self.rules for name in rule.fields_named_below(fold_hidden(path), open_)}
        return strictest(TablePolicies.decide(self, name) for name in below)


@dataclass(frozen=True)
class UnitedPolicies(TablePolicies):
    """The policies about a table that is united of several: the strictest action that any of them has for a column.

    A table that lacks a column says nothing of it, unless a policy decides it all the same. The united table itself has
    policies, too, which decide alone about a column that no table has, such as the one with the dataset.

    Attributes:
        tables: the policies about the tables, each with the names of the columns of its tables, as `fold_hidden` returns
            them.
    """

    tables: tuple[tuple[TablePolicies, frozenset[str]], ...] = ()

    def decide(self, path: str) -> Decision:
        own = super().decide(path)
        column = fold_hidden(path).partition(".")[0]
        decisions = ((policies.decide(path), column in columns) for policies, columns in self.tables)
        found = [one for one, has_column in decisions if one.decided or has_column]
        return strictest([*found, *([own] if own.decided else [])]) or own

    def deciding(self, path: str) -> tuple[PolicyRule, ...]:
        of_tables = (rule for policies, _ in self.tables for rule in policies.deciding(path))
        found = dict.fromkeys((*super().deciding(path), *of_tables))
        return tuple(sorted(found, key=lambda rule: -rule.action))

    def decide_below(self, path: str, open_: bool) -> Decision | None:
        of_tables = (policies.decide_below(path, open_) for policies, _ in self.tables)
        return strictest(one for one in (super().decide_below(path, open_), *of_tables) if one)


@dataclass(frozen=True)
class VariantPolicies(TablePolicies):
    """The policies about a table in which values of a column that did not fit its type are in columns of their own.

    Such a column is shown as a part of the other one, which has the strictest action that a policy has for any of them.

    Attributes:
        variants: the columns with the names of their variants.
    """

    variants: tuple[tuple[str, str], ...] = ()

    @property
    def variant_names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.variants)

    def decide(self, path: str) -> Decision:
        """Return the action for a column.

        Examples:
            >>> rules = (PolicyRule("*", "score", Action.CLEAR), PolicyRule("*", "score__v_text", Action.HASH))
            >>> str(VariantPolicies(rules, (("score", "score__v_text"),)).decide("score").action)
            'hash'
        """
        own = super().decide(path)
        named = (super(VariantPolicies, self).decide(name) for name in self._variants_of(path))
        return strictest([own, *(one for one in named if one.decided)]) or own

    def deciding(self, path: str) -> tuple[PolicyRule, ...]:
        of_variants = (rule for name in self._variants_of(path) for rule in super(VariantPolicies, self).deciding(name))
        return tuple(sorted(dict.fromkeys((*super().deciding(path), *of_variants)), key=lambda rule: -rule.action))

    def _variants_of(self, path: str) -> tuple[str, ...]:
        return tuple(name for column, name in self.variants if fold_hidden(column) == fold_hidden(path))


def strictest(decisions: Iterable[Decision]) -> Decision | None:
    """Return the strictest action, decided only if all are; None of none.

    Examples:
        >>> strictest([Decision(Action.CLEAR), Decision(Action.HASH)])
        Decision(action=<Action.HASH: 1>, decided=True)
    """
    found = list(decisions)
    if not found:
        return None
    return Decision(max(one.action for one in found), all(one.decided for one in found))


@lru_cache(maxsize=65536)
def _is_more_specific(rule: PolicyRule, other: PolicyRule) -> bool:
    return rule.is_within(other) and not other.is_within(rule)
