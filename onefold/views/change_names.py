"""The identifiers of the changes of a table, by which people decide and the ledger lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from onefold.changes.ids import column_change_id, version_change_id, version_id
from onefold.core.names import TableId
from onefold.schema.target_types import type_at
from onefold.schema.types import Array, Struct, Type, element_of
from onefold.schema.versions import Version


class ChangeNames:
    """The identifiers of the changes of one table.

    What a version brought is one change. Where tables gain columns in place, each column and each type of it is a change:
    so what was decided about one stays when another one comes.

    Args:
        base: the base name of the versions.
        versions: in their order.
        grow: whether versions gain columns in place. A version without a name does in any case.

    Examples:
        >>> shop = TableId("p", "shop", "customer")
        >>> names = ChangeNames(shop, [Version("abc", ()), Version("def", ())])
        >>> names.of("def", "zip") == version_change_id(shop, "abc", "def")
        True
    """

    def __init__(self, base: TableId, versions: Sequence[Version], grow: bool = False) -> None:
        self._base, self._versions = base, {version.id: version for version in versions}
        self.grow = grow or not all(self._versions)

    def of(self, version: str, path: str) -> str:
        """Return the identifier of the change by which a version brought a column or field; empty for another version."""
        if not self.grow:
            return self._by_version.get(version, "")
        type_ = self._type(version, path)
        return column_change_id(self._base, path, str(type_)) if type_ else ""

    def of_type(self, version: str, path: str) -> str:
        """Return the identifier of the type of a column or field, whichever version brought it; empty where it is not there.

        Of a struct it is whether it is one or a list of them: its fields are changes of their own.
        """
        if (type_ := self._type(version, path)) is None:
            return ""
        of_structs = "LIST OF STRUCTS" if isinstance(type_, Array) else "STRUCT"
        name = of_structs if isinstance(element_of(type_), Struct) else str(type_)
        return column_change_id(self._base, path, name)

    def _type(self, version: str, path: str) -> Type | None:
        found = self._versions.get(version)
        column = found.schema.get(path.partition(".")[0]) if found else None
        return type_at(column, path) if column else None

    @cached_property
    def lasting(self) -> Mapping[str, str]:
        """The identifier of what each version brought whatever came before it, by that of the change (`of`).

        The change of a column in place has no other one.
        """
        return {} if self.grow else {change: version_id(self._base, version) for version, change in self._by_version.items()}

    @cached_property
    def _by_version(self) -> Mapping[str, str]:
        names = list(self._versions)
        return {
            after: version_change_id(self._base, before, after) for before, after in zip(["", *names], names, strict=False)
        }
