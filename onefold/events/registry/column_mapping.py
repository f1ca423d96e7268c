"""The columns of a table that somebody else made, mapped by their names to the columns that the registry would make.

The columns may be in any order. `onefold schema adopt` shows the mapping and records it; the shredder writes rows by it, and
the loader loads them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.schema.redshift import MAX_NAME_BYTES

_POSTGRES_NAME_BYTES = 63
_CUT = frozenset({MAX_NAME_BYTES, _POSTGRES_NAME_BYTES})
"""The bytes to which warehouses cut names."""
_LEAST_SHORT = 30
"""A name with fewer characters is not taken for one that somebody has cut."""
_SEPARATORS = re.compile(r"[._\-\s]+")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Attributes:
        name: its name.
        type: its type, as the warehouse spells it.
        nullable: whether it may be NULL.
        has_default: whether a row that does not name it gets a value.
        encoding: how it is compressed in Redshift; empty where that is not known.
    """

    name: str
    type: str
    nullable: bool = True
    has_default: bool = False
    encoding: str = ""

    @property
    def is_required(self) -> bool:
        """Whether a row has to name it."""
        return not self.nullable and not self.has_default


@dataclass(frozen=True)
class MappedColumn:
    """A column of the registry and where its values go.

    Attributes:
        name: the name that the registry gives it.
        type: the type that the registry gives it.
        column: the column of the table; None where the table has none, so that the loader adds one.
    """

    name: str
    type: str
    column: TableColumn | None

    @property
    def target(self) -> tuple[str, str]:
        """The name and the type of the column that gets the values."""
        return (self.column.name, self.column.type) if self.column else (self.name, self.type)


def map_columns(
    wanted: Sequence[tuple[str, str]], found: Sequence[TableColumn], names: Mapping[str, str]
) -> tuple[MappedColumn, ...]:
    """Return where the values of each column of the registry go.

    Args:
        wanted: name and type of each column of the registry.
        found: the columns of the table.
        names: the column of the table for columns of the registry, by `match_names` or by a person. Other columns go to a
            column of the same name, or to the only one of the same name without case.

    Examples:
        >>> mapped = map_columns([("id", "INT"), ("zip", "INT")], [TableColumn("ID", "BIGINT")], {})
        >>> [one.target for one in mapped]
        [('ID', 'BIGINT'), ('zip', 'INT')]
    """
    find = _finder(found)
    given = {name: find(column) for name, column in names.items()}
    taken = {column.name for column in given.values() if column}
    find_free = _finder([one for one in found if one.name not in taken])
    return tuple(MappedColumn(name, type_, given[name] if name in given else find_free(name)) for name, type_ in wanted)


def _finder(found: Sequence[TableColumn]) -> Callable[[str], TableColumn | None]:
    """Return the function that finds the column of a name, or else the only one of the name without case."""
    exact = {one.name: one for one in found}
    folded = _unique(fold_case, exact)
    return lambda name: exact.get(name) or exact.get(folded.get(fold_case(name), ""))


def shared_columns(mapped: Iterable[MappedColumn]) -> dict[str, list[str]]:
    """Return the columns of a table that would get the values of several columns of the registry, with these.

    Args:
        mapped: where the values of each column of the registry go.

    Examples:
        >>> shared_columns(map_columns([("user.id", "INT"), ("id", "INT")], [TableColumn("ID", "INT")], {"user.id": "ID"}))
        {'id': ['user.id', 'id']}
    """
    names: dict[str, list[str]] = {}
    for one in mapped:
        names.setdefault(fold_case(one.target[0]), []).append(one.name)
    return {column: of_column for column, of_column in names.items() if len(of_column) > 1}


def match_names(wanted: Iterable[str], found: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the column of a table for each column of the registry that has one.

    Names are compared exactly, then without case, then by their letters and digits alone, and at last a name may be the
    beginning of another one, where a warehouse or a person has cut it. Two columns that a name could be are left alone.

    Args:
        wanted: the columns of the registry.
        found: the columns of the table.
        names: what a person has decided.

    Examples:
        >>> match_names(["size.width", "Id", "zip"], ["id", "size_width"], {})
        {'Id': 'id', 'size.width': 'size_width'}
    """
    matched = dict(names)
    rules: Sequence[Callable[[str], str]] = (str, fold_case, _letters)
    for rule in rules:
        for_name = _unique(rule, (one for one in found if one not in set(matched.values())))
        for key, name in _unique(rule, (one for one in wanted if one not in matched)).items():
            if key in for_name:
                matched[name] = for_name[key]
    return matched | _cut_names(
        [one for one in wanted if one not in matched], [one for one in found if one not in set(matched.values())]
    )


def check_names(names: Mapping[str, str], wanted: Sequence[str], found: Sequence[str]) -> None:
    """Check the names that a person has given.

    Args:
        names: the column of the table for columns of the registry.
        wanted: the columns of the registry.
        found: the columns of the table.

    Raises:
        InvalidInput: a column does not exist, or would be two columns; the error lists all problems.
    """
    there = {fold_case(name) for name in found}
    problems = [f"mapping: {name} is not a column of the registry" for name in names if name not in wanted]
    problems += [f"mapping: the table has no column {name}" for name in names.values() if fold_case(name) not in there]
    own = {fold_case(name): name for name in wanted if name not in names}
    taken = Counter(fold_case(name) for name in names.values())
    twice = [name for name in names.values() if taken[fold_case(name)] > 1 or fold_case(name) in own]
    problems += [f"mapping: {name} would be two columns of the registry" for name in dict.fromkeys(twice)]
    if problems:
        raise InvalidInput(problems)


def _letters(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def _unique(rule: Callable[[str], str], names: Iterable[str]) -> dict[str, str]:
    """Return each name by its form, without forms that two names have."""
    all_names = list(names)
    counts = Counter(map(rule, all_names))
    return {rule(name): name for name in all_names if counts[rule(name)] == 1}


def _cut_names(wanted: Sequence[str], found: Sequence[str]) -> dict[str, str]:
    pairs = [(name, short) for name in wanted for short in found if _is_cut(name, short)]
    names, shorts = Counter(name for name, _ in pairs), Counter(short for _, short in pairs)
    return {name: short for name, short in pairs if names[name] == shorts[short] == 1}


def _is_cut(name: str, short: str) -> bool:
    """Return whether a name is the beginning of another one, and not that of the object that the other one is in."""
    long, beginning = name.lower(), short.lower()
    if not long.startswith(beginning) or long == beginning:
        return False
    return len(short.encode()) in _CUT or (len(short) >= _LEAST_SHORT and long[len(beginning)] not in "._")
