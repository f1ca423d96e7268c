"""The columns of a table, looked up by name. BigQuery compares names without case: `Id` and `id` are one column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from onefold.core.names import fold_case
from onefold.schema.types import Type


@dataclass(frozen=True)
class Column:
    """A column's name, as it is spelled in its table, and its type."""

    name: str
    type: Type


class Schema(tuple[Column, ...]):
    """The columns of one table in their order, with look-ups that ignore case.

    A schema is a tuple, and equals a tuple of the same columns.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> customer = Schema([Column("Id", parse_type("INT64")), Column("name", parse_type("STRING"))])
        >>> customer.get("ID"), customer.has("NAME"), customer.has("age")
        (Column(name='Id', type=Scalar(name='INT64')), True, False)
        >>> customer.minus(["id"]).names
        ('name',)
    """

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        # The last item of a dict wins; reversed, so that the first of two columns with one name is found.
        return {fold_case(column.name): column for column in reversed(self)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as they are spelled."""
        return tuple(column.name for column in self)

    def get(self, name: str) -> Column | None:
        """Return the column of this name in any spelling; None where there is none."""
        return self._by_name.get(fold_case(name))

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name, in any spelling."""
        return fold_case(name) in self._by_name

    def minus(self, names: Iterable[str]) -> Schema:
        """Return the columns that have none of these names, in any spelling."""
        excluded = {fold_case(name) for name in names}
        return Schema(column for column in self if fold_case(column.name) not in excluded)

    def only(self, names: Iterable[str]) -> Schema:
        """Return the columns of these names, in the order of the names; names without a column are skipped."""
        return Schema(column for name in names if (column := self.get(name)))
