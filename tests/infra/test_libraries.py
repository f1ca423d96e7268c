"""What batches that pull tables need besides: downloaded once, and never another file than the pinned one."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.maven_repository import maven_repository

from infra import libraries as module
from infra.libraries import DRIVER, DRIVER_SHA256, DRIVER_VERSION, PYMYSQL, Unavailable, libraries, pinned
from onefold.ports import batches

LAYOUT = f"/org/mariadb/jdbc/mariadb-java-client/{DRIVER_VERSION}/mariadb-java-client-{DRIVER_VERSION}.jar"
"""The path of the driver in every Maven repository."""


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    try:
        assert list(libraries(folder)) == [folder / DRIVER, folder / PYMYSQL]
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    return folder


def test_the_files_have_the_names_and_the_version_that_batches_expect() -> None:
    assert (DRIVER, PYMYSQL) == (batches.JDBC_DRIVER, batches.PYMYSQL)


@pytest.mark.long
def test_the_driver_is_the_pinned_release(downloaded: Path) -> None:
    assert hashlib.sha256((downloaded / DRIVER).read_bytes()).hexdigest() == DRIVER_SHA256
    with zipfile.ZipFile(downloaded / DRIVER) as jar:
        assert "org/mariadb/jdbc/Driver.class" in jar.namelist()


def test_pymysql_is_imported_from_its_archive(downloaded: Path, tmp_path: Path) -> None:
    requirement, digests = pinned("pymysql")
    assert hashlib.sha256((downloaded / PYMYSQL).read_bytes()).hexdigest() in digests
    path = str(downloaded / PYMYSQL)
    code = f"import sys; sys.path.insert(0, {path!r}); import pymysql; print(pymysql.__file__, pymysql.VERSION_STRING)"
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{path}/pymysql/__init__.py", requirement.partition("==")[2]]


def test_another_file_than_the_pinned_one_is_refused_and_not_stored(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=rf"expected the SHA-256 {DRIVER_SHA256}, got [0-9a-f]{{64}}: it is not"):
        list(libraries(tmp_path, lambda: b"another"))
    assert not (tmp_path / DRIVER).exists()


def test_a_driver_that_cannot_be_downloaded_is_an_error_that_says_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(module.MAVEN, raising=False)
    monkeypatch.setattr(module, "_DRIVER", "no.such.group:driver")  # Spark's resolver refuses it before it asks a server
    with pytest.raises(Unavailable, match=rf"no.such.group:driver cannot be downloaded: .+: copy it to {tmp_path / DRIVER}"):
        list(libraries(tmp_path))


@pytest.mark.parametrize("end", ["", "/"])
def test_the_driver_comes_from_the_repository_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(module, "DRIVER_SHA256", hashlib.sha256(b"driver").hexdigest())
    with maven_repository(b"driver") as (address, asked):
        monkeypatch.setenv(module.MAVEN, f"{address}{end}")
        assert next(libraries(tmp_path)).read_bytes() == b"driver"
    assert asked == [LAYOUT]


def test_a_repository_with_another_file_or_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with maven_repository(b"another") as (address, _):
        monkeypatch.setenv(module.MAVEN, address)
        with pytest.raises(Unavailable, match=f"expected the SHA-256 {DRIVER_SHA256}"):
            list(libraries(tmp_path))
        monkeypatch.setenv(module.MAVEN, f"{address}/elsewhere")
        with pytest.raises(Unavailable, match=r"mariadb-java-client-\S+\.jar cannot be downloaded: .*404.*: copy it to"):
            list(libraries(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["file:///etc", "maven", "ftp://host"])
def test_an_address_that_is_none_of_the_web_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(module.MAVEN, address)
    with pytest.raises(Unavailable, match=f"MAVEN_REPOSITORY: expected an address that begins with https://, got {address}"):
        list(libraries(tmp_path))


def test_a_file_is_downloaded_once_and_again_where_it_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def driver() -> bytes:
        asked.append("driver")
        return b"driver"

    monkeypatch.setattr(module, "DRIVER_SHA256", hashlib.sha256(b"driver").hexdigest())
    assert next(libraries(tmp_path, driver)).read_bytes() == b"driver"
    assert next(libraries(tmp_path, driver)).read_bytes() == b"driver"
    assert len(asked) == 1
    (tmp_path / DRIVER).write_bytes(b"half")
    assert next(libraries(tmp_path, driver)).read_bytes() == b"driver"
    assert len(asked) == 2
