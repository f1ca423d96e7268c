"""What the former commands `python -m onefold.local...` do: name the new one, and run it."""

from __future__ import annotations

import sys
from typing import NoReturn

from onefold.cli import main


def run_instead(command: str, *options: str) -> NoReturn:
    """Run a command of `onefold` with the words of this process.

    Args:
        command: the name of the command.
        options: what the former command did without being told.
    """
    sys.stderr.write(f"this is now `onefold local {command}`: the former name goes with the next release\n")
    main(["local", command, *options, *sys.argv[1:]])
