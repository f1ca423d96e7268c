"""A YAML loader that refuses a key that is given twice."""

from __future__ import annotations

from typing import Any

import yaml

UNREADABLE = (ValueError, TypeError, RecursionError, yaml.YAMLError)
"""What a text raises that cannot be read."""


class StrictLoader(yaml.SafeLoader):
    """A YAML loader that refuses a key that is given twice: PyYAML would use the last value and ignore the others."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key has to be a text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def parsed(text: str) -> Any:
    """Return the content of a text in YAML; None where it is empty."""
    return yaml.load(text, StrictLoader)  # noqa: S506 a SafeLoader
