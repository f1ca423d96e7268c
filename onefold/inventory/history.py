"""One table over time: its versions and their columns, which version has what, and what the unified view does with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.core.names import TableId, fold_case
from onefold.ports.listing import StoredSize
from onefold.refresh.built_view import BuiltView
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, active_versions, table_of


@dataclass(frozen=True)
class VersionHistory:
    """A version of a table, compared with the version before it.

    Attributes:
        version: its identifier.
        table: its table.
        created: when it was created.
        is_retired: whether no view reads it any more.
        size: its size; None where that is not known.
        columns: the number of its columns.
        added: columns that the version before did not have.
        removed: columns of the version before that it does not have.
        changed: columns that have another type than in the version before, as `zip: INT64 -> STRING`.
    """

    version: str
    table: TableId
    created: datetime | None
    is_retired: bool
    size: StoredSize | None
    columns: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        size = self.size or StoredSize(0)
        return {
            "version": self.version,
            "table": str(self.table),
            "created": self.created.astimezone(UTC).isoformat(timespec="seconds") if self.created else None,
            "retired": self.is_retired,
            "rows": size.rows if self.size else None,
            "bytes": size.size,
            "columns": self.columns,
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": list(self.changed),
        }


@dataclass(frozen=True)
class ColumnHistory:
    """A column over all versions.

    Attributes:
        name: its name, as the version spells it that had it first.
        landed: the versions that have it, by the type that it has there.
        missing: the versions that do not have it; the unified view shows NULL for their rows.
        shown: its type in the unified view; None where the view does not show it, or cannot be built.
        losses: what the conversions of the view may lose.
    """

    name: str
    landed: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...]
    shown: str | None
    losses: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "landed": {type_: list(versions) for type_, versions in self.landed.items()},
            "missing": list(self.missing),
            "shown": self.shown,
            "losses": list(self.losses),
        }


def version_histories(
    base: TableId, found: Sequence[Version], rules: TableRules, sizes: Mapping[str, StoredSize]
) -> Iterator[VersionHistory]:
    """Yield the versions of a table in the order of their creation, retired ones too.

    Args:
        base: the base name.
        found: all versions.
        rules: the settings of the table.
        sizes: of the tables of the dataset, by name.
    """
    former: Schema | None = None
    for version in ordered(found):
        now, before = version.schema, former or Schema()
        added = tuple(column.name for column in now if before.get(column.name) is None) if former else ()
        removed = tuple(column.name for column in before if now.get(column.name) is None)
        table = table_of(base, version, rules.names)
        yield VersionHistory(
            version.id, table, version.created, version.id in rules.retired, sizes.get(table.table), len(version.columns),
            added, removed, tuple(_changed(before, now)),
        )  # fmt: skip
        former = now


def column_histories(found: Sequence[Version], rules: TableRules, view: BuiltView | None) -> Iterator[ColumnHistory]:
    """Yield the columns of all versions that are not retired, in the order in which they first came.

    Args:
        found: all versions.
        rules: the settings of the table.
        view: the unified view; None where it cannot be built.
    """
    versions = active_versions(found, rules)
    columns: dict[str, Column] = {}
    for version in versions:
        for column in version.columns:
            columns.setdefault(fold_case(column.name), column)
    shown = Schema(view.columns if view else ())
    losses: dict[str, dict[str, None]] = {}
    for cast in view.casts if view else ():
        losses.setdefault(fold_case(cast.column), {}).update(dict.fromkeys(cast.losses))
    for name, column in columns.items():
        landed: dict[str, list[str]] = {}
        for version in versions:
            if one := version.schema.get(name):
                landed.setdefault(str(one.type), []).append(version.id)
        missing = tuple(version.id for version in versions if version.schema.get(name) is None)
        in_view = shown.get(name)
        kept = {type_: tuple(ids) for type_, ids in landed.items()}
        yield ColumnHistory(column.name, kept, missing, str(in_view.type) if in_view else None, tuple(losses.get(name, ())))


def ordered(found: Sequence[Version]) -> list[Version]:
    """Return all versions in the order of their creation, retired ones too."""
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(found, key=lambda version: (version.created or oldest, version.id))


def _changed(before: Schema, now: Schema) -> Iterator[str]:
    for column in now:
        former = before.get(column.name)
        if former is not None and former.type != column.type:
            yield f"{column.name}: {former.type} -> {column.type}"
