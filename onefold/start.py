"""The entry point `onefold`: it imports little, so that Ctrl-C is quiet while the commands are imported as well."""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C, as of a program that the signal ends: 128 and the number of the signal."""


def main() -> NoReturn:
    """Run the command line of this process."""
    try:
        from onefold.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
