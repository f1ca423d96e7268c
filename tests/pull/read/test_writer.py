"""Files of pulled rows: limited in size while they are written, never under a name that is taken."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import sys
from datetime import date
from pathlib import Path

import pytest

from onefold.adapters.pulled_files import FolderFiles, files_at
from onefold.core.errors import InvalidInput
from onefold.pull.read.pulled import PulledFile
from onefold.pull.read.writer import PartWriter

DAY, NEXT = date(2026, 5, 3), date(2026, 5, 4)


def name_in(folder: Path, number: int) -> str:
    return f"{folder.as_uri()}/json/t/{number}.json"


def content(file: PulledFile) -> bytes:
    found = FolderFiles().find(file.name)
    assert found
    return found.data


def test_a_file_holds_its_lines_and_says_what_is_stored(tmp_path: Path) -> None:
    with PartWriter(FolderFiles(), lambda number: name_in(tmp_path, number)) as writer:
        writer.write("{é}\n".encode(), {DAY: 1})
        writer.write(b"{2}\n{3}\n", {NEXT: 2})
        (file,) = writer.close()
    data = content(file)
    assert data == "{é}\n{2}\n{3}\n".encode()
    assert (file.rows, file.bytes, file.days) == (3, len(data), ((DAY, 1), (NEXT, 2)))
    assert file.checksum == hashlib.md5(data, usedforsecurity=False).hexdigest()


def test_without_a_line_there_is_no_file(tmp_path: Path) -> None:
    with PartWriter(FolderFiles(), lambda number: name_in(tmp_path, number)) as writer:
        assert writer.close() == ()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=["ISA-L", "zlib"])
def compressor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What compresses: ISA-L, and what there is without it."""
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal.igzip", None)


@pytest.mark.usefixtures("compressor")
@pytest.mark.parametrize("compress", [False, True])
def test_no_file_exceeds_the_limit(tmp_path: Path, compress: bool) -> None:
    lines = [f'{{"n": "{hashlib.sha256(bytes([number])).hexdigest()}"}}\n'.encode() for number in range(40)]
    with PartWriter(FolderFiles(), lambda n: name_in(tmp_path, n), compress=compress, limit=300) as writer:
        for line in lines:
            writer.write(line, {DAY: 1})
        files = writer.close()
    assert all(file.bytes <= 300 for file in files)
    assert len(files) > 5
    found = [gzip.decompress(content(file)) if compress else content(file) for file in files]
    assert b"".join(found) == b"".join(lines)
    assert [len(content(file)) for file in files] == [file.bytes for file in files]


def test_a_taken_name_takes_the_next_number_of_its_writer(tmp_path: Path) -> None:
    taken = name_in(tmp_path, 1), name_in(tmp_path, 4)
    other = tmp_path / "other"
    other.write_bytes(b"other\n")
    for address in taken:
        assert FolderFiles().create(address, other)
    with PartWriter(FolderFiles(), lambda number: name_in(tmp_path, number), itertools.count(1, 3)) as writer:
        writer.write(b"{}\n", {DAY: 1})
        (file,) = writer.close()
    assert file.name == name_in(tmp_path, 7)
    assert [FolderFiles().find(address).data for address in taken] == [b"other\n"] * 2  # type: ignore[union-attr]


@pytest.mark.usefixtures("compressor")
def test_equal_rows_give_equal_compressed_bytes(tmp_path: Path) -> None:
    found: list[PulledFile] = []
    for number in range(2):
        with PartWriter(FolderFiles(), lambda n: name_in(tmp_path, n), itertools.count(number, 2), compress=True) as writer:
            writer.write(b"{}\n" * 100, {DAY: 100})
            found += writer.close()
    assert found[0].checksum == found[1].checksum
    assert found[0].name != found[1].name


def test_an_interrupted_file_is_never_stored(tmp_path: Path) -> None:
    def interrupted() -> None:
        with PartWriter(FolderFiles(), lambda number: name_in(tmp_path, number)) as writer:
            writer.write(b"{}\n", {DAY: 1})
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"write gs://BUCKET/FOLDER"):
        files_at("/tmp/x")
