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
"""The reasons that a task counts: a producer can make any number of them."""
MOST_KEPT = 100
"""The reasons that a manifest keeps: the most frequent ones."""
SCHEMA_URI = r"iglu:[\w.-]+/[\w.-]+/[\w.-]+/[0-9-]+"
_VALUES = re.compile(
    rf'(?P<kept>{SCHEMA_URI}|of type "\w+"|"(?:[^"\\]|\\.)*" is a required)|(?P<text>"(?:[^"\\]|\\.)*(?:"|$))|[0-9]+'
)
_NO_SCHEMA = re.compile(rf"the registry ha[sd] no (?:schema )?(?P<uri>{SCHEMA_URI})")


def pattern_of(reason: str) -> str:
    """Return a reason without the values of its event: texts are "..." and numbers are N.

    Examples:
        >>> pattern_of('iglu:com.acme/ad_click/jsonschema/1-0-0: /items/3: "x" is not of type "integer"')
        'iglu:com.acme/ad_click/jsonschema/1-0-0: /items/N: "..." is not of type "integer"'
        >>> pattern_of('the data: "id" is a required property')
        'the data: "id" is a required property'
    """
    return _VALUES.sub(lambda found: found["kept"] or ('"..."' if found["text"] else "N"), reason)


def count_reasons(counts: Counter[str], rows: Iterable[BadRow | BadEntity]) -> None:
    """Add bad rows to the counts of their reasons: a row counts once for each of its patterns."""
    for row in rows:
        for pattern in {pattern_of(reason) for reason in row.reasons}:
            if pattern in counts or len(counts) < MOST_REASONS:
                counts[pattern] += 1


def most_frequent(counts: Counter[str]) -> dict[str, int]:
    """Return the reasons that a manifest keeps, the most frequent ones first.

    Examples:
        >>> most_frequent(Counter({"b": 1, "a": 1, "c": 2}))
        {'c': 2, 'a': 1, 'b': 1}
    """
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_KEPT])


def unknown_schemas(reasons: Collection[str]) -> list[str]:
    """Return the URIs of the schemas that the registry lacks, by the reasons that say so.

    Examples:
        >>> unknown_schemas(["the registry has no schema iglu:com.acme/x/jsonschema/1-0-0: add it", "id is missing"])
        ['iglu:com.acme/x/jsonschema/1-0-0']
    """
    return sorted({match["uri"] for reason in reasons if (match := _NO_SCHEMA.search(reason))})
