"""Lists of columns of one table. The columns of a table only grow: of two states one begins with the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from onefold.core.text import shown_list

Columns = tuple[tuple[str, str], ...]
"""Names and types in the order of the table."""
Grown = Callable[[str, str], str | None]
"""Takes the type of a column and that of values; returns what the column becomes in place, or None where it cannot."""
GapKind = Literal["added", "grown", "unfit", "missing", "unknown", "between", "moved"]


@dataclass(frozen=True)
class Gap:
    """A difference between a table and the columns of rows.

    Attributes:
        kind: `added`: the column will be added; `grown`: it will become `wanted`; `unfit`: it cannot become so in place;
            `missing`: it cannot be added where it belongs; `unknown`: a column behind all others that no row has; `between`:
            such a column where another one belongs; `moved`: the column is not where it belongs.
        column: its name.
        found: its type in the table; empty where it has none.
        wanted: the type for the rows; empty where they have no such column.
    """

    kind: GapKind
    column: str
    found: str = ""
    wanted: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether rows cannot be loaded as long as it is there."""
        return self.kind in ("unfit", "missing", "between", "moved")

    def __str__(self) -> str:
        texts: dict[GapKind, str] = {
            "unfit": f"it is {self.found} and cannot hold {self.wanted}, and the type cannot be changed in place",
            "missing": f"{self.wanted} is missing, and a column can only be added behind all others",
            "between": f"{self.found} is where another column belongs",
            "moved": "it is not at its place",
        }
        return f"column {self.column}: {texts.get(self.kind, self.kind)}"


def gaps(found: Columns, wanted: Columns, grown: Grown) -> list[Gap]:
    """Return how a table differs from the columns of rows. Columns have places: a table grows at its end only.

    Args:
        found: the columns of the table.
        wanted: the columns that the rows have.
        grown: the rule for types.

    Examples:
        >>> rule = lambda one, other: one if one == other else None
        >>> [str(gap) for gap in gaps((("a", "INT"),), (("a", "DATE"), ("b", "INT")), rule) if gap.is_refused]
        ['column a: it is INT and cannot hold DATE, and the type cannot be changed in place']
        >>> [gap.kind for gap in gaps((("b", "INT"), ("a", "INT")), (("a", "INT"), ("b", "INT")), rule)]
        ['moved', 'moved']
    """
    has, wants = dict(found), dict(wanted)
    shared = [name for name in wants if name in has]
    there = [name for name in has if name in wants]
    last_wanted, last_found = _end(list(wants), shared), _end(list(has), there)
    added = set(list(wants)[last_wanted:])
    rest = set(list(has)[last_found:]) if not added else set()
    of_types = [gap for name in shared if (gap := _of_type(name, has[name], wants[name], grown))]
    missing = [Gap("added" if name in added else "missing", name, "", wants[name]) for name in wants if name not in has]
    unknown = [Gap("unknown" if name in rest else "between", name, has[name]) for name in has if name not in wants]
    moved = [Gap("moved", one, has[one], wants[one]) for one, other in zip(shared, there, strict=True) if one != other]
    return of_types + missing + unknown + moved


def _end(names: Sequence[str], shared: Sequence[str]) -> int:
    """Return the place behind the last name that both have."""
    return max((place for place, name in enumerate(names, 1) if name in set(shared)), default=0)


def _of_type(name: str, found: str, wanted: str, grown: Grown) -> Gap | None:
    type_ = found if found == wanted else grown(found, wanted)
    if type_ == found:
        return None
    return Gap("unfit", name, found, wanted) if type_ is None else Gap("grown", name, found, type_)


def after(found: Columns, differences: Sequence[Gap]) -> Columns:
    """Return the columns of a table after the differences that are not refused are gone."""
    new = {gap.column: gap.wanted for gap in differences if gap.kind in ("added", "grown")}
    return (*((name, new.pop(name, type_)) for name, type_ in found), *new.items())


def grown_by_name(found: Columns, wanted: Columns, grown: Grown) -> Columns:
    """Return the columns of a table, in its order, with those of rows: what the table lacks comes behind all others.

    Args:
        found: the columns of the table.
        wanted: the columns of the rows, in any order.
        grown: the rule for types.

    Examples:
        >>> rule = lambda one, other: one if one == other else None
        >>> grown_by_name((("b", "INT"), ("mine", "DATE")), (("a", "INT"), ("b", "INT")), rule)
        (('b', 'INT'), ('mine', 'DATE'), ('a', 'INT'))
    """
    wants, has = dict(wanted), dict(found)
    there = ((name, (grown(type_, wants[name]) or type_) if name in wants else type_) for name, type_ in found)
    return (*there, *((name, type_) for name, type_ in wanted if name not in has))


def holds(more: Columns, less: Columns, grown: Grown) -> bool:
    """Return whether some columns are at least others, in any order.

    Args:
        more: the columns.
        less: the others.
        grown: the rule for types.
    """
    has = dict(more)
    return all(name in has and (has[name] == type_ or grown(has[name], type_) == has[name]) for name, type_ in less)


def union(states: Iterable[Columns], grown: Grown) -> Columns | None:
    """Return the least columns that hold the rows of all states; None where two of them are no states of one table.

    Args:
        states: the columns of a table at several moments, in any order.
        grown: the rule for types.

    Examples:
        >>> old, new = (("id", "INT64"),), (("id", "INT64"), ("zip", "STRING"))
        >>> union([new, old], lambda a, b: a if a == b else None)
        (('id', 'INT64'), ('zip', 'STRING'))
    """
    result: Columns = ()
    for state in states:
        merged = list(_merged(result, state, grown))
        if None in merged:
            return None
        result = tuple(column for column in merged if column is not None)
    return result


def contains(more: Columns, less: Columns, grown: Grown) -> bool:
    """Return whether columns are at least those of another state of the table.

    Args:
        more: the columns.
        less: the columns of the other state.
        grown: the rule for types.
    """
    return union([more, less], grown) == more


def _merged(one: Columns, other: Columns, grown: Grown) -> Iterator[tuple[str, str] | None]:
    for left, right in zip_longest(one, other):
        if left is None or right is None:
            yield left or right
            continue
        type_ = left[1] if left[1] == right[1] else grown(left[1], right[1]) or grown(right[1], left[1])
        yield (left[0], type_) if left[0] == right[0] and type_ else None


def differences(expected: Columns, found: Columns, least: Columns, grown: Grown) -> list[str]:
    """Return what is wrong with the columns of a table, one sentence for each difference; nothing where all is right.

    Args:
        expected: the most that the table may have.
        found: what it has.
        least: the columns that it surely had, the first ones of `expected`.
        grown: the rule for types.
    """
    known, sure, has = dict(expected), dict(least), dict(found)
    # Columns come in their order, so one that is missing before another one was dropped.
    last = max((place for place, (name, _) in enumerate(expected, 1) if name in has), default=0)
    missing = [f"column {name} {type_} is missing" for name, type_ in expected[: max(last, len(least))] if name not in has]
    unknown = [f"column {name} {type_} is in the table alone" for name, type_ in found if name not in known]
    retyped = [
        f"column {name}: expected {known[name]}, got {type_}"
        for name, type_ in found
        if name in known and not _fits(type_, known[name], sure.get(name), grown)
    ]
    order = [name for name in known if name in has]
    return missing + unknown + retyped + _disorder(order, [name for name in has if name in known])


def _fits(found: str, most: str, least: str | None, grown: Grown) -> bool:
    return (found == most or grown(found, most) == most) and (
        least is None or found == least or grown(found, least) == found
    )


def _disorder(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    if expected == found:
        return []
    first = next(place for place, names in enumerate(zip(expected, found, strict=True)) if names[0] != names[1])
    return [f"the order: expected {shown_list(expected[first:])}, got {shown_list(found[first:])}"]
