"""YAML files that people write: read safely, and without a key that is given twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


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


def load_yaml(path: Path, problems: list[str]) -> Any:
    """Return the content of a file; None where it is empty or cannot be read.

    Args:
        path: the path of the file.
        problems: the list to which the problem is added where the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        problems.append(f"{path}: cannot be read: {error}")
        return None
    return parse_yaml(text, str(path), problems)


def parse_yaml(text: str, where: str, problems: list[str]) -> Any:
    """Return the content of a text; None where it is empty or cannot be read.

    Args:
        text: the text.
        where: where the text comes from.
        problems: the list to which the problem is added where the text cannot be read.
    """
    try:
        return yaml.load(text, StrictLoader)  # noqa: S506 a SafeLoader
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        problems.append(f"{where}: cannot be read: {error}")
        return None
