"""A YAML loader that refuses a key that is given twice, and says where each value is."""

from __future__ import annotations

import re
from collections.abc import Iterator
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


def parsed(text: str) -> tuple[Any, dict[Path, Mark], tuple[Problem, ...]]:
    """Return the content of a text in YAML, None where it is empty; where each value is; and keys that are given twice."""
    loader = StrictLoader(text)
    try:
        node = loader.get_single_node()
        content, marks = (loader.construct_document(node), dict(loader.places(node))) if node else (None, {})
        return content, marks, tuple(loader.twice)
    finally:
        loader.dispose()


def unreadable(error: Exception) -> Problem:
    """Return the problem of a text that cannot be read. It quotes no value, which may be a password.

    Args:
        error: one of `UNREADABLE`.
    """
    if isinstance(error, UnicodeDecodeError):
        return Problem(f"cannot be read: byte {error.start:,} is not UTF-8: save it as UTF-8")
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
