"""Lists of columns of one table. The columns of a table only grow: of two states one begins with the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from onefold.core.text import shown_list
from onefold.ports.event_tables import Columns

Grown = Callable[[str, str], str | None]
"""`EventWarehouse.grown`: the type of a column that takes the values of two types; None where there is none."""


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
    """Tell whether columns are at least those of another state of the table.

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
        least is None or found == least or grown(least, found) == found
    )


def _disorder(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    if expected == found:
        return []
    first = next(place for place, names in enumerate(zip(expected, found, strict=True)) if names[0] != names[1])
    return [f"the order: expected {shown_list(expected[first:])}, got {shown_list(found[first:])}"]
