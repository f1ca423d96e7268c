"""Making the checked form of onefold.yaml: by the library's own loader, and only from a file without a problem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onefold.core.errors import InvalidSettings
from onefold.core.problems import Problem
from onefold.settings.checked_form import form_of, form_text
from onefold.settings.unknown_keys import near_name
from onefold.settings.yaml_file import TablesFile, checked, tables_of
from onefold.settings.yaml_loader import load_yaml


def checked_text(path: Path) -> str:
    """Return the text of the checked form of a file; that of an empty file has no settings, as that of `{}`.

    Args:
        path: the path of onefold.yaml.

    Raises:
        InvalidSettings: the file has problems; the error lists all problems.
    """
    document = load_yaml(path)
    tables = checked(document, _misspelt_captures)
    return _same(_text(document.data, document.content or {}, path), tables, path)


def is_empty(path: Path) -> bool:
    """Return whether a file that can be read has no settings, so that every setting has its default."""
    document = load_yaml(path)
    return not document.failure and not document.content


def _misspelt_captures(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the names under `captures` that are no source of the file, and like one: its columns would land as they are.

    Sources that are captured only are known to Terraform alone. A source with an entry of its own is meant by no other name.
    """
    sources, captures = content.get("sources") or {}, content.get("captures") or {}
    known = [name for name in sources if name not in captures]
    for name in captures:
        if name not in sources and (near := near_name(name, known)):
            yield Problem(
                f"not an entry of `sources`{near}: correct the name; if it is another source that is only captured, give "
                "the source that is meant here an entry without rules, `{}`",
                ("captures", name),
            )


def form_is_current(path: Path, text: str) -> bool:
    """Return whether the stored checked form is the one that a file has now.

    Args:
        path: the path of onefold.yaml.
        text: the text of its checked form.
    """
    form = form_of(path)
    return form.is_file() and form.read_bytes() == text.encode()


def _text(yaml: bytes, content: Any, path: Path) -> str:
    try:
        return form_text(yaml, content)
    except (TypeError, ValueError) as error:
        raise InvalidSettings([f"{path}: JSON cannot hold the same settings ({error}): put times in quotes"]) from error


def _same(text: str, tables: TablesFile, path: Path) -> str:
    """Return the text, if it holds the same settings as the YAML: JSON has no times, and only texts as keys.

    Raises:
        InvalidSettings: it does not.
    """
    content: Any = json.loads(text)["settings"]
    if tables_of(content) != tables:
        raise InvalidSettings([f"{path}: JSON cannot hold the same settings: put names and values in quotes"])
    return text
