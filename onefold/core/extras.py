"""Packages that only some commands need: in which extra of Onefold each is, and how to install them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from onefold.core.errors import Rejected

EXTRAS = {
    "pymysql": "mysql",
    "pymysqlreplication": "capture",
    "pyarrow": "files",
    "prometheus_client": "metrics",
    "boto3": "aws",
    "botocore": "aws",
    "googleapiclient": "access",
    "orjson": "shred",
    "pyspark": "spark",
    "py4j": "spark",
    "bqemulator": "local",
    "duckdb": "local",
    "duckdb_extensions": "local",
    "numpy": "local",
}
"""The extra that has a package, by the name under which the package is imported."""

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


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra where this Onefold is installed.

    Onefold is in no registry of packages, so an extra is installed from what Onefold was installed from, or else by the
    names of its packages.
    """
    try:
        onefold = distribution("onefold")
    except PackageNotFoundError:  # the sources alone, as in an archive of functions
        return f"install the packages of the extra `{extra}` of pyproject.toml"
    source = _source(json.loads(onefold.read_text("direct_url.json") or "{}"))
    if source:
        return f"pip install {source[:-1]}[{extra}]'"
    return " ".join(["pip install", *(f"'{one}'" for one in dict.fromkeys(_requirements(onefold, extra)))])


def _source(origin: dict[str, dict[str, bool] | str]) -> str:
    """Return the file or folder from which Onefold was installed, as pip takes it; empty where it is not there."""
    parts = urlsplit(str(origin.get("url", "")))
    path = Path(unquote(parts.path))
    if parts.scheme != "file" or not path.exists():
        return ""
    folder = origin.get("dir_info")
    return f"{'-e ' if isinstance(folder, dict) and folder.get('editable') else ''}'{path}'"


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
