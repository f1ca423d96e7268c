"""The current view shows the same rows before and after `onefold merge`, which both read by commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import Row, change, land_changes
from support.cli import Run
from support.merge_shop import LONG_AGO, now
from support.sweeps import sweep

from onefold.changelog.metadata import LANDED_AT
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

CUSTOMER = {"id": "INT64", "name": "STRING", LANDED_AT: "TIMESTAMP"}
LAST_YEAR = 1_600_000_000_000


@dataclass
class Commands:
    """A table with versions, which nobody touches but by commands, and programs that write rows."""

    run: Run
    dataset: EmulatedDataset

    def settings(self, text: str = "") -> None:
        Path("onefold.yaml").write_text(f"overlap_minutes: 0\ntables: {{customer: {{keys: [id]{text}}}}}\n")

    def create(self, version: str, **more: str) -> None:
        land_changes(self.dataset, f"customer_v_{version}", {**CUSTOMER, **more}, [])

    def land(self, version: str, *rows: Row, at: str | None = None) -> None:
        landed = [{**row, LANDED_AT: at or now()} for row in rows]
        table = f"{DEFAULT_PROJECT}.{self.dataset.name}.customer_v_{version}"
        assert self.dataset.client.insert_rows_json(table, landed) == []

    def do(self, command: str, *words: str) -> str:
        done = self.run(command, self.dataset.name, "customer", *words)
        assert done.code == 0, done.err
        return done.out

    def shown(self, columns: str = "id, name") -> list[tuple[Any, ...]]:
        return sorted(self.dataset.run(f"SELECT {columns} FROM {self.dataset.quoted('customer_current')}"), key=str)

    def around_a_merge(self, columns: str = "id, name") -> list[tuple[Any, ...]]:
        """What the view shows before and after a merge, which has to be the same."""
        self.do("current")
        before = self.shown(columns)
        self.do("merge")
        self.do("current")
        assert self.shown(columns) == before
        return before


@pytest.fixture
def commands(run: Run, dataset: EmulatedDataset) -> Commands:
    found = Commands(run, dataset)
    found.settings()
    return found


@pytest.mark.parametrize("other", sweep(["DATE", "DATETIME"]))
def test_unmerged_rows_of_a_version_whose_landing_times_are_no_timestamps_are_shown(commands: Commands, other: str) -> None:
    commands.create("a", **{LANDED_AT: other})
    commands.create("b")
    commands.land("a", change("INSERT", "1", id=1, name="old"), at=LONG_AGO[:10])
    commands.do("merge")
    commands.land("a", change("UPDATE-INSERT", "2", id=1, name="new"), at=LONG_AGO[:10])
    assert commands.around_a_merge() == [(1, "new")]


@pytest.mark.long
def test_a_version_that_was_dropped_and_restored_is_read_whole(commands: Commands, dataset: EmulatedDataset) -> None:
    """It has no more rows than before, so their number does not tell."""
    commands.create("a")
    commands.land("a", *(change("INSERT", str(number), id=number, name="old") for number in (1, 2)), at=LONG_AGO)
    commands.do("merge")
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a')}")
    commands.create("a")
    restored = [change("UPDATE-INSERT", "3", id=1, name="restored"), change("INSERT", "4", id=3, name="b")]
    commands.land("a", *restored, at=LONG_AGO)
    assert commands.around_a_merge() == [(1, "restored"), (2, "old"), (3, "b")]


@pytest.mark.long
def test_a_purged_row_does_not_come_back_while_the_base_is_left_out(commands: Commands, dataset: EmulatedDataset) -> None:
    """The history has lost the deletion, and the base cannot be read in its new types until a merge rebuilds it."""
    commands.create("a", flag="BOOL")
    commands.settings(", types: {flag: INT64}")
    people = [change("INSERT", str(number), id=number, name="x", flag=True) for number in (1, 2)]
    commands.land("a", *people, change("DELETE", "5", timestamp=LAST_YEAR, id=1), at=LONG_AGO)
    commands.do("merge", "--purge-tombstones-after", "30")
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE flag IS NULL")
    commands.settings(", types: {flag: STRING, id: STRING}")
    assert commands.around_a_merge("id, flag") == [("2", "true")]


@pytest.mark.long
def test_times_that_were_merged_in_another_zone_are_read_anew(commands: Commands) -> None:
    commands.create("a", seen="DATETIME")
    commands.create("b", seen="TIMESTAMP")
    commands.land("a", change("INSERT", "1", id=1, name="x", seen="2024-06-01 12:00:00"), at=LONG_AGO)
    commands.do("merge")
    commands.land("a", change("INSERT", "2", id=2, name="y", seen="2024-06-01 12:00:00"))
    commands.settings(", time_zone: Europe/Berlin")
    found = commands.around_a_merge("id, STRING(seen, 'UTC')")
    assert found == [(1, "2024-06-01 10:00:00+00"), (2, "2024-06-01 10:00:00+00")]


@pytest.mark.parametrize("order", sweep({"1, then 2": ((1, 2),), "2, then 1": ((2, 1),)}))
def test_the_later_one_of_two_copies_counts_in_whichever_order_they_are_merged(
    commands: Commands, dataset: EmulatedDataset, order: tuple[int, int]
) -> None:
    commands.create("a")
    for number in (1, 2):
        dataset.land(f"copy_{number}", {"id": "INT64", "name": "STRING"}, f"1, 'copy {number}'")
    for number in order:
        commands.do("merge", "--from-snapshot", f"copy_{number}", "--at", "5")
    assert commands.around_a_merge() == [(1, "copy 2")]


LONG = ("9" * 41, "1" + "0" * 41)
"""Numbers of more digits than the width to which numbers are padded; the latter is the greater one."""
ODD: tuple[tuple[dict[str, Any], ...], ...] = (
    tuple({"uuid": uuid} for uuid in ("x", "x \n", "x\ty")),
    tuple({"sort_keys": [number]} for number in LONG),
    tuple({"sequence": f"bin.{number}"} for number in LONG),
    tuple({"uuid": f"x{number}"} for number in reversed(LONG)),
)
"""The lower position first: numbers compare as numbers, and identifiers as text."""


@pytest.mark.long
def test_odd_positions_have_one_order_whichever_of_them_was_merged_first(commands: Commands) -> None:
    commands.create("a")
    cases = [[_odd(number, place, fields) for place, fields in enumerate(positions)] for number, positions in enumerate(ODD)]
    cases += [[{**row, "id": -1 - row["id"]} for row in reversed(rows)] for rows in cases]
    commands.land("a", *(rows[0] for rows in cases))
    commands.do("merge")
    commands.land("a", *(row for rows in cases for row in rows[1:]))
    last = [(number, str(len(positions) - 1)) for number, positions in enumerate(ODD)]
    expected = [*last, *((-1 - number, name) for number, name in last)]
    assert commands.around_a_merge() == sorted(expected, key=str)


def _odd(number: int, place: int, fields: dict[str, Any]) -> Row:
    rest = {name: value for name, value in fields.items() if name != "sequence"}
    return change("INSERT", fields.get("sequence", "1"), id=number, name=str(place), **rest)
