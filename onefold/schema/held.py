"""What a view shows under the contract of its table, and what it does not."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.schema.columns import Column, Schema
from onefold.schema.former import missing
from onefold.schema.types import Type
from onefold.schema.waiting import Waiting


@dataclass(frozen=True)
class Held:
    """What a view shows.

    Attributes:
        columns: the columns that the view shows, in their order and in the types that it shows.
        full: the columns that it would show without a contract.
        waiting: what is not shown until somebody decides.
    """

    columns: tuple[Column, ...]
    full: tuple[Column, ...]
    waiting: tuple[Waiting, ...] = ()

    @property
    def hidden(self) -> tuple[str, ...]:
        """The names of the columns that are not shown."""
        return tuple(Schema(self.full).minus(Schema(self.columns).names).names)

    @property
    def types(self) -> tuple[tuple[Column, Type], ...]:
        """The columns that are shown in another type than the unified one, as they are shown, each with that type."""
        full = Schema(self.full)
        pairs = ((column, found.type) for column in self.columns if (found := full.get(column.name)))
        return tuple((column, type_) for column, type_ in pairs if column.type != type_)

    @property
    def lost(self) -> tuple[str, ...]:
        """The paths of what is shown and no version has any more, in the form in which names are compared."""
        full = Schema(self.full)
        return tuple(path for column in self.columns for path in missing(column, full.get(column.name)))
