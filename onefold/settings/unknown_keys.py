"""The words for a key of a file, or a variable, that is not a setting: with the known name that is near."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from onefold.core.text import shown_list

_SHOWN_NAMES = 16
_SIMILARITY = 0.7
"""From 0 to 1: how similar a known name has to be to an unknown one to be suggested."""


def not_a_setting(key: object, known: Iterable[str], note: str = "") -> str:
    """Return the text of the problem of an unknown key.

    Args:
        key: the unknown key.
        known: the names that are settings there.
        note: what to say in place of a near name, as ` here, but below tables.NAME`.

    Examples:
        >>> not_a_setting("table", ["tables", "hash_key"])
        'not a setting (did you mean tables?); known are hash_key, tables'
    """
    names = sorted(known)
    return f"not a setting{note or near_name(str(key), names)}; known are {shown_list(names, _SHOWN_NAMES)}"


def near_name(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return a question in brackets that suggests the nearest known name; an empty text where none is near.

    Args:
        name: the unknown name.
        known: the known names.
        prefix: what all names begin with, which would make them all similar: it is shown, and not compared.
    """
    near = get_close_matches(name.removeprefix(prefix), [one.removeprefix(prefix) for one in known], 1, _SIMILARITY)
    return f" (did you mean {prefix}{near[0]}?)" if near else ""
