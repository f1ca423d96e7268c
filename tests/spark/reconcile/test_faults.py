"""The faults of the SQL in common use, none of which the job has; and bad input, which it refuses with nothing written."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import base_of, live, read_base, run_job, snapshot, without_positions, write_lines
from support.sweeps import sweep

from onefold.core.errors import InvalidInput, NotFound, OnefoldError

pytestmark = pytest.mark.heavy

Rows = list[dict[str, Any]]


@dataclass
class Shop:
    """A folder in which one batch after another makes a new base."""

    spark: SparkSession
    folder: Path
    batches: int = 0

    def batch(self, *versions: Rows, keys: str = "id", based: bool = True) -> Rows:
        """The base after one more batch."""
        before, self.batches = self.folder / f"base_{self.batches}", self.batches + 1
        folders = [
            write_lines(self.folder / f"batch_{self.batches}_{number}" / "rows.jsonl", rows).parent
            for number, rows in enumerate(versions)
        ]
        run_job(self.spark, folders, self.folder / f"base_{self.batches}", keys=keys, base=before if based else None)
        return read_base(self.spark, self.folder / f"base_{self.batches}")

    def copy(self, rows: Rows) -> None:
        """Begin with a plain copy of the source."""
        write_lines(self.folder / "base_0" / "rows.jsonl", rows)


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(spark, tmp_path)


def test_1_and_2_a_change_of_key_leaves_no_ghost_at_the_old_key(shop: Shop) -> None:
    found = shop.batch([change("INSERT", "1", id=1, name="a")])
    assert live(found) == [{"id": 1, "name": "a"}]
    found = shop.batch([change("UPDATE-DELETE", "2", id=1, name="a"), change("UPDATE-INSERT", "2", id=2, name="a")])
    assert live(found) == [{"id": 2, "name": "a"}]


def test_3_and_4_an_old_batch_neither_deletes_a_newer_row_nor_brings_a_deleted_one_back(shop: Shop) -> None:
    deletion, insertion = [change("DELETE", "2", id=1)], [change("INSERT", "3", id=1, name="new")]
    old = [change("INSERT", "1", id=2, name="old")]
    shop.batch([*deletion, *insertion, *old])
    shop.batch([change("DELETE", "4", id=2)])
    assert live(shop.batch([*deletion, *old])) == [{"id": 1, "name": "new"}]


def test_4_a_tombstone_holds_nothing_of_the_person_who_was_deleted(shop: Shop) -> None:
    (row,) = shop.batch([change("INSERT", "1", id=1, name="Ann"), change("DELETE", "2", id=1, name="Ann")])
    assert set(row) == {"id", "_position", "_deleted"}


@pytest.mark.long
def test_5_a_row_of_the_base_without_a_position_is_updated_all_the_same(shop: Shop) -> None:
    shop.copy([{"id": 1, "name": "copied"}, {"id": 2, "name": "copied"}])
    found = shop.batch([change("UPDATE-INSERT", None, timestamp=None, id=1, name="changed")])
    assert live(found) == [{"id": 1, "name": "changed"}, {"id": 2, "name": "copied"}]


def test_6_equal_positions_are_decided_alike_in_every_order_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    """Each key has the same three rows in another order; the oracle decides by their digests."""
    orders = list(itertools.permutations(("a", "b", "c")))
    rows = [change("INSERT", "1", id=key, name=name) for key, order in enumerate(orders) for name in order]
    report = run_job(spark, write_lines(tmp_path / "changes.jsonl", rows), tmp_path / "out")
    found = read_base(spark, tmp_path / "out")
    assert (without_positions(found), report.disputed) == (base_of(rows, ["id"]), 2 * len(orders))


@pytest.mark.long
def test_6_a_position_that_the_base_has_with_other_content_is_counted_too(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_lines(tmp_path / f"{name}.jsonl", [change("INSERT", "1", id=1, name=name)])
    run_job(spark, tmp_path / "a.jsonl", tmp_path / "1")
    run_job(spark, tmp_path / "b.jsonl", tmp_path / "2")
    one = run_job(spark, tmp_path / "b.jsonl", tmp_path / "3", base=tmp_path / "1")
    other = run_job(spark, tmp_path / "a.jsonl", tmp_path / "4", base=tmp_path / "2")
    assert (one.disputed, other.disputed) == (1, 1)
    assert read_base(spark, tmp_path / "3") == read_base(spark, tmp_path / "4")


def test_8_keys_that_are_null_are_one_key_and_keys_may_be_composite(shop: Shop) -> None:
    first = [
        change("INSERT", "1", tenant="x", id=None, name="a"),
        change("INSERT", "2", tenant="x", id=1, name="b"),
        change("INSERT", "3", tenant=None, id=1, name="c"),
    ]
    shop.batch(first, keys="tenant,id")
    found = shop.batch([change("UPDATE-INSERT", "4", tenant="x", id=None, name="d")], keys="tenant,id")
    kept = [{"tenant": "x", "id": 1, "name": "b"}, {"id": 1, "name": "c"}, {"tenant": "x", "name": "d"}]
    assert live(found) == kept


@pytest.mark.long
def test_8_a_key_whose_type_changed_is_one_key(shop: Shop) -> None:
    shop.batch([change("INSERT", "1", id=7, name="a"), change("INSERT", "1", id=8, name="a")])
    numbers, texts = [change("UPDATE-INSERT", "2", id=8, name="b")], [change("DELETE", "2", id="7")]
    assert live(shop.batch(numbers, texts)) == [{"id": "8", "name": "b"}]


@pytest.mark.parametrize(
    ("older", "newer"), sweep([("B", "ABC"), ("FFF/B", "FFF/ABC"), ("BA/FFFF", "ABC"), ("9", "10"), ("b.999", "b.1000")])
)
def test_9_sequences_are_compared_as_numbers(shop: Shop, older: str, newer: str) -> None:
    (row,) = shop.batch([change("INSERT", newer, id=1, name="newer"), change("INSERT", older, id=1, name="older")])
    assert row["name"] == "newer"


@pytest.mark.long
def test_10_a_change_that_lands_late_is_merged_late(shop: Shop) -> None:
    shop.batch([change("INSERT", "5", id=1, name="a")])
    found = shop.batch([change("INSERT", "1", id=2, name="late")], [change("INSERT", "2", id=1, name="too late")])
    assert live(found) == [{"id": 1, "name": "a"}, {"id": 2, "name": "late"}]


@pytest.mark.long
def test_a_late_version_with_a_new_column_leaves_the_rows_that_it_does_not_touch(shop: Shop) -> None:
    shop.batch([change("INSERT", "1", id=1, name="a"), change("INSERT", "1", id=2, name="b")])
    found = shop.batch([change("UPDATE-INSERT", "2", id=2, name="b", added=1.5)])
    assert live(found) == [{"id": 2, "name": "b", "added": Decimal("1.5")}, {"id": 1, "name": "a"}]


# Bad input.

GOOD = [change("INSERT", "1", id=1, name="a"), change("INSERT", "2", id=2, name="b")]
LANDED = [{**row, "_landed_at": f"2024-01-0{day} 00:00:00"} for day, row in enumerate(GOOD, 1)]


@dataclass(frozen=True)
class Bad:
    """What is wrong, and words of the error that say so."""

    words: tuple[str, ...]
    changes: Rows | None = None
    base: Rows | None = None
    more: tuple[str, ...] = ()
    keys: str = "id"


BAD = {
    "no such key column": Bad(("has no column nope", "it has id, name"), GOOD, keys="nope"),
    "a key that is a list": Bad(("the key id is ARRAY<INT64>",), [change("INSERT", "1", id=[1])]),
    "no metadata": Bad(("no change table", "datastream_metadata"), [{"id": 1}]),
    "an empty window of sequences": Bad(("no change in the window",), GOOD, more=("--from", "3")),
    "an empty window of landing times": Bad(("no change in the window",), LANDED, more=("--from", "2025-01-01")),
    "a window of landing times that nobody wrote down": Bad(("no column _landed_at",), GOOD, more=("--to", "2025-01-01")),
    "a path that does not exist": Bad(("changes.jsonl: there is no such file",)),
    "a base without the key": Bad(("base.jsonl has no column id",), GOOD, [{"number": 1}]),
    "a base that is a change log": Bad(("a change log and no base",), GOOD, GOOD),
    "half a base": Bad(("only one of _position and _deleted",), GOOD, [{"id": 1, "_position": "x"}]),
    "keys repeated in the base": Bad(("keys that are not unique: 1",), GOOD, [{"id": 1}, {"id": 1}, {"id": 3}]),
    "NULL keys repeated in the base": Bad(("not unique: NULL",), GOOD, [{"id": None}, {"id": None}, {"id": 1}]),
    "a name that the base needs": Bad(("_deleted has a name that",), [change("INSERT", "1", id=1, _deleted=1)]),
    "no events of Debezium": Bad(("no events of Debezium",), GOOD, more=("--format", "debezium")),
    "no column for the position": Bad(
        ("no column changed",), GOOD, more=("--format", "modify_time", "--position", "changed")
    ),
}  # fmt: skip


@pytest.mark.parametrize("bad", sweep(BAD.values()), ids=BAD.keys())
def test_bad_input_is_refused_and_nothing_is_written(spark: SparkSession, tmp_path: Path, bad: Bad) -> None:
    if bad.changes is not None:
        write_lines(tmp_path / "changes.jsonl", bad.changes)
    base = write_lines(tmp_path / "base.jsonl", bad.base) if bad.base else None
    before = snapshot(tmp_path)
    with pytest.raises((InvalidInput, NotFound)) as caught:
        run_job(spark, tmp_path / "changes.jsonl", tmp_path / "out", *bad.more, keys=bad.keys, base=base)
    assert all(word in str(caught.value) for word in bad.words), caught.value
    assert snapshot(tmp_path) == before


def test_every_problem_is_told_at_once(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "one.jsonl", [{"id": 1}])
    write_lines(tmp_path / "base.jsonl", [{"id": 1, "_deleted": False}])
    with pytest.raises(InvalidInput) as caught:
        run_job(
            spark, [tmp_path / "one.jsonl", tmp_path / "two.jsonl"], tmp_path / "out", "--to", "2024-01-01",
            keys="id,nope", base=tmp_path / "base.jsonl",
        )  # fmt: skip
    assert len(caught.value.problems) == 6, caught.value.problems


Spoil = Callable[[Path], object]

DAMAGED: dict[str, tuple[Spoil, str]] = {
    "unfinished": (lambda base: (base / "_SUCCESS").unlink(), "is unfinished"),
    "with a file more": (lambda base: write_lines(base / "more.jsonl", [{}]), "got other files"),
    "with a file less": (lambda base: next(base.glob("part-*")).unlink(), "got other files"),
    "with a broken manifest": (lambda base: (base / "_onefold.json").write_text("{"), "cannot be read"),
}


@pytest.mark.parametrize(("spoil", "words"), sweep(DAMAGED.values()), ids=DAMAGED.keys())
def test_a_base_that_was_changed_or_is_unfinished_is_refused(
    spark: SparkSession, tmp_path: Path, spoil: Spoil, words: str
) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", GOOD)
    run_job(spark, changes, tmp_path / "base")
    spoil(tmp_path / "base")
    with pytest.raises(InvalidInput, match=words):
        run_job(spark, changes, tmp_path / "out", base=tmp_path / "base")
    assert not (tmp_path / "out").exists()


def test_a_base_that_was_made_otherwise_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", GOOD)
    run_job(spark, changes, tmp_path / "base", keys="name")
    pulls = ("--format", "modify_time", "--position", "id")
    with pytest.raises(InvalidInput) as caught:
        run_job(spark, changes, tmp_path / "out", *pulls, base=tmp_path / "base")
    assert "was made by the keys name, not id" in str(caught.value)
    assert "was made with --format datastream, not modify_time" in str(caught.value)


@pytest.mark.long
def test_a_base_whose_values_would_be_converted_in_two_steps_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    folders = []
    for number, value in enumerate(("true", "1")):
        line = change("INSERT", "1", id=number, value="VALUE")
        path = write_lines(tmp_path / f"{number}" / "rows.jsonl", [line])
        path.write_text(path.read_text().replace('"VALUE"', value))
        folders.append(path.parent)
    run_job(spark, folders, tmp_path / "base")
    texts = write_lines(tmp_path / "texts.jsonl", [change("INSERT", "1", id=3, value="text")])
    with pytest.raises(InvalidInput, match="column value: its values landed as BOOL, INT64"):
        run_job(spark, texts, tmp_path / "out", base=tmp_path / "base")
    run_job(spark, [*folders, texts], tmp_path / "out", "--mode", "rebuild", base=tmp_path / "base")
    assert {row["id"]: row["value"] for row in read_base(spark, tmp_path / "out")} == {0: "true", 1: "1", 3: "text"}


# The output.


@pytest.mark.long
def test_an_unfinished_output_is_started_anew(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", GOOD)
    run_job(spark, changes, tmp_path / "out")
    whole = read_base(spark, tmp_path / "out")
    (tmp_path / "out" / "_SUCCESS").unlink()
    (tmp_path / "out" / "_temporary" / "0").mkdir(parents=True)
    (tmp_path / "out" / "part-00099-of-a-killed-job.parquet").write_bytes(b"half a file")
    assert not run_job(spark, changes, tmp_path / "out").already
    assert read_base(spark, tmp_path / "out") == whole


@pytest.mark.parametrize("name", ["letter.txt", "part-00000-of-somebody.parquet"])
def test_what_is_not_ours_is_never_removed(spark: SparkSession, tmp_path: Path, name: str) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", GOOD)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("not ours")
    with pytest.raises(InvalidInput, match="name a new folder"):
        run_job(spark, changes, tmp_path / "out")
    assert snapshot(tmp_path / "out") == {name: b"not ours"}


def test_an_output_of_other_arguments_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", GOOD)
    run_job(spark, changes, tmp_path / "out")
    before = snapshot(tmp_path / "out")
    with pytest.raises(InvalidInput, match="from other arguments"):
        run_job(spark, changes, tmp_path / "out", "--from", "2")
    assert snapshot(tmp_path / "out") == before


@pytest.mark.parametrize("output", ["changes/out", "."])
def test_an_output_among_the_changes_is_refused(spark: SparkSession, tmp_path: Path, output: str) -> None:
    write_lines(tmp_path / "changes" / "rows.jsonl", GOOD)
    with pytest.raises(OnefoldError, match=r"lie one in the other|holds files that no job"):
        run_job(spark, tmp_path / "changes", tmp_path / output)


def test_a_base_and_changes_that_do_not_fit_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    base = write_lines(tmp_path / "base.jsonl", [{"id": 1, "name": {"first": "a"}}])
    changes = write_lines(tmp_path / "changes.jsonl", [change("INSERT", "1", id=1, name="a")])
    with pytest.raises(InvalidInput, match=r"do not fit: column name is STRUCT<first STRING> in the one and STRING in the"):
        run_job(spark, changes, tmp_path / "out", base=base)
    assert not (tmp_path / "out").exists()
