"""YAML files that people write: read safely, and without a key that is given twice.

PyYAML is imported by the first text that is read: a batch reads the checked form of onefold.yaml, and may have no PyYAML.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load_yaml(path: Path, problems: list[str]) -> Any:
    """Return the content of a file; None where it is empty or cannot be read.

    Args:
        path: the path of the file.
        problems: the list to which the problem is added where the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        problems.append(f"{path}: cannot be read: {error}")
        return None
    return parse_yaml(data, str(path), problems)


def parse_yaml(text: str | bytes, where: str, problems: list[str]) -> Any:
    """Return the content of a text; None where it is empty or cannot be read.

    Args:
        text: the text, or its bytes in UTF-8.
        where: where the text comes from.
        problems: the list to which the problem is added where the text cannot be read.
    """
    if not text:
        return None
    from onefold.settings.strict_yaml import UNREADABLE, parsed

    try:
        return parsed(text.decode() if isinstance(text, bytes) else text)
    except UNREADABLE as error:
        problems.append(f"{where}: cannot be read: {error}")
        return None
