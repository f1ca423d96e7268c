"""The keys of onefold.yaml that a variable may hold, for a process without the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onefold.core.errors import InvalidSettings
from onefold.core.problems import Problem
from onefold.settings.variables import CAPTURES, OWNERS
from onefold.settings.yaml_file import TablesFile, tables_of_text

_KEYS = {CAPTURES: "captures", OWNERS: "owners"}


def with_key_variables(file: TablesFile, environ: Mapping[str, str]) -> TablesFile:
    """Return the settings of the file with the keys that variables hold.

    Raises:
        InvalidSettings: a value cannot be used, or the file has the key, too; the error lists all problems.
    """
    problems: list[str | Problem] = []
    for variable, key in _KEYS.items():
        try:
            given = getattr(tables_of_text(key, environ.get(variable, ""), variable), key)
        except InvalidSettings as error:
            problems += error.problems
            continue
        none = getattr(TablesFile(), key)
        if given != none and getattr(file, key) != none:
            problems.append(f"{variable} and `{key}` of onefold.yaml are both set: remove one of them")
        elif given != none:
            file = replace(file, **{key: given})
    if problems:
        raise InvalidSettings(problems)
    return file
