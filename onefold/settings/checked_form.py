"""The checked form of onefold.yaml: JSON that Terraform, functions and jobs read alike, with the digest of the YAML.

Only the standard library is used: a build that deploys has nothing else, and a Spark job may have no reader of YAML.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

SUFFIX = ".checked.json"
_DIGEST, _SETTINGS = "yaml_sha256", "settings"
COMMAND = "onefold settings check --write"
_WRITE = f"run `make package`, or `{COMMAND}`, and commit the file that it writes"


def form_of(path: Path) -> Path:
    """Return the path of the checked form: `onefold.checked.json`, beside `onefold.yaml`."""
    return path.with_suffix(SUFFIX)


def is_form(path: Path) -> bool:
    """Return whether a path is that of a checked form."""
    return path.name.endswith(SUFFIX)


def form_text(yaml: bytes, content: Any) -> str:
    """Return the text of a checked form. Keys keep their order: the first pattern of a table that matches wins.

    Args:
        yaml: the bytes of the YAML file.
        content: what is in it.
    """
    return json.dumps({_DIGEST: hashlib.sha256(yaml).hexdigest(), _SETTINGS: content}, indent=1, ensure_ascii=False) + "\n"


def read_form(path: Path, problems: list[str]) -> Any:
    """Return the content that a checked form holds; None where it cannot be read.

    Args:
        path: the path of the checked form.
        problems: the list to which the problem is added where it cannot be read.
    """
    try:
        form = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{path}: cannot be read: {error}")
        return None
    if isinstance(form, dict) and form.keys() == {_DIGEST, _SETTINGS} and isinstance(form[_SETTINGS], dict):
        return form[_SETTINGS]
    problems.append(f"{path}: expected {_DIGEST} and {_SETTINGS}, as `{COMMAND}` writes them")
    return None


def form_problem(path: Path) -> str | None:
    """Return why a deployment must not read the checked form of a file; None where it is current, or there is neither.

    Args:
        path: the path of onefold.yaml.
    """
    form = form_of(path)
    if not os.path.lexists(path):
        left = f"{form.name} is there, and {path.name} is not: restore {path.name}, or remove {form.name}"
        return left if form.exists() else None
    if not form.is_file():
        return f"{path.name} has no checked form {form.name}: {_WRITE}"
    if _digest_in(form) != _digest_of(path):
        return f"{form.name} was made from another {path.name}: {_WRITE}"
    return None


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def _digest_in(form: Path) -> object:
    try:
        found = json.loads(form.read_text("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found.get(_DIGEST) if isinstance(found, dict) else None
