"""Records are the lines that Spark's own reader finds, however files are divided, packed and read."""

from __future__ import annotations

import bz2
import gzip
import itertools
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import InvalidInput
from onefold.spark.shred.records import FilePart, bytes_of, read_records, texts_of
from onefold.spark.shred.stores import Stores, open_stores
from onefold.spark.shred.tasks import read_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".txt": bytes,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".deflate": zlib.compress,
}
PIECES = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b"a", "é\u2028".encode(), b"\xff", b"\xe2\x82", b"\xef\xbb\xbf", b"long " * 9]
)
"""What lines are made of: ends of lines, parts of characters, and the mark with which a file of UTF-8 may begin."""


def lines_of_spark(spark: SparkSession, path: Path) -> list[str]:
    """The lines as Spark reads them, with the rules for records: no carriage return at the end, and no empty line."""
    found = spark.read.text(str(path), lineSep="\n").select(F.col("value").cast("binary")).collect()
    lines = [bytes(row[0]).removesuffix(b"\r").decode(errors="surrogateescape") for row in found]
    return sorted(line for line in lines if line)


def records_of(*parts: FilePart, chunk: int = 7) -> list[str]:
    return [record for batch in read_records(Stores(), parts, chunk) for record in batch]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(PIECES).map(b"".join), cuts=st.lists(st.integers(0, 60)), ending=st.sampled_from([*PACKERS]))
def test_records_are_the_lines_that_spark_reads(
    spark: SparkSession, tmp_path: Path, content: bytes, cuts: list[int], ending: str
) -> None:
    path = tmp_path / f"events{ending}"
    path.write_bytes(PACKERS[ending](content))
    size = path.stat().st_size
    places = sorted({0, size, *(cut for cut in cuts if cut < size and ending == ".txt")}) if size else [0, 0]
    parts = [FilePart(f"file:{path}", start, end) for start, end in itertools.pairwise(places)]
    assert sorted(records_of(*parts)) == lines_of_spark(spark, path)


@given(content=st.lists(PIECES).map(b"".join))
def test_lines_as_bytes_are_those_of_the_same_texts(content: bytes) -> None:
    assert [text for line in bytes_of(content) for text in texts_of(line)] == texts_of(content)


@given(sizes=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 300 << 20)), workers=st.integers(1, 9))
def test_each_byte_is_in_one_part_and_no_task_is_huge(sizes: dict[str, int], workers: int) -> None:
    parts = [part for task in read_tasks(sizes, workers) for part in task.parts]
    for address, size in sizes.items():
        own = sorted((part.start, part.end) for part in parts if part.address == address)
        assert [start for start, _ in own] == [0, *(end for _, end in own[:-1])]
        assert own[-1][1] == size
    assert all(sum(part.end - part.start for part in task.parts) <= 64 << 20 for task in read_tasks(sizes, workers))


def test_packed_files_in_a_row_are_one_file_and_rest_behind_them_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "events.gz"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\nd"))
    assert records_of(FilePart(str(path), 0, 1)) == ["a", "bc", "d"]


def test_places_that_workers_cannot_reach_are_named_together(spark: SparkSession) -> None:
    with pytest.raises(InvalidInput) as error:
        open_stores(spark, ["gs://lake/a", "hdfs://lake/b", "file:/lake/c", "abfs://lake/d"])
    assert [problem.split(": ")[0] for problem in error.value.problems] == ["hdfs://lake/b", "abfs://lake/d"]
