"""Scripts of the tests as processes of their own, with this Python and the library of this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 300


def run_python(words: Sequence[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=python_environ(environ), capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def python_environ(environ: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, **environ}
