"""A YAML loader that refuses a key that is given twice, and says where each value is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from onefold.core.problems import Path, Problem

UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError, yaml.YAMLError)
"""What a text raises that cannot be read."""
_OF_TAGS = (ValueError, AttributeError, LookupError)
"""What `!!int x` raises: the error shows the value."""
_WRITTEN = re.compile(r"\b(alias|anchor|tag|handle) '[^']*'")
"""What a text names in an error of the parser; what it expects and has found otherwise are signs."""


@dataclass(frozen=True)
class Mark:
    """Where a value is in a text, and how it is written there.

    Attributes:
        line: the line of its key, or of the item of a list, from 1.
        key: the key as it is written, without quotes; None for an item of a list.
        text: the value as it is written, if it is written without quotes; None for quoted texts, mappings and lists.
    """

    line: int
    key: str | None = None
    text: str | None = None


class StrictLoader(yaml.SafeLoader):
    """A YAML loader that notes each key that is given twice: PyYAML uses the last value and ignores the others."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.twice: list[Problem] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self._note_twice(node)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Check what is merged by `<<` as well, which is never constructed by itself, and merge it."""
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for one in merged:
                    if isinstance(one, yaml.MappingNode):
                        self._note_twice(one)
        super().flatten_mapping(node)

    def _note_twice(self, node: yaml.MappingNode) -> None:
        """Note the keys that a mapping has twice.

        Raises:
            ConstructorError: a key is no text.
        """
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key has to be a text", key.start_mark)
            if key.value in seen:
                self.twice.append(Problem(f"the key {key.value!r} is given twice", line=key.start_mark.line + 1))
            seen.add(key.value)

    def places(self, node: yaml.Node, path: Path = ()) -> Iterator[tuple[Path, Mark]]:
        """Yield the place of each value below a node that was constructed."""
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                place = (*path, self.construct_object(key))
                yield place, Mark(key.start_mark.line + 1, key.value, _plain(value))
                yield from self.places(value, place)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                yield (*path, index), Mark(item.start_mark.line + 1, None, _plain(item))
                yield from self.places(item, (*path, index))


def _plain(node: yaml.Node) -> str | None:
    return node.value if isinstance(node, yaml.ScalarNode) and node.style is None else None


Parsed = tuple[Any, dict[Path, Mark], tuple[Problem, ...]]


def parsed(text: str) -> Parsed:
    """Return the content of a text in YAML, None where it is empty; where each value is; and keys that are given twice."""
    return _parsed(text, None)


def parsed_in_turn(text: str) -> Iterator[Parsed]:
    """Yield the same as `parsed` several times, so that each value of a key that is given twice counts in one of them."""
    root = yaml.compose(text, StrictLoader)
    for turn in range(_turns(root) if root else 0):
        yield _parsed(text, turn)


def _parsed(text: str, turn: int | None) -> Parsed:
    loader = StrictLoader(text)
    try:
        node = loader.get_single_node()
        if node and turn is not None:
            _keep_one(node, turn)
        content, marks = (loader.construct_document(node), dict(loader.places(node))) if node else (None, {})
        return content, marks, tuple(loader.twice)
    finally:
        loader.dispose()


def _turns(node: yaml.Node) -> int:
    """Return in how many turns each value below a node counts once."""
    if isinstance(node, yaml.MappingNode):
        return max((sum(_turns(value) for _, value in pairs) for pairs in _by_key(node)), default=1)
    return max(map(_turns, node.value), default=1) if isinstance(node, yaml.SequenceNode) else 1


def _keep_one(node: yaml.Node, turn: int) -> None:
    """Keep one value of each key of all mappings below a node: the last one where a key has not so many."""
    if isinstance(node, yaml.MappingNode):
        node.value = [_kept(pairs, turn) for pairs in _by_key(node)]
    for item in node.value if isinstance(node, yaml.SequenceNode) else ():
        _keep_one(item, turn)


def _kept(pairs: list[tuple[yaml.Node, yaml.Node]], turn: int) -> tuple[yaml.Node, yaml.Node]:
    for key, value in pairs[:-1]:
        if turn < (turns := _turns(value)):
            _keep_one(value, turn)
            return key, value
        turn -= turns
    _keep_one(pairs[-1][1], turn)
    return pairs[-1]


def _by_key(node: yaml.MappingNode) -> Iterable[list[tuple[yaml.Node, yaml.Node]]]:
    found: dict[Any, list[tuple[yaml.Node, yaml.Node]]] = {}
    for key, value in node.value:
        found.setdefault(key.value if isinstance(key, yaml.ScalarNode) else id(key), []).append((key, value))
    return found.values()


def unreadable(error: Exception) -> Problem:
    """Return the problem of a text that cannot be read. It quotes no value, which may be a password.

    Args:
        error: one of `UNREADABLE`.
    """
    if isinstance(error, UnicodeDecodeError):
        return Problem(f"cannot be read: byte {error.start:,} is not UTF-8: save it as UTF-8")
    if isinstance(error, RecursionError):
        return Problem("cannot be read: it is nested too deep: write it with fewer levels")
    if not isinstance(error, yaml.MarkedYAMLError):
        reason = (
            "a value does not have the form that its tag says"
            if isinstance(error, _OF_TAGS) and not isinstance(error, UnicodeError)
            else error
        )
        return Problem(f"cannot be read: {reason}")
    words = ": ".join(part for part in (error.context, error.problem) if part)
    mark = error.problem_mark or error.context_mark
    shown = _WRITTEN.sub(r"\1 '…'", words)
    return Problem(f"cannot be read: {shown}: correct the YAML there", line=mark.line + 1 if mark else None)
