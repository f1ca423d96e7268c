"""Patterns of names in onefold.yaml: `*` stands for any characters, dots included. The caller takes the case from both."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

# Stands for any text that no pattern spells out. No name and no pattern holds it.
_ANYTHING = "\x00"


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern names a name, or everything that another pattern names, given an `example` of that.

    Examples:
        >>> matches("*.order*", "shop.orders"), matches("*.order*", "shop.reorder")
        (True, False)
    """
    return bool(_compiled(pattern).fullmatch(name))


def example(pattern: str) -> str:
    """Return a name that another pattern names only if it names everything that this one names.

    A text that no pattern spells out, in place of each star, is matched by the other pattern only if a star of it takes the
    text; then the star takes every text.

    Examples:
        >>> matches("order*", example("order_*")), matches("order_*", example("order*"))
        (True, False)
    """
    return pattern.replace("*", _ANYTHING)


def full_table(pattern: str) -> str:
    """Return a pattern of tables with one of their datasets: without a dot it names tables of every dataset.

    Examples:
        >>> full_table("order"), full_table("shop.order")
        ('*.order', 'shop.order')
    """
    return pattern if "." in pattern else f"*.{pattern}"


def most_specific(patterns: Collection[str], name: str) -> frozenset[str]:
    """Return those of the patterns that decide about a name: they name it, and no pattern that names it is within them.

    Examples:
        >>> sorted(most_specific(["*", "order*", "*items"], "order_items")), sorted(most_specific(["*", "order*"], "x"))
        (['*items', 'order*'], ['*'])
    """
    named = {one for one in patterns if matches(one, name)}
    return frozenset(one for one in named if not any(_is_narrower(other, one) for other in named))


def _is_narrower(pattern: str, other: str) -> bool:
    return matches(other, example(pattern)) and not matches(pattern, example(other))


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)
