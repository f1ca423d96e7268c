"""YAML files that people write: read safely, and without a key that is given twice.

PyYAML is imported by the first text that is read: a batch reads the checked form of onefold.yaml, and may have no PyYAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onefold.core import problems
from onefold.core.problems import Problem
from onefold.core.text import reason_of

if TYPE_CHECKING:
    from onefold.settings.strict_yaml import Mark

USE_CHECKED_FORM = "a job reads the checked form; run `onefold settings check --write`, and give it onefold.checked.json"
"""What to do where YAML cannot be read or checked, as in a batch."""


@dataclass(frozen=True)
class Document:
    """A text in YAML as it was read.

    Attributes:
        where: the file, or what else holds the text.
        content: what is in it; None where it is empty, or cannot be read.
        marks: where each value is.
        twice: the keys that are given twice, of which the last one counts.
        hidden: the same text with the values of such keys that do not count, whose problems are told as well.
        failure: why it cannot be read; None where it can.
        data: the bytes of the text.
    """

    where: str = ""
    content: Any = None
    marks: Mapping[problems.Path, Mark] = field(default_factory=dict)
    twice: tuple[Problem, ...] = ()
    hidden: tuple[Document, ...] = ()
    failure: Problem | None = None
    data: bytes = b""

    def located(self, problem: Problem) -> Problem:
        """Return a problem with the file, and the line of its key or of the nearest key above."""
        above = (problem.path[:length] for length in range(len(problem.path), 0, -1))
        line = next((self.marks[path].line for path in above if path in self.marks), None)
        return replace(problem, file=self.where, line=problem.line or line)


def load_yaml(path: Path) -> Document:
    """Read a file. A file that cannot be read has a failure."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Document(str(path), failure=Problem(f"cannot be read: {_missing(path)}", file=str(path)))
    except OSError as error:
        return Document(str(path), failure=Problem(f"cannot be read: {reason_of(error)}", file=str(path)))
    return replace(parse_yaml(data, str(path)), data=data)


def _missing(path: Path) -> str:
    if path.is_symlink():
        return f"it is a link to {path.readlink()}, which does not exist: correct the link, or remove it"
    return "there is no such file: write it, or name another one"


def parse_yaml(text: str | bytes, where: str) -> Document:
    """Read a text. One that cannot be read has a failure.

    Args:
        text: the text, or its bytes in UTF-8.
        where: where the text comes from.
    """
    if not text:
        return Document(where)
    try:
        from onefold.settings.strict_yaml import UNREADABLE, parsed, parsed_in_turn, unreadable
    except ImportError as error:
        return Document(where, failure=Problem(f"cannot be read: {error}: {USE_CHECKED_FORM}", file=where))
    try:
        text = text.decode() if isinstance(text, bytes) else text
        found = Document(where, *parsed(text))
        hidden = parsed_in_turn(text) if found.twice else ()
        return replace(found, hidden=tuple(Document(where, *one) for one in hidden))
    except UNREADABLE as error:
        return Document(where, failure=replace(unreadable(error), file=where))
