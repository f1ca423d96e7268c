"""What a command needs and lacks is named with a line that installs it, however Onefold was installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from onefold.core.errors import Rejected
from onefold.core.extras import EXTRAS, from_lab, how_to_install, missing_package

METADATA = """Metadata-Version: 2.1
Name: onefold
Version: 0.1.0
Requires-Dist: requests>=2.32
Requires-Dist: pymysql[rsa]>=1.2; extra == "mysql"
Requires-Dist: onefold[cli,mysql]; extra == "spark"
Requires-Dist: click>=8.1; extra == "cli"
Requires-Dist: pyspark==4.0.1; extra == "spark"
"""


def installed(folder: Path, origin: dict[str, object] | None) -> Path:
    """An environment that has nothing but the metadata of an installed Onefold."""
    info = folder / "site" / "onefold-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    return info.parent


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ({"url": "file://{}/dist/a%20b.whl", "archive_info": {}}, "pip install '{}/dist/a b.whl[spark]'"),
        ({"url": "file://{}/dist", "dir_info": {}}, "pip install '{}/dist[spark]'"),
        ({"url": "file://{}/dist", "dir_info": {"editable": True}}, "pip install -e '{}/dist[spark]'"),
        ({"url": "file://{}/gone.whl", "archive_info": {}}, "pip install 'click>=8.1' 'pymysql[rsa]>=1.2' 'pyspark==4.0.1'"),
        ({"url": "https://example.com/a.whl"}, "pip install 'click>=8.1' 'pymysql[rsa]>=1.2' 'pyspark==4.0.1'"),
        (None, "pip install 'click>=8.1' 'pymysql[rsa]>=1.2' 'pyspark==4.0.1'"),
    ],
    ids=["a wheel", "a folder", "a checkout", "a wheel that is gone", "an address", "an index of packages"],
)
def test_the_line_follows_from_how_onefold_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None, expected: str
) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "a b.whl").touch()
    found = origin and {**origin, "url": str(origin["url"]).format(tmp_path)}
    monkeypatch.setattr(sys, "path", [str(installed(tmp_path, found))])
    assert how_to_install("spark") == expected.format(tmp_path)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (
            {"url": "file://{}/dist/a%20b.whl", "archive_info": {}},
            "pip install '{}/dist/onefold_lab-0.1.0-py3-none-any.whl'",
        ),
        ({"url": "file://{}/checkout", "dir_info": {"editable": True}}, "pip install -e '{}/checkout/onefold_lab'"),
        ({"url": "file://{}/checkout/alone.whl"}, "run `make dist` in a checkout of Onefold"),
        (None, "run `make dist` in a checkout of Onefold"),
    ],
    ids=["a wheel", "a checkout", "a wheel without the lab beside it", "an index of packages"],
)
def test_the_lab_is_installed_from_where_onefold_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None, expected: str
) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "checkout" / "onefold_lab").mkdir(parents=True)
    for file in ("dist/a b.whl", "dist/onefold_lab-0.1.0-py3-none-any.whl", "checkout/alone.whl"):
        (tmp_path / file).touch()
    found = origin and {**origin, "url": str(origin["url"]).format(tmp_path)}
    monkeypatch.setattr(sys, "path", [str(installed(tmp_path, found))])
    assert how_to_install("lab").startswith(expected.format(tmp_path))
    with pytest.raises(Rejected, match="Onefold's lab is missing"):
        from_lab("demo")


def test_without_metadata_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert how_to_install("aws") == "install the packages of the extra `aws` of pyproject.toml"


def test_only_packages_of_extras_are_named() -> None:
    assert missing_package(ModuleNotFoundError(name="onefold.typo")) is None
    text = missing_package(ModuleNotFoundError(name="pymysql.cursors"))
    assert text == f"pymysql is missing: {how_to_install('mysql')}"


def test_every_extra_of_a_command_has_a_package_that_tells_whether_it_is_installed() -> None:
    lines = (Path(__file__).parents[2] / "pyproject.toml").read_text().splitlines()
    begin = lines.index("[project.optional-dependencies]") + 1
    extras = {line.partition(" = ")[0] for line in lines[begin : lines.index("", begin)] if not line.startswith("#")}
    assert extras - {"capture", "cli", "image", "docs", "dev", "local"} == set(EXTRAS.values())
