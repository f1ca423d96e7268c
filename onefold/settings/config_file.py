"""Which file of the tables' settings a process reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from onefold.core.problems import Problem
from onefold.settings.batches import CHECKED_CONFIG, DEFAULT_CONFIG
from onefold.settings.variables import CONFIG


def config_problems(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem where ONEFOLD_CONFIG names a file that does not exist."""
    named = environ.get(CONFIG)
    if named and not Path(named).is_file():
        yield Problem(f"there is no file {named}: correct the path, or unset it", file=CONFIG)


def config_path(environ: Mapping[str, str]) -> Path | None:
    """Return the file that ONEFOLD_CONFIG names, else the default one; None for no file."""
    named = environ.get(CONFIG)
    return Path(named) if named else default_config()


def default_config() -> Path | None:
    """Return onefold.yaml of the working folder, else its checked form, which a deployment has; None for neither."""
    return next((path for path in (Path(DEFAULT_CONFIG), Path(CHECKED_CONFIG)) if os.path.lexists(path)), None)
