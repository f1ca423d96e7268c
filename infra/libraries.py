"""Download into build/ what a batch that pulls tables needs and its runtime does not have: a JDBC driver, and PyMySQL.

Each file is pinned by its checksum; those of PyMySQL are in requirements.lock. A complete file is not downloaded again.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build"
DRIVER, PYMYSQL = "mariadb-java-client.jar", "pymysql.zip"
"""The names under which batches look for the files."""
DRIVER_VERSION = "3.5.6"
DRIVER_SHA256 = "a129703efd7b0f334564d46753de999f09b3a361489a2eb647e6020390981cc9"
_MAVEN = "https://repo1.maven.org/maven2/org/mariadb/jdbc/mariadb-java-client"
_TIMEOUT = 120
"""Seconds."""
_DOWNLOAD = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes")


class Unavailable(Exception):
    """A file that cannot be downloaded, with the reason."""


def libraries(target: Path = TARGET, maven: str = _MAVEN) -> Iterator[Path]:
    """Yield the paths of the files, downloaded where they are missing.

    Args:
        target: the folder of the files.
        maven: the address of the driver's releases.

    Raises:
        Unavailable: a file cannot be downloaded, or has another checksum.
    """
    target.mkdir(parents=True, exist_ok=True)
    yield _complete(target / DRIVER, {DRIVER_SHA256}) or _driver(target / DRIVER, maven)
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


def _driver(path: Path, maven: str) -> Path:
    """Store the driver, and return its path.

    Raises:
        Unavailable: the driver cannot be downloaded, or is another file.
    """
    address = f"{maven}/{DRIVER_VERSION}/mariadb-java-client-{DRIVER_VERSION}.jar"
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:  # noqa: S310 a constant, and tests
            data = answer.read()
    except OSError as error:
        raise Unavailable(f"{address} cannot be downloaded: {error}: copy it to {path}") from error
    if (found := _digest(data)) != DRIVER_SHA256:
        raise Unavailable(f"{address}: expected the SHA-256 {DRIVER_SHA256}, got {found}: it is not the pinned release")
    path.write_bytes(data)
    return path


def _pymysql(path: Path) -> Path:
    """Store PyMySQL's wheel, which is a ZIP archive of Python modules, and return its path.

    Raises:
        Unavailable: pip cannot download it.
    """
    requirement, digests = pinned("pymysql")
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(" ".join([requirement, *(f"--hash=sha256:{digest}" for digest in digests)]))
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
        ]
        done = subprocess.run(  # noqa: S603
            [*command, "--dest", folder, "--requirement", str(wanted)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Unavailable(f"{requirement} cannot be downloaded: {done.stderr.strip()}: copy its wheel to {path}")
        (wheel,) = Path(folder).glob("*.whl")
        path.write_bytes(wheel.read_bytes())
    return path
