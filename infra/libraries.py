"""Download into build/ what a batch that pulls tables needs and its runtime does not have: a JDBC driver, and PyMySQL.

Each file is pinned by its checksum; those of PyMySQL are in requirements.lock. A complete file is not downloaded again. The
driver comes from the Maven repository whose address MAVEN_REPOSITORY holds, by the standard library, since a build that
deploys has nothing else; without an address it comes by Spark's resolver.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build"
DRIVER, PYMYSQL = "mariadb-java-client.jar", "pymysql.zip"
"""The names under which batches look for the files."""
DRIVER_VERSION = "3.5.6"
DRIVER_SHA256 = "a129703efd7b0f334564d46753de999f09b3a361489a2eb647e6020390981cc9"
_DRIVER = f"org.mariadb.jdbc:mariadb-java-client:{DRIVER_VERSION}"
_TIMEOUT = 300
"""Seconds."""
DOWNLOAD = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes")
MAVEN = "MAVEN_REPOSITORY"
"""The variable with the address of a Maven repository."""


class Unavailable(Exception):
    """A file that cannot be downloaded, with the reason."""


def released_driver() -> bytes:
    """Return the driver from the Maven repository that the environment names, else by Spark's resolver.

    Raises:
        Unavailable: it cannot be downloaded.
    """
    address = os.environ.get(MAVEN, "").strip()
    return _from_repository(address) if address else _by_resolver()


def _from_repository(address: str) -> bytes:
    """Return the driver from a Maven repository. Its checksum is compared afterwards, so a mirror need not be trusted.

    Raises:
        Unavailable: it cannot be downloaded.
    """
    group, name, version = _DRIVER.split(":")
    url = f"{address.rstrip('/')}/{group.replace('.', '/')}/{name}/{version}/{name}-{version}.jar"
    if not url.startswith(("https://", "http://")):
        raise Unavailable(f"{MAVEN}: expected an address that begins with https://, got {address}")
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 the scheme was checked
            data: bytes = answer.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unavailable(f"{url} cannot be downloaded: {error}") from error
    return data


def _by_resolver() -> bytes:
    """Return the driver from Maven Central, by Spark's own resolver, which knows the mirrors of this machine.

    Raises:
        Unavailable: it cannot be downloaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "infra" / "maven_jar.py"), folder, _DRIVER]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT)  # noqa: S603
        jars = list(Path(folder, "jars").glob("*.jar"))
        if done.returncode or not jars:
            reason = (done.stderr.strip().splitlines() or ["Spark's resolver found no jar"])[-1]
            raise Unavailable(f"{_DRIVER} cannot be downloaded: {reason}: set {MAVEN} to the address of a Maven repository")
        return jars[0].read_bytes()


def libraries(target: Path = TARGET, driver: Callable[[], bytes] = released_driver) -> Iterator[Path]:
    """Yield the paths of the files, downloaded where they are missing.

    Args:
        target: the folder of the files.
        driver: returns the driver.

    Raises:
        Unavailable: a file cannot be downloaded, or has another checksum.
    """
    target.mkdir(parents=True, exist_ok=True)
    yield _complete(target / DRIVER, {DRIVER_SHA256}) or _driver(target / DRIVER, driver)
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


def _driver(path: Path, driver: Callable[[], bytes]) -> Path:
    """Store the driver, and return its path.

    Raises:
        Unavailable: the driver cannot be downloaded, or is another file.
    """
    try:
        data = driver()
    except Unavailable as unavailable:
        raise Unavailable(f"{unavailable}: copy it to {path}") from unavailable
    if (found := _digest(data)) != DRIVER_SHA256:
        raise Unavailable(f"{_DRIVER}: expected the SHA-256 {DRIVER_SHA256}, got {found}: it is not the pinned release")
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
        command = [sys.executable, *DOWNLOAD, "--dest", folder, "--requirement", str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise Unavailable(f"{requirement} cannot be downloaded: {done.stderr.strip()}: copy its wheel to {path}")
        (wheel,) = Path(folder).glob("*.whl")
        path.write_bytes(wheel.read_bytes())
    return path
