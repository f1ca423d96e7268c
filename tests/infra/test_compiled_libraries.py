"""The compiled libraries of batches: downloaded once, joined into one archive, and imported when it is unpacked."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra.compiled_libraries import ARCHIVE, PACKAGES, PYTHONS, compiled_libraries
from infra.libraries import Unavailable, pinned
from onefold.ports import batches


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return compiled_libraries(tmp_path_factory.mktemp("build"))
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))


def test_the_archive_has_the_name_that_batches_expect() -> None:
    assert ARCHIVE == batches.COMPILED_LIBRARIES


def test_the_unpacked_libraries_are_imported_in_their_pinned_versions(archive: Path, tmp_path: Path) -> None:
    if f"{sys.version_info[0]}.{sys.version_info[1]}" not in PYTHONS:
        pytest.skip("no runtime has this version of Python")
    zipfile.ZipFile(archive).extractall(tmp_path)
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import isal.igzip, jsonschema_rs, orjson;"
        "print(isal.__file__, orjson.__file__, isal.igzip.decompress(isal.igzip.compress(b'rows')).decode());"
        "print(jsonschema_rs.Draft4Validator({'type': 'integer'}).is_valid(orjson.loads('1')), orjson.__version__)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    version = pinned("orjson")[0].partition("==")[2]
    unpacked = [f"{tmp_path}/{name}/__init__.py" for name in ("isal", "orjson")]
    assert done.stdout.split() == [*unpacked, "rows", "True", version]


def test_the_archive_serves_every_version_of_python(archive: Path) -> None:
    names = zipfile.ZipFile(archive).namelist()
    assert [name for name in names if name.startswith("orjson/orjson.cpython-")] == [
        f"orjson/orjson.cpython-{version.replace('.', '')}-x86_64-linux-gnu.so" for version in PYTHONS
    ]
    assert "jsonschema_rs/jsonschema_rs.abi3.so" in names
    assert {f"isal/igzip_lib.cpython-{version.replace('.', '')}-x86_64-linux-gnu.so" for version in PYTHONS} <= set(names)


def test_an_archive_is_built_once_and_again_for_other_versions(tmp_path: Path) -> None:
    fetched: list[Path] = []

    def fetch(folder: Path) -> None:
        fetched.append(folder)
        with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
            wheel.writestr("a/__init__.py", "")
            wheel.writestr("a-1.dist-info/METADATA", "")

    for _ in range(2):
        assert zipfile.ZipFile(compiled_libraries(tmp_path, fetch)).namelist() == ["a/__init__.py"]
    first = (tmp_path / ARCHIVE).read_bytes()
    assert len(fetched) == 1
    (tmp_path / ARCHIVE).write_bytes(b"half")
    assert compiled_libraries(tmp_path, fetch).read_bytes() == first
    assert len(fetched) == 2
    assert [path.name for path in tmp_path.iterdir()] == [ARCHIVE]


def test_a_library_that_cannot_be_downloaded_leaves_no_archive(tmp_path: Path) -> None:
    def refuse(_: Path) -> None:
        raise Unavailable("no network")

    with pytest.raises(Unavailable):
        compiled_libraries(tmp_path, refuse)
    assert not list(tmp_path.iterdir())


def test_every_package_is_pinned() -> None:
    assert [pinned(package)[0].partition("==")[0] for package in PACKAGES] == list(PACKAGES)
