"""Build the source of the functions, build/functions.zip, and the modules that Spark jobs import, build/spark.zip.

For AWS, build/loader.zip and build/starter.zip are the sources of the Lambda functions. The archives have the same bytes for
the same input. They contain only imported modules, so nothing for laptops. What batches
that pull tables or shred events need besides is downloaded; without a network the archives are built all the same, and
Terraform refuses `pulls` and `shreds`. Only the standard library is used: the checked form of onefold.yaml is made before.
"""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from infra.compiled_libraries import compiled_libraries
from infra.libraries import Unavailable, libraries
from onefold.settings.checked_form import form_of, form_problem

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "functions.zip"
SPARK_TARGET = ROOT / "build" / "spark.zip"
LAMBDAS = {"loader": "load_events", "starter": "start_shredder"}
"""The script in functions/aws of each archive for Lambda."""
CONFIG = ROOT / "onefold.yaml"
# The earliest time that ZIP can store. A fixed time makes the archives reproducible.
EPOCH = (1980, 1, 1, 0, 0, 0)


def members() -> Iterator[tuple[str, Path]]:
    """Yield each file's name in the archive of the functions, and its path: main.py and requirements.txt at the top."""
    for path in sorted((ROOT / "functions").glob("*")):
        if path.suffix in (".py", ".txt"):
            yield path.name, path
    yield from _library(sorted((ROOT / "functions").glob("*.py")))
    form = form_of(CONFIG)
    if form.is_file():
        yield form.name, form


def spark_members(jobs: Iterable[Path] = ()) -> list[tuple[str, Path]]:
    """Return the modules that jobs import, for `--py-files`."""
    return _library(list(jobs) or sorted((ROOT / "spark_jobs").glob("*.py")))


def lambda_members(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of a Lambda function: its script at the top. The runtime has boto3 already.

    Args:
        name: one of `LAMBDAS`.
    """
    script = ROOT / "functions" / "aws" / f"{LAMBDAS[name]}.py"
    yield script.name, script
    yield from _library([script])


def _library(scripts: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return the modules of the library that scripts import, directly or indirectly."""
    waiting = list(scripts)
    found: set[Path] = set()
    while waiting:
        new = set(_imported(waiting.pop())) - found
        found |= new
        waiting += new
    return sorted((path.relative_to(ROOT).as_posix(), path) for path in found)


def _imported(path: Path) -> Iterator[Path]:
    """Yield the modules of the library that a file imports, also within functions, with the packages that contain them.

    A package comes with its JSON Schemas.
    """
    if path.suffix != ".py":
        return
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
    for path in packages:
        yield from path.parent.glob("*.schema.json")
        yield from path.parent.glob("assets/*")


def package(target: Path = TARGET) -> Path:
    """Write the archive of the functions and return its path."""
    return _write(target, members())


def package_spark(target: Path = SPARK_TARGET, jobs: Iterable[Path] = ()) -> Path:
    """Write the archive of the Spark jobs and return its path; by default with the modules of all jobs."""
    return _write(target, spark_members(jobs))


def package_lambda(name: str, target: Path | None = None) -> Path:
    """Write the archive of a Lambda function and return its path."""
    return _write(target or ROOT / "build" / f"{name}.zip", lambda_members(name))


def _write(target: Path, named: Iterable[tuple[str, Path]]) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in named:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def main() -> int:
    """Write everything, and return the exit code."""
    if problem := form_problem(CONFIG):
        sys.stderr.write(f"{problem}\n")
        return 1
    for archive in (package(), package_spark(), *map(package_lambda, LAMBDAS)):
        sys.stdout.write(f"{archive}\n")
    try:
        for library in libraries():
            sys.stdout.write(f"{library}\n")
    except Unavailable as unavailable:
        sys.stderr.write(f"{unavailable}\nIt is needed to deploy `pulls`, and for nothing else.\n")
    try:
        sys.stdout.write(f"{compiled_libraries()}\n")
    except Unavailable as unavailable:
        sys.stderr.write(f"{unavailable}\nIt is needed to deploy `shreds` and `pulls`, and for nothing else.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
