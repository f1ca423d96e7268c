"""The folders functions/ and spark_jobs/: in a checkout, or installed by a wheel."""

from __future__ import annotations

import sys
from pathlib import Path

from onefold.core.errors import Rejected

CHECKOUT = Path(__file__).resolve().parents[2]
INSTALLED = Path(sys.prefix) / "share" / "onefold"


def source_folder(name: str) -> Path:
    """Return the folder `functions` or `spark_jobs` of the checkout, else the installed one, which may not exist."""
    return next((root / name for root in (CHECKOUT, INSTALLED) if (root / name).is_dir()), INSTALLED / name)


def functions_source() -> Path:
    """Return functions/main.py, of the checkout or as installed.

    Raises:
        Rejected: the file is missing.
    """
    source = source_folder("functions") / "main.py"
    if not source.is_file():
        raise Rejected(f"{source} is missing: install the library again, or run the demo in a checkout of the project")
    return source
