"""The versions of a table, and the one schema that holds every value of all versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.schema.casts import conversion_problems, losses
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import classic_type, join_all, unknown_types
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Type


@dataclass(frozen=True)
class Version:
    """One versioned table: its hash, its columns in order, and its time of creation (None where it is unknown)."""

    id: str
    columns: tuple[Column, ...]
    created: datetime | None = None

    @cached_property
    def schema(self) -> Schema:
        """The columns, to be looked up by name."""
        return Schema(self.columns)


@dataclass(frozen=True)
class Cast:
    """A column of one version that has to be converted, and what the conversion can lose."""

    version: str
    column: str
    source: Type
    target: Type
    losses: tuple[str, ...]


def active_versions(versions: Iterable[Version], rules: TableRules) -> tuple[Version, ...]:
    """Return the versions that are not retired, by creation time and hash.

    Where the creation time of any version is unknown, the versions keep their order.

    Examples:
        >>> versions = [Version("b", ()), Version("a", ())]
        >>> [version.id for version in active_versions(versions, TableRules(retired=frozenset({"b"})))]
        ['a']
    """
    active = [version for version in versions if version.id not in rules.retired]
    if any(version.created is None for version in active):
        return tuple(active)
    oldest = datetime.min.replace(tzinfo=UTC)
    return tuple(sorted(active, key=lambda version: (version.created or oldest, version.id)))


def fold(versions: Sequence[Version], rules: TableRules) -> tuple[Column, ...]:
    """Return the columns of the unified view: names united without case, types joined, in order of first appearance.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old = Version("a", (Column("Id", parse_type("INT64")),))
        >>> new = Version("b", (Column("id", parse_type("NUMERIC")), Column("zip", parse_type("STRING"))))
        >>> [f"{column.name} {column.type}" for column in fold([old, new], TableRules())]
        ['Id NUMERIC', 'zip STRING']

    Raises:
        SchemaConflict: columns cannot be converted to the type of the rules, or names clash; the error lists all of them.
    """
    spelling: dict[str, str] = {}
    landed: dict[str, dict[Type, None]] = {}
    for version in versions:
        for column in version.columns:
            key = fold_case(column.name)
            spelling.setdefault(key, column.name)
            landed.setdefault(key, {})[column.type] = None
    targets = dict(rules.types)
    columns = tuple(Column(spelling[key], targets.get(key) or _join(types, rules)) for key, types in landed.items())
    _check(columns, landed, targets, rules)
    if rules.version_column:
        return (Column(rules.version_column, STRING), *columns)
    return columns


def check_known_types(view: TableId, versions: Iterable[Version], rules: TableRules) -> None:
    """Check that versions agree on the type of each column that has a type which this release does not know.

    Args:
        view: the view that the versions are to become, for the errors.
        versions: the versions that the view reads.
        rules: the rules of the table.

    Raises:
        SchemaConflict: they do not agree; the error names the view, each such column, and its types by version.
    """
    landed: dict[str, dict[Type, list[str]]] = {}
    for version in versions:
        for column in version.columns:
            landed.setdefault(fold_case(column.name), {}).setdefault(column.type, []).append(version.id)
    problems = [
        f"{view}, column {name}: {', '.join(f'{type_} in {shown_list(ids)}' for type_, ids in types.items())}: this release "
        f"does not know the type {', '.join(sorted(unknown))}, and converts it to no other type. Upgrade Onefold, or "
        "`retire` versions in onefold.yaml until all have one type"
        for name, types in landed.items()
        if (unknown := frozenset[str]().union(*map(unknown_types, types))) and not _has_common_type(types, rules)
    ]
    if problems:
        raise SchemaConflict(problems)


def _has_common_type(types: Iterable[Type], rules: TableRules) -> bool:
    try:
        _join(types, rules)
    except SchemaConflict:
        return False
    return True


def casts(versions: Sequence[Version], columns: Sequence[Column], rules: TableRules) -> tuple[Cast, ...]:
    """Return every conversion that the view makes, in the order of the versions and of their columns.

    Args:
        versions: the versions that the view reads.
        columns: the columns of the view, as `fold` returns them.
        rules: the rules of the table.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> version = Version("a", (Column("id", parse_type("INT64")),))
        >>> [f"{cast.source} -> {cast.target}" for cast in casts([version], [Column("id", STRING)], TableRules())]
        ['INT64 -> STRING']
    """
    unified = Schema(columns)
    return tuple(
        Cast(version.id, column.name, column.type, target.type, losses(column.type, target.type, rules.time_zone))
        for version in versions
        for column in version.columns
        if (target := unified.get(column.name)) and target.type != column.type
    )


def unused_rules(found: Sequence[Version], rules: TableRules) -> list[str]:
    """Return the settings that have no effect on these versions: typing mistakes, or settings that can be removed.

    Examples:
        >>> unused_rules([Version("abc", ())], TableRules(retired=frozenset({"abd"})))
        ['retire: there is no version abd']
    """
    ids = {version.id for version in found}
    types = [
        f"types.{name}: no version has a column of this name"
        for name, _ in rules.types
        if not any(version.schema.has(name) for version in found)
    ]
    return types + [f"retire: there is no version {id_}" for id_ in sorted(rules.retired - ids)]


def _join(types: Iterable[Type], rules: TableRules) -> Type:
    return classic_type(types) if rules.conversions == "classic" else join_all(types)


def _check(
    columns: Sequence[Column], landed: dict[str, dict[Type, None]], targets: dict[str, Type], rules: TableRules
) -> None:
    problems = [
        f"column {column.name}: {problem}; set another type for it in onefold.yaml"
        for column in columns
        if fold_case(column.name) in targets
        for source in landed[fold_case(column.name)]
        for problem in conversion_problems(source, column.type)
    ]
    if rules.version_column and fold_case(rules.version_column) in landed:
        problems.append(
            f"version_column {rules.version_column!r} is also a column of the table; choose another name in onefold.yaml"
        )
    if rules.version_column and fold_case(rules.version_column) in targets:
        problems.append(f"types.{rules.version_column}: the version_column is always STRING; take it out of onefold.yaml")
    if problems:
        raise SchemaConflict(problems)
