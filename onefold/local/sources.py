"""The folders functions/ and spark_jobs/: in a checkout, or installed by a wheel."""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
INSTALLED = Path(sys.prefix) / "share" / "onefold"


def source_folder(name: str) -> Path:
    """Return the folder `functions` or `spark_jobs` of the checkout, else the installed one, which may not exist."""
    return next((root / name for root in (CHECKOUT, INSTALLED) if (root / name).is_dir()), INSTALLED / name)
