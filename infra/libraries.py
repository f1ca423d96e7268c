"""Download into build/ what a batch that pulls tables needs and its runtime does not have: PyMySQL.

The file is pinned by its checksums in requirements.lock. A complete file is not downloaded again.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build"
PYMYSQL = "pymysql.zip"
"""The name under which batches look for the file."""
DOWNLOAD = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes")


class Unavailable(Exception):
    """A file that cannot be downloaded, with the reason."""


def libraries(target: Path = TARGET) -> Iterator[Path]:
    """Yield the path of the file, downloaded where it is missing.

    Args:
        target: the folder of the file.

    Raises:
        Unavailable: it cannot be downloaded.
    """
    target.mkdir(parents=True, exist_ok=True)
    yield _complete(target / PYMYSQL, set(pinned("pymysql")[1])) or _pymysql(target / PYMYSQL)


def pinned(package: str) -> tuple[str, tuple[str, ...]]:
    """Return the requirement of a package, and the SHA-256 digests that requirements.lock allows.

    Args:
        package: its name.
    """
    text = (ROOT / "requirements.lock").read_text("utf-8")
    (found,) = re.finditer(rf"^({re.escape(package)}==\S+)((?: \\\n    --hash=sha256:[0-9a-f]+)+)$", text, re.MULTILINE)
    return found[1], tuple(re.findall(r"sha256:([0-9a-f]+)", found[2]))


def _complete(path: Path, digests: set[str]) -> Path | None:
    return path if path.is_file() and _digest(path.read_bytes()) in digests else None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _pymysql(path: Path) -> Path:
    """Store PyMySQL's wheel, which is a ZIP archive of Python modules, and return its path.

    Raises:
        Unavailable: pip cannot download it.
    """
    requirement, digests = pinned("pymysql")
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(" ".join([requirement, *(f"--hash=sha256:{digest}" for digest in digests)]))
        command = [sys.executable, *DOWNLOAD, "--dest", folder, "--requirement", str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise Unavailable(f"{requirement} cannot be downloaded: {done.stderr.strip()}: copy its wheel to {path}")
        (wheel,) = Path(folder).glob("*.whl")
        path.write_bytes(wheel.read_bytes())
    return path
