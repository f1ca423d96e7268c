"""What a onefold.yaml of some content gives: settings, or problems."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from onefold.core.errors import InvalidSettings
from onefold.settings.yaml_file import TablesFile, read_tables_file


def from_yaml(text: str | bytes) -> TablesFile:
    """Return the settings of a file, which is written into the working folder."""
    path = Path("settings.yaml")
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return read_tables_file(path)


def located_problems_of(text: str | bytes) -> list[str]:
    """Return the problems of a file, each with its line: `2: time_zone: expected ...`."""
    with pytest.raises(InvalidSettings) as raised:
        from_yaml(text)
    assert all(problem.startswith("settings.yaml:") for problem in raised.value.problems)
    return [problem.removeprefix("settings.yaml:") for problem in raised.value.problems]


def problems_of(text: str | bytes) -> list[str]:
    """Return the problems of a file without their lines."""
    return [re.sub(r"^(\d+:)? ", "", problem) for problem in located_problems_of(text)]
