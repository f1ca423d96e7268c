"""What batches that pull tables need besides: downloaded once, and never another file than the pinned one."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from infra.libraries import PYMYSQL, Unavailable, libraries, pinned
from onefold.ports import batches


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    try:
        assert list(libraries(folder)) == [folder / PYMYSQL]
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    return folder


def test_the_file_has_the_name_that_batches_expect() -> None:
    assert batches.PYMYSQL == PYMYSQL


def test_pymysql_is_imported_from_its_archive(downloaded: Path, tmp_path: Path) -> None:
    requirement, digests = pinned("pymysql")
    assert hashlib.sha256((downloaded / PYMYSQL).read_bytes()).hexdigest() in digests
    path = str(downloaded / PYMYSQL)
    code = f"import sys; sys.path.insert(0, {path!r}); import pymysql; print(pymysql.__file__, pymysql.VERSION_STRING)"
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{path}/pymysql/__init__.py", requirement.partition("==")[2]]


def test_another_file_than_the_pinned_one_is_downloaded_again_and_the_pinned_one_is_not(
    downloaded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (downloaded / PYMYSQL).read_bytes()
    (tmp_path / PYMYSQL).write_bytes(b"another")
    assert next(libraries(tmp_path)).read_bytes() == kept
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert next(libraries(tmp_path)).read_bytes() == kept


def test_a_client_that_cannot_be_downloaded_is_an_error_that_says_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(
        Unavailable, match=rf"pymysql==\S+ cannot be downloaded: (?s:.+): copy its wheel to {tmp_path / PYMYSQL}"
    ):
        list(libraries(tmp_path))
    assert list(tmp_path.iterdir()) == []
