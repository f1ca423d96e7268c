"""An oracle of contracts: the versions replayed one by one, written from the documentation of contracts and of types.

Columns have scalar types only. Nothing of the code under test is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

_WIDER = {
    "BOOL": "INT64", "INT64": "NUMERIC", "NUMERIC": "BIGNUMERIC", "BIGNUMERIC": "STRING", "FLOAT64": "STRING",
    "DATE": "DATETIME", "DATETIME": "TIMESTAMP", "TIMESTAMP": "STRING", "TIME": "STRING",
    "BYTES": "STRING", "JSON": "STRING",
}  # fmt: skip
"""The type tree of the documentation: each type with the next wider one."""


Verdict = Literal["accept", "reject"]


@dataclass(frozen=True)
class Step:
    """A version that comes, or, without fields, a refresh at which decisions are known.

    Attributes:
        version: its name.
        fields: its columns with their types; empty for no version.
        verdicts: all decisions so far, by version and column; an empty column is the whole version.
    """

    version: str
    fields: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[tuple[str, str], Verdict] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """What a view is after a step.

    Attributes:
        shown: its columns with their types.
        waiting: the versions and columns that wait.
        dropped: the columns that the newest version lacks.
    """

    shown: dict[str, str]
    waiting: set[tuple[str, str]]
    dropped: set[str]


def wider(one: str, other: str) -> str:
    """Return the least type of the tree that both types lie below."""
    above = [one]
    while above[-1] != "STRING":
        above.append(_WIDER[above[-1]])
    while other not in above:
        other = _WIDER[other]
    return other


def replay(steps: Sequence[Step], new: str, types: str, protected: set[str]) -> Iterator[Shown]:
    """Yield what the view shows after each step.

    Args:
        steps: the versions and refreshes in their order.
        new: `show`, `hide` or `review`.
        types: `widen`, `keep` or `review`.
        protected: columns that are always shown as they are, in lower case.
    """
    view: dict[str, str] | None = None
    landed: list[Step] = []
    for step in steps:
        landed += [step] if step.fields else []
        view, waiting = _after(view, landed, step.verdicts, new, types, protected)
        known = {name for version in landed for name in version.fields}
        yield Shown(view, waiting, known - landed[-1].fields.keys())


def _after(
    view: dict[str, str] | None,
    landed: Sequence[Step],
    verdicts: Mapping[tuple[str, str], str],
    new: str,
    types: str,
    protected: set[str],
) -> tuple[dict[str, str], set[tuple[str, str]]]:
    result: dict[str, str] = {}
    waiting: set[tuple[str, str]] = set()
    for name in dict.fromkeys([*(view or {}), *(name for version in landed for name in version.fields)]):
        having = [version for version in landed if name in version.fields]
        everything = having[0].fields[name]
        for version in having:
            everything = wider(everything, version.fields[name])
        if view is None or name in protected:
            result[name] = everything
        elif name not in view:
            verdict = _verdict(verdicts, having[0].version, name)
            if new == "show" or (verdict == "accept" and types == "widen"):
                result[name] = everything
            elif verdict == "accept":  # the column as its version brought it; a later type is another change
                result[name], open_ = _type(having[0].fields[name], having, name, verdicts)
                waiting |= open_ if types == "review" else set()
            elif new == "review" and verdict is None:
                waiting.add((having[0].version, name))
        elif types == "widen":
            result[name] = everything
        else:
            result[name], open_ = _type(view[name], having, name, verdicts)
            waiting |= open_ if types == "review" else set()
    return result, waiting


def _type(
    kept: str, having: Sequence[Step], name: str, verdicts: Mapping[tuple[str, str], str]
) -> tuple[str, set[tuple[str, str]]]:
    """Return the type that the view keeps, widened by what was accepted, and what nobody has decided.

    A type that was rejected stays so in other versions that have it.
    """
    for version in having:
        if _verdict(verdicts, version.version, name) == "accept":
            kept = wider(kept, version.fields[name])
    rejected = {one.fields[name] for one in having if _verdict(verdicts, one.version, name) == "reject"}
    left = [one for one in having if wider(kept, one.fields[name]) != kept and one.fields[name] not in rejected]
    return kept, {(one.version, name) for one in left}


def _verdict(verdicts: Mapping[tuple[str, str], str], version: str, name: str) -> str | None:
    return verdicts.get((version, name)) or verdicts.get((version, ""))
