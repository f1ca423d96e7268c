"""The help of modules that are no commands, for a person who starts one: they are used by other commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def show_instead(description: str | None, instead: str, arguments: Sequence[str]) -> int:
    """Print what a module is and which command to use instead, and return the exit code: 0 for `--help`, else 1.

    Args:
        description: the description of the module.
        instead: a sentence with the command.
        arguments: the words of the command line.
    """
    is_help = list(arguments) in (["--help"], ["-h"])
    (sys.stdout if is_help else sys.stderr).write(f"{description}\n\nThis module is no command. {instead}\n")
    return 0 if is_help else 1
