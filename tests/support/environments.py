"""Environments of their own, for programs whose packages are not those of the project."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest


def environment(folder: Path, *words: str) -> Path:
    """Install packages into a new environment, and return the folder of its programs; skips the test where that fails.

    To compile all modules, of which a program imports a part, would take longer than to install them.

    Args:
        folder: where the environment is made.
        words: the packages, or other words of `pip install`.
    """
    venv.create(folder)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin" / "python")]
    done = subprocess.run([*pip, "install", "-q", "--no-compile", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the packages cannot be installed: {done.stderr[-300:]}")
    return folder / "bin"
