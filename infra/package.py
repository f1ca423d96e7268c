"""build/functions.zip: the source of the functions as Google Cloud wants it, the same bytes for the same input.

main.py and requirements.txt lie at its top, the library beside them; what only a laptop needs stays out.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "functions.zip"
# ZIP knows no earlier time; a fixed one makes the archive reproducible.
EPOCH = (1980, 1, 1, 0, 0, 0)
# Parts of the library that no function imports,
LAPTOP = frozenset({"local", "cli", "show.py", "columns_file.py"})
# but for the client of the emulator: so the packaged function, too, can be tried with BIGQUERY_EMULATOR_HOST.
SHIPPED = frozenset({"local/__init__.py", "local/emulator.py"})


def members() -> Iterator[tuple[str, Path]]:
    """Each file's name in the archive and where it lies."""
    for path in sorted((ROOT / "functions").glob("*")):
        if path.suffix in (".py", ".txt"):
            yield path.name, path
    for path in sorted((ROOT / "onefold").rglob("*.py")):
        inside = path.relative_to(ROOT / "onefold")
        if inside.parts[0] not in LAPTOP or inside.as_posix() in SHIPPED:
            yield f"onefold/{inside.as_posix()}", path
    config = ROOT / "onefold.yaml"
    if config.is_file():
        yield config.name, config


def package(target: Path = TARGET) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in members():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


if __name__ == "__main__":
    sys.stdout.write(f"{package()}\n")
