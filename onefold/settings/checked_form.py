"""The checked form of onefold.yaml: JSON that Terraform, functions and jobs read alike, with the digest of the YAML.

Who reads it does not check it again: it has a digest of its settings and of the schema by which they were checked, so that
a form that somebody has edited, or that another release has checked, is refused. Only the standard library is used: a build
that deploys has nothing else, and a Spark job may have no reader of YAML.
"""

from __future__ import annotations

import hashlib
import json
import os
import pkgutil
from pathlib import Path
from typing import Any

from onefold.core.errors import InvalidSettings
from onefold.core.text import reason_of

SUFFIX = ".checked.json"
_WORDS = ("title", "description", "errorMessage")
_DIGEST, _CHECKED, _SETTINGS = "yaml_sha256", "checked_sha256", "settings"
COMMAND = "onefold settings check --write"
SCHEMA = "settings/onefold.schema.json"
"""The JSON Schema of onefold.yaml: its path within the library."""
_NOT_CHECKED = "these are not the settings that this release of Onefold has checked"
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
    digests = {_DIGEST: hashlib.sha256(yaml).hexdigest(), _CHECKED: _checked_digest(content)}
    return json.dumps({**digests, _SETTINGS: content}, indent=1, ensure_ascii=False) + "\n"


def read_form(path: Path) -> dict[str, Any]:
    """Return the settings that a checked form holds.

    Args:
        path: the path of the checked form.

    Raises:
        InvalidSettings: it cannot be read, or it is not what this release has checked.
    """
    try:
        form = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSettings(f"{path}: cannot be read: {reason_of(error)}: {_WRITE}") from error
    if not isinstance(form, dict) or not isinstance(form.get(_SETTINGS), dict):
        raise InvalidSettings(f"{path}: expected {_DIGEST} and {_SETTINGS}, as `{COMMAND}` writes them")
    if not _is_checked(form):
        raise InvalidSettings(f"{path}: {_NOT_CHECKED}: {_WRITE}")
    settings: dict[str, Any] = form[_SETTINGS]
    return settings


def _is_checked(form: dict[str, Any]) -> bool:
    return form.get(_CHECKED) == _checked_digest(form.get(_SETTINGS))


def _checked_digest(content: Any) -> str:
    """Return the digest of settings, and of the schema by which they were checked, without the words for people."""
    schema = json.loads(pkgutil.get_data("onefold", SCHEMA) or "")
    return hashlib.sha256(json.dumps([_without_words(schema), content]).encode()).hexdigest()


def _without_words(rule: Any) -> Any:
    if isinstance(rule, list):
        return [_without_words(one) for one in rule]
    if isinstance(rule, dict):
        return {key: _without_words(one) for key, one in rule.items() if key not in _WORDS or not isinstance(one, str)}
    return rule


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
    found = _content_of(form)
    if found.get(_DIGEST) != _digest_of(path):
        return f"{form.name} was made from another {path.name}: {_WRITE}"
    return None if _is_checked(found) else f"{form.name}: {_NOT_CHECKED}: {_WRITE}"


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def _content_of(form: Path) -> dict[str, Any]:
    try:
        found = json.loads(form.read_text("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
