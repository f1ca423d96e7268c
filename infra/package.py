"""build/functions.zip, the source of the functions as Google Cloud wants it, and build/spark.zip, what Spark jobs import.

The same bytes for the same input. What only a laptop needs stays out.
"""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "functions.zip"
SPARK_TARGET = ROOT / "build" / "spark.zip"
# ZIP knows no earlier time; a fixed one makes the archive reproducible.
EPOCH = (1980, 1, 1, 0, 0, 0)


def members() -> Iterator[tuple[str, Path]]:
    """Yield each file's name in the archive of the functions, and its path: main.py and requirements.txt at the top."""
    for path in sorted((ROOT / "functions").glob("*")):
        if path.suffix in (".py", ".txt"):
            yield path.name, path
    yield from _library(sorted((ROOT / "functions").glob("*.py")))
    config = ROOT / "onefold.yaml"
    if config.is_file():
        yield config.name, config


def spark_members(jobs: Iterable[Path] = ()) -> list[tuple[str, Path]]:
    """Return what the jobs import of the library, for `--py-files`."""
    return _library(list(jobs) or sorted((ROOT / "spark_jobs").glob("*.py")))


def _library(scripts: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return the modules of the library that scripts import, and those that these import in turn."""
    waiting = list(scripts)
    found: set[Path] = set()
    while waiting:
        new = set(_imported(waiting.pop())) - found
        found |= new
        waiting += new
    return sorted((path.relative_to(ROOT).as_posix(), path) for path in found)


def _imported(path: Path) -> Iterator[Path]:
    """The modules of the library that a file imports, also where it does so late, each with the packages it is in."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            yield from _files_of(name)


def _files_of(module: str) -> Iterator[Path]:
    parts = module.split(".")
    if parts[0] != "onefold":
        return
    packages = [ROOT.joinpath(*parts[:length], "__init__.py") for length in range(1, len(parts) + 1)]
    yield from (path for path in (*packages, ROOT.joinpath(*parts).with_suffix(".py")) if path.is_file())


def package(target: Path = TARGET) -> Path:
    return _write(target, members())


def package_spark(target: Path = SPARK_TARGET, jobs: Iterable[Path] = ()) -> Path:
    return _write(target, spark_members(jobs))


def _write(target: Path, named: Iterable[tuple[str, Path]]) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in named:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


if __name__ == "__main__":
    sys.stdout.write(f"{package()}\n{package_spark()}\n")
