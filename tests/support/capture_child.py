"""The command line in a process of its own, forked off the server that `capture_process` starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def run(arguments: list[str], environ: Mapping[str, str], output: Path) -> None:
    """Run a command with these settings and no others, and append its output to a file."""
    for name in [name for name in os.environ if name.startswith("ONEFOLD_")]:
        del os.environ[name]
    os.environ.update(environ)
    with output.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    from onefold.cli import main

    main(arguments)
