"""The versions of a table, and the one schema that holds every value of all versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.core.versioned_names import VersionedNames
from onefold.schema.casts import conversion_problems, losses
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import classic_type, join_all, unknown_types
from onefold.schema.order import keep_order
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type, type_at, with_nested_targets
from onefold.schema.types import STRING, Type

_SHOWN_VERSIONS = 5


@dataclass(frozen=True)
class Version:
    """One versioned table.

    Attributes:
        id: its version, such as a hash.
        columns: its columns, in order.
        created: when it was created; None where that is unknown.
        table: its name, where that does not follow from the base name and the version; empty where it does.
        dataset: its dataset, where that is another than the dataset of the base name; empty where it is not.
    """

    id: str
    columns: tuple[Column, ...]
    created: datetime | None = None
    table: str = ""
    dataset: str = ""

    @cached_property
    def schema(self) -> Schema:
        """The columns, to be looked up by name."""
        return Schema(self.columns)


def table_of(base: TableId, version: Version, names: VersionedNames) -> TableId:
    """Return the table of a version; a version without a name is the table of the base name itself.

    Args:
        base: the base name.
        version: the version.
        names: the naming of versioned tables in the dataset.

    Examples:
        >>> str(table_of(TableId(None, "shop", "customer"), Version("abc", ()), VersionedNames()))
        'shop.customer_v_abc'
    """
    if not version.id:
        return base
    name = version.table or names.name(base.table, version.id)
    return TableId(base.project, version.dataset or base.dataset, name)


@dataclass(frozen=True)
class Cast:
    """A column that some versions have in a type that has to be converted, and what the conversion can lose."""

    versions: tuple[str, ...]
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


def landed_version(version: Version, rules: TableRules) -> Version:
    """Return a version with the types as which its values are read: numbers that the settings give a unit are times."""
    columns = (Column(column.name, landed_type(column, rules)) for column in version.columns)
    return replace(version, columns=tuple(columns))


def mixed_number_columns(versions: Sequence[Version], rules: TableRules) -> list[str]:
    """Return the columns that are text only because FLOAT64 met other numbers, and by which setting they would be FLOAT64.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> versions = [Version(name, (Column("x", parse_type(name)),)) for name in ("INT64", "FLOAT64")]
        >>> mixed_number_columns(versions, TableRules())
        ['x: FLOAT64 and other numbers become text: set `mixed_numbers: FLOAT64`, which may round, or a target type']
    """
    if rules.conversions == "classic" or rules.mixed_numbers == "FLOAT64":
        return []
    now, then = fold(versions, rules), Schema(fold(versions, replace(rules, mixed_numbers="FLOAT64")))
    advice = "FLOAT64 and other numbers become text: set `mixed_numbers: FLOAT64`, which may round, or a target type"
    return [f"{column.name}: {advice}" for column in now if (other := then.get(column.name)) and other.type != column.type]


def fold(
    versions: Sequence[Version], rules: TableRules, former: Sequence[Column] = (), table: TableId | None = None
) -> tuple[Column, ...]:
    """Return the columns of the unified view: names united without case, types joined.

    Columns and fields keep the order and the spelling of the former columns; others follow in order of first appearance. A
    struct that the rules name as a target type has the order and the spelling of the rules.

    Args:
        versions: the versions, in order.
        rules: the rules of the table.
        former: the columns of the view as it is; none where the view does not exist.
        table: the base name, for errors.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old = Version("a", (Column("Id", parse_type("INT64")),))
        >>> new = Version("b", (Column("id", parse_type("NUMERIC")), Column("zip", parse_type("STRING"))))
        >>> [f"{column.name} {column.type}" for column in fold([old, new], TableRules())]
        ['Id NUMERIC', 'zip STRING']

    Raises:
        SchemaConflict: columns cannot be converted to the type of the rules, or names clash; the error lists all of them,
            with table, column and versions.
    """
    spelling: dict[str, str] = {}
    landed: dict[str, dict[Type, None]] = {}
    for version in versions:
        for column in version.columns:
            key = fold_case(column.name)
            spelling.setdefault(key, column.name)
            landed.setdefault(key, {})[column.type] = None
    targets = {path: type_ for path, type_ in rules.types if "." not in path}
    kept = {**targets, **dict(rules.held)}
    joined = (Column(spelling[key], kept.get(key) or join_types(types, rules)) for key, types in landed.items())
    columns = tuple(with_nested_targets(column, rules) for column in joined)
    if problems := _problems(versions, columns, landed, targets, rules):
        raise SchemaConflict(f"{table}: {problem}" if table else problem for problem in problems)
    first = (Column(rules.version_column, STRING),) if rules.version_column else ()
    return keep_order((*first, *columns), former, kept)


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
        f"{view}, column {name}: {shown_list(f'{type_} in {shown_list(ids)}' for type_, ids in types.items())}: this "
        f"release does not know the type {shown_list(sorted(unknown))}, and converts it to no other type. Upgrade Onefold, "
        "or `retire` versions in onefold.yaml until all have one type"
        for name, types in landed.items()
        if (unknown := frozenset[str]().union(*map(unknown_types, types))) and not _has_common_type(types, rules)
    ]
    if problems:
        raise SchemaConflict(problems)


def _has_common_type(types: Iterable[Type], rules: TableRules) -> bool:
    try:
        join_types(types, rules)
    except SchemaConflict:
        return False
    return True


def casts(versions: Sequence[Version], columns: Sequence[Column], rules: TableRules) -> tuple[Cast, ...]:
    """Return every conversion that the view makes, in the order in which versions and their columns first need it.

    Args:
        versions: the versions that the view reads.
        columns: the columns of the view, as `fold` returns them.
        rules: the rules of the table.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> versions = [Version(name, (Column("id", parse_type("INT64")),)) for name in ("a", "b")]
        >>> [f"{cast.versions}: {cast.target}" for cast in casts(versions, [Column("id", STRING)], TableRules())]
        ["('a', 'b'): STRING"]
    """
    unified = Schema(columns)
    found: dict[Column, list[str]] = {}
    for version in versions:
        for column in version.columns:
            found.setdefault(column, []).append(version.id)
    return tuple(
        Cast(tuple(ids), column.name, source, target.type, losses(source, target.type, rules.time_zone))
        for column, ids in found.items()
        if (target := unified.get(column.name)) and target.type != (source := landed_type(column, rules))
    )


def unused_rules(found: Sequence[Version], rules: TableRules) -> list[str]:
    """Return the settings that have no effect on these versions: typing mistakes, or settings that can be removed.

    Examples:
        >>> unused_rules([Version("abc", ())], TableRules(retired=frozenset({"abd"})))
        ['retire: there is no version abd']
    """
    ids = {version.id for version in found}
    columns = [column for version in found for column in version.columns]
    types = [
        f"types.{path}: no version has a column of this name"
        for path, _ in rules.types
        if not any(type_at(column, path) for column in columns)
    ]
    types += [
        f"types.{path}: from: {unit} has no effect, because no version has numbers there"
        for path, unit in rules.units
        if all(landed_type(column, rules) == column.type for column in columns if fold_case(column.name) == _first(path))
    ]
    return types + [f"retire: there is no version {id_}" for id_ in sorted(rules.retired - ids)]


def join_types(types: Iterable[Type], rules: TableRules) -> Type:
    """Return the least common type by the rules of a table.

    Raises:
        SchemaConflict: there is none.
    """
    return classic_type(types) if rules.conversions == "classic" else join_all(types, rules.mixed_numbers == "FLOAT64")


def _first(path: str) -> str:
    return fold_case(path.partition(".")[0])


def _path_problems(columns: Sequence[Column], landed: dict[str, dict[Type, None]], rules: TableRules) -> Iterator[str]:
    """Yield a problem for each path of the settings that leads into a column that is no STRUCT in the view."""
    unified = Schema(columns)
    for path, _ in rules.types:
        column = unified.get(_first(path))
        if "." not in path or column is None or type_at(column, path):
            continue
        if any(type_at(Column(column.name, type_), path) for type_ in landed[fold_case(column.name)]):
            yield f"types.{path}: {column.name} is {column.type} in the view, without such a field: set its own type"


def _problems(
    versions: Sequence[Version],
    columns: Sequence[Column],
    landed: dict[str, dict[Type, None]],
    targets: dict[str, Type],
    rules: TableRules,
) -> list[str]:
    """Return why the versions cannot have these columns."""
    problems = [
        f"column {column.name} of {_named(versions, column.name, type_)}: {problem}; set another type for it in onefold.yaml"
        for column in columns
        if fold_case(column.name) in map(_first, dict(rules.types))
        for type_ in landed[fold_case(column.name)]
        for problem in conversion_problems(landed_type(Column(column.name, type_), rules), column.type)
    ]
    problems += _path_problems(columns, landed, rules)
    if rules.version_column and fold_case(rules.version_column) in landed:
        problems.append(
            f"{rules.version_setting} {rules.version_column!r} is also a column of "
            f"{_named(versions, rules.version_column)}; choose another name in onefold.yaml"
        )
    if rules.version_column and fold_case(rules.version_column) in targets:
        problems.append(
            f"types.{rules.version_column}: the {rules.version_setting} is always STRING; take it out of onefold.yaml"
        )
    return problems


def _named(versions: Sequence[Version], name: str, type_: Type | None = None) -> str:
    """Return the versions that have a column of this name, and of this type if one is given."""
    found = [(version.id, version.schema.get(name)) for version in versions]
    ids = [id_ for id_, column in found if column and type_ in (None, column.type)]
    return f"version{'s' if len(ids) > 1 else ''} {shown_list(ids, _SHOWN_VERSIONS)}"
