"""Download into build/ the compiled libraries of batches that shred events or pull tables.

They are one archive, which Spark unpacks on every machine: they hold machine code, so Python cannot import them from
spark.zip. Each wheel is pinned by its checksum in requirements.lock. A library that is compiled for one version of Python
comes for each version that a runtime may have: the names of its files differ.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from infra.libraries import DOWNLOAD, TARGET, Unavailable, pinned

ARCHIVE = "compiled_libraries.zip"
PACKAGES = ("jsonschema-rs", "orjson", "isal", "xxhash")
PYTHONS = ("3.11", "3.12", "3.13")
"""The versions of Python that runtimes have. Their processors are x86_64."""
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64")
# The earliest time that ZIP can store, so that the archive has the same bytes for the same wheels.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def download(folder: Path) -> None:
    """Download the wheels into a folder.

    Raises:
        Unavailable: pip cannot download one.
    """
    lines = []
    for package in PACKAGES:
        requirement, digests = pinned(package)
        lines.append(" ".join([requirement, *(f"--hash=sha256:{digest}" for digest in digests)]))
    wanted = folder / "wanted.txt"
    wanted.write_text("\n".join(lines))
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    for version in PYTHONS:
        words = [*platforms, "--python-version", version, "--dest", str(folder), "--requirement", str(wanted)]
        done = subprocess.run([sys.executable, *DOWNLOAD, *words], capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise Unavailable(f"{', '.join(PACKAGES)} for Python {version} cannot be downloaded: {done.stderr.strip()}")


def compiled_libraries(target: Path = TARGET, fetch: Callable[[Path], None] = download) -> Path:
    """Return the path of the archive, which is built where it is missing, or of other versions.

    Args:
        target: the folder of the archive.
        fetch: puts the wheels into a folder.

    Raises:
        Unavailable: a wheel cannot be downloaded.
    """
    archive = target / ARCHIVE
    content = " ".join([*(pinned(package)[0] for package in PACKAGES), *PYTHONS]).encode()
    if _comment(archive) == content:
        return archive
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as folder:
        fetch(Path(folder))
        new = Path(folder, ARCHIVE)
        _join(sorted(Path(folder).glob("*.whl")), new, content)
        new.replace(archive)
    return archive


def _join(wheels: list[Path], archive: Path, content: bytes) -> None:
    """Write the modules of several wheels into one archive.

    Args:
        wheels: the wheels.
        archive: the archive.
        content: what is in it, which becomes its comment.
    """
    files: dict[str, bytes] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as modules:
            files |= {name: modules.read(name) for name in modules.namelist() if ".dist-info/" not in name}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as joined:
        joined.comment = content
        for name, data in sorted(files.items()):
            joined.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)


def _comment(archive: Path) -> bytes | None:
    if not archive.is_file() or not zipfile.is_zipfile(archive):
        return None
    with zipfile.ZipFile(archive) as found:
        return found.comment
