"""`python -m onefold_lab.bigquery start ...`: the command line of the corrected `bqemulator`."""

from __future__ import annotations

import sys

from onefold.core.errors import Rejected
from onefold_lab.bigquery.corrections import install


def main() -> int:
    """Correct `bqemulator`, run its command line, and return the exit code."""
    try:
        install()
    except Rejected as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    from bqemulator.cli import main as serve

    serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
