"""The reasons of bad rows without their values, so that a run can tell whether a reason is new."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # bad entities are read by a library that only the shredder has
    from onefold.events.shred.bad_entity import BadEntity
    from onefold.events.shred.bad_rows import BadRow

MOST_REASONS = 1_000
"""The reasons that a task counts, and as many of those that name an unknown schema: a producer can make any number."""
MOST_KEPT = 100
"""The reasons that a manifest keeps: the most frequent ones, up to half of them those that name an unknown schema."""
SCHEMA_URI = r"iglu:[\w.-]+/[\w.-]+/[\w.-]+/[0-9-]+"
_KEPT = rf"""{SCHEMA_URI}|of type "\w+"|"(?:[^"\\]|\\.)*" is a required|the '\w+' keyword"""
# A key in single quotes may have such a quote itself: all up to the last one goes, or the rest of a reason that was cut.
_VALUES = re.compile(rf"""(?P<kept>{_KEPT})|(?P<text>"(?:[^"\\]|\\.)*(?:"|$)|(?<!\w)'(?:.*'|.*$))|[0-9]+""", re.DOTALL)
_NO_SCHEMA = re.compile(rf"the registry ha[sd] no (?:schema )?(?P<uri>{SCHEMA_URI})")


def pattern_of(reason: str) -> str:
    """Return a reason without the values of its event and the keys that it made up: texts are "..." and numbers are N.

    Examples:
        >>> pattern_of('iglu:com.acme/ad_click/jsonschema/1-0-0: /items/3: "x" is not of type "integer"')
        'iglu:com.acme/ad_click/jsonschema/1-0-0: /items/N: "..." is not of type "integer"'
        >>> pattern_of('the data: "id" is a required property')
        'the data: "id" is a required property'
        >>> pattern_of("the field 'it's mine' is not a field of an enriched event")
        'the field "..." is not a field of an enriched event'
    """
    return _VALUES.sub(lambda found: found["kept"] or ('"..."' if found["text"] else "N"), reason)


def count_reasons(counts: Counter[str], rows: Iterable[BadRow | BadEntity]) -> None:
    """Add bad rows to the counts of their reasons: a row counts once for each of its patterns."""
    for row in rows:
        for pattern in {pattern_of(reason) for reason in row.reasons}:
            if pattern in counts or len(counts) < MOST_REASONS * (1 + _names_unknown(pattern)):
                counts[pattern] += 1


def most_frequent(counts: Counter[str]) -> dict[str, int]:
    """Return the reasons that a manifest keeps, the most frequent ones first.

    However many other reasons there are, an unknown schema is among them, so that its alarm follows.

    Examples:
        >>> most_frequent(Counter({"b": 1, "a": 1, "c": 2}))
        {'c': 2, 'a': 1, 'b': 1}
    """
    ordered = sorted(counts, key=lambda reason: (-counts[reason], reason))
    first = [reason for reason in ordered if _names_unknown(reason)][: MOST_KEPT // 2]
    kept = set(list(dict.fromkeys((*first, *ordered)))[:MOST_KEPT])
    return {reason: counts[reason] for reason in ordered if reason in kept}


def _names_unknown(reason: str) -> bool:
    return _NO_SCHEMA.search(reason) is not None


def unknown_schemas(reasons: Collection[str]) -> list[str]:
    """Return the URIs of the schemas that the registry lacks, by the reasons that say so.

    Examples:
        >>> unknown_schemas(["the registry has no schema iglu:com.acme/x/jsonschema/1-0-0: add it", "id is missing"])
        ['iglu:com.acme/x/jsonschema/1-0-0']
    """
    return sorted({match["uri"] for reason in reasons if (match := _NO_SCHEMA.search(reason))})
