"""Which file of the tables' settings a process reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from onefold.settings.batches import CHECKED_CONFIG, DEFAULT_CONFIG
from onefold.settings.variables import CONFIG


def config_path(environ: Mapping[str, str], problems: list[str]) -> Path | None:
    """Return the file that ONEFOLD_CONFIG names, else the default one; None for no file.

    Args:
        environ: the environment variables.
        problems: the list to which a problem is added where the named file does not exist.
    """
    named = environ.get(CONFIG)
    if not named:
        return default_config()
    if Path(named).is_file():
        return Path(named)
    problems.append(f"{CONFIG}: there is no file {named}")
    return None


def default_config() -> Path | None:
    """Return onefold.yaml of the working folder, else its checked form, which a deployment has; None for neither."""
    return next((path for path in (Path(DEFAULT_CONFIG), Path(CHECKED_CONFIG)) if os.path.lexists(path)), None)
