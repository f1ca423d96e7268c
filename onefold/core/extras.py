"""Packages that only some commands need: in which extra of Onefold each is, and how to install them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from onefold.core.errors import Rejected

EXTRAS = {
    "pymysql": "mysql",
    "pyarrow": "files",
    "prometheus_client": "metrics",
    "boto3": "aws",
    "botocore": "aws",
    "googleapiclient": "access",
    "orjson": "shred",
    "sqlglot": "readers",
    "pyspark": "spark",
    "py4j": "spark",
    "onefold_lab": "lab",
    "bqemulator": "lab",
    "duckdb": "lab",
    "duckdb_extensions": "lab",
    "numpy": "lab",
}
"""The extra that has a package, by the name under which the package is imported."""
LAB = "lab"
"""The extra that asks for the distribution `onefold-lab`."""

_OF_EXTRA = re.compile(r"""(?P<requirement>.+?) *; *extra == ["'](?P<extra>[\w-]+)["']""")
_OWN = re.compile(r"onefold\[(?P<extras>[\w,-]+)\]")


def missing_package(error: ModuleNotFoundError, extra: str | None = None) -> str | None:
    """Return that a package of an extra is missing, and how to install it; None where no extra has the package.

    Args:
        error: the error of the import.
        extra: the extra that the command needs; by default the one that has the package.
    """
    name = (error.name or "").partition(".")[0]
    found = extra or EXTRAS.get(name)
    return f"{name} is missing: {how_to_install(found)}" if found else None


@contextmanager
def needing(extra: str | None = None) -> Iterator[None]:
    """Name a missing package with the line that installs it, as an error of Onefold.

    Args:
        extra: the extra that the command needs; by default the one that has the package.

    Raises:
        Rejected: a package of an extra is missing.
        ModuleNotFoundError: a package is missing that no extra has: the installation is damaged.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        text = missing_package(error, extra)
        if text is None:
            raise
        raise Rejected(text) from error


def from_lab(name: str) -> Any:
    """Return what the lab has under a name: a command, or the stand-ins for BigQuery. Nothing else finds the lab.

    Args:
        name: the name of an entry point in the group `onefold.lab`.

    Raises:
        Rejected: the lab is not installed.
    """
    for found in entry_points(group="onefold.lab", name=name):
        return found.load()
    raise Rejected(f"Onefold's lab is missing, the embedded BigQuery for this machine: {how_to_install(LAB)}")


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra where this Onefold is installed.

    Onefold is in no registry of packages, so an extra is installed from what Onefold was installed from, or else by the
    names of its packages.
    """
    try:
        onefold = distribution("onefold")
    except PackageNotFoundError:  # the sources alone, as in an archive of functions
        return f"install the packages of the extra `{extra}` of pyproject.toml"
    found = _source(json.loads(onefold.read_text("direct_url.json") or "{}"))
    if extra == LAB:
        return _install_lab(found)
    if found:
        option, path = found
        return f"pip install {option}'{path}[{extra}]'"
    return " ".join(["pip install", *(f"'{one}'" for one in dict.fromkeys(_requirements(onefold, extra)))])


def _install_lab(found: tuple[str, Path] | None) -> str:
    """Return how to install the distribution of the lab, which lies beside the wheel or in the checkout."""
    option, path = found or ("", Path())
    for place in (path / "onefold_lab", *sorted(path.parent.glob("onefold_lab-*.whl"))):
        if found and place.exists():
            return f"pip install {option}'{place}'"
    return "run `make dist` in a checkout of Onefold, and install the wheel onefold_lab-*.whl with pip"


def _source(origin: dict[str, dict[str, bool] | str]) -> tuple[str, Path] | None:
    """Return pip's option, and the file or folder from which Onefold was installed; None where it is not there."""
    parts = urlsplit(str(origin.get("url", "")))
    path = Path(unquote(parts.path))
    if parts.scheme != "file" or not path.exists():
        return None
    folder = origin.get("dir_info")
    return "-e " if isinstance(folder, dict) and folder.get("editable") else "", path


def _requirements(onefold: Distribution, extra: str) -> Iterator[str]:
    """Yield the packages of an extra, and of those that it includes."""
    for line in onefold.requires or ():
        found = _OF_EXTRA.fullmatch(line)
        if found is None or found["extra"] != extra:
            continue
        own = _OWN.fullmatch(found["requirement"])
        if own is None:
            yield found["requirement"]
        for included in own["extras"].split(",") if own else ():
            yield from _requirements(onefold, included)
