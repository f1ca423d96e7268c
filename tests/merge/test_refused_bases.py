"""Bases, copies and staged rows that a merge refuses: each error names the table and what to do, in full."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.columns import columns
from support.told_merges import (
    COPY,
    FLAG,
    LATER,
    NUMBER,
    TEXT,
    A,
    Act,
    Refused,
    base,
    entry,
    log,
    told,
    version,
)
from support.told_warehouse import CREATED, ToldWarehouse

from onefold.core.errors import (
    NotFound,
    SchemaConflict,
    TryAgain,
)
from onefold.merge.apply import merge_rows, merge_snapshot, purge
from onefold.merge.migrate import rebuild_from
from onefold.merge.plan import MergePlan
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings

MERGED = (entry("create", 9), entry("merge", 5, "a"))
AS_TEXT = "1" + "ab/" + "12".rjust(40, "0")
"""A hexadecimal sequence as an earlier release stored it."""


def answered(warehouse: ToldWarehouse, part: str, **row: Any) -> ToldWarehouse:
    warehouse.answers.insert(0, (part, [row]))
    return warehouse


def merged(**more: Any) -> ToldWarehouse:
    return told(A, stored=base(A), rows=log(*MERGED), **more)


def lost(warehouse: ToldWarehouse, rows: int = 2) -> ToldWarehouse:
    return answered(warehouse, "AND w._lost", found=rows)


def dropped(warehouse: ToldWarehouse, by: str) -> ToldWarehouse:
    warehouse.dropped_by = by
    return warehouse


def copied(warehouse: ToldWarehouse, **types: str) -> ToldWarehouse:
    warehouse.tables[COPY] = StoredTable(columns(**types), CREATED)
    return warehouse


def without(warehouse: ToldWarehouse, table: Any) -> ToldWarehouse:
    del warehouse.tables[table]
    return warehouse


def from_copy(warehouse: BaseWarehouse, plan: MergePlan) -> object:
    return merge_snapshot(warehouse, plan, COPY)


def replaced(act: Act) -> Act:
    """Return the act, before which another process has replaced the base."""

    def after(warehouse: BaseWarehouse, plan: MergePlan) -> object:
        assert plan.stored
        return act(warehouse, replace(plan, stored=replace(plan.stored, created=CREATED.replace(year=2020))))

    return after


def zoned(*zones: str) -> ToldWarehouse:
    """A base whose TIMESTAMPs were read from DATETIMEs in other time zones than the present one."""
    landed = version("z", id="INT64", seen="DATETIME")
    also = version("y", id="INT64", seen="TIMESTAMP")
    row = entry("merge", 5, "z", "y", zones=json.dumps([("seen", zone) for zone in zones]))
    return lost(told(landed, also, stored=base(landed, also), rows=log(row)), 1)


BERLIN = Settings(rules=TableRules(time_zone="Europe/Berlin"))
AGAIN = "to start again drop my-project.shop.customer_base and merge with --from-snapshot"
LOSS = "that the change tables do not hold any more, or that came from a snapshot"
BY_TEXT = "expected positions that order hexadecimal sequences and sort keys as numbers, got"
REFUSED: dict[str, Refused] = {
    "a rebuild would lose rows": Refused(
        lambda: lost(merged()),
        SchemaConflict,
        (f"my-project.shop.customer_base is to be rebuilt, but a rebuild would lose 2 rows {LOSS}: {AGAIN}",),
        rebuild=True,
    ),
    "a rebuild would be too long": Refused(
        lambda: told(*(replace(A, id=f"{number:03}") for number in range(400)), stored=base(A), rows=log(*MERGED)),
        SchemaConflict,
        (
            "my-project.shop.customer_base: expected a rebuild whose query has at most 1000000 characters, got more "
            "from 400 versions: `retire` old ones in onefold.yaml",
        ),
        rebuild=True,
    ),
    "another type would lose rows": Refused(
        lambda: lost(told(FLAG, TEXT, stored=base(FLAG, NUMBER), rows=log(entry("merge", 5, "b", "i")))),
        SchemaConflict,
        (
            "column flag is INT64 in my-project.shop.customer_base and STRING by now, but a rebuild would lose 2 rows "
            f"{LOSS}: to keep the old type set it under `types` of customer in onefold.yaml; {AGAIN}",
        ),
    ),
    "another time zone would lose a row": Refused(
        lambda: zoned("Asia/Tokyo"),
        SchemaConflict,
        (
            "column seen of my-project.shop.customer_base was read in another time zone than Europe/Berlin, but a rebuild "
            f"would lose 1 row {LOSS}: to keep it set `time_zone: Asia/Tokyo` for customer in onefold.yaml; {AGAIN}",
        ),
        settings=BERLIN,
    ),
    "several time zones would lose a row": Refused(
        lambda: zoned("Asia/Tokyo", "Europe/Rome"),
        SchemaConflict,
        (
            "column seen of my-project.shop.customer_base was read in another time zone than Europe/Berlin, but a rebuild "
            f"would lose 1 row {LOSS}: {AGAIN}",
        ),
        settings=BERLIN,
    ),
    "staged rows lack a row of the base": Refused(
        lambda: lost(merged()),
        SchemaConflict,
        (f"my-project.shop.customer_base is to be rebuilt, but a rebuild would lose 2 rows {LOSS}: {AGAIN}",),
        lambda warehouse, plan: rebuild_from(warehouse, plan, "SELECT * FROM staged"),
    ),
    "the base was dropped before a rebuild": Refused(
        lambda: merged(),
        TryAgain,
        ("my-project.shop.customer_base was dropped while it was prepared for a merge: run the merge again",),
        lambda warehouse, plan: rebuild_from(warehouse, replace(plan, stored=None), "SELECT * FROM staged"),
    ),
    "the base was dropped after a conversion": Refused(
        lambda: dropped(told(A, LATER, stored=base(A), rows=log(*MERGED)), "CREATE OR REPLACE"),
        TryAgain,
        ("my-project.shop.customer_base was dropped while it was prepared for a merge: run the merge again",),
    ),
    "positions of an earlier release are text": Refused(
        lambda: answered(
            told(A, stored=base(A, packed=False), rows=log(*({**row, "comparable": False} for row in MERGED))),
            "AS example",
            found=3,
            example=AS_TEXT[1:],
        ),
        SchemaConflict,
        (
            f"my-project.shop.customer_base: {BY_TEXT} 3 rows that an earlier release ordered as text, such as 'ab/12': "
            "rebuild the base from the whole history (onefold merge --rebuild)",
        ),
    ),
    "a floor of an earlier release is text": Refused(
        lambda: told(A, stored=base(A), rows=log(*MERGED, floor=f"{AS_TEXT}  1 0 ")),
        SchemaConflict,
        (
            "my-project.shop.customer_merges: expected a floor that orders hexadecimal sequences and sort keys as numbers, "
            "got 'ab/12', which an earlier release ordered as text: drop my-project.shop.customer_base and merge again, "
            "which lifts the floor",
        ),
    ),
    "there is no copy": Refused(
        lambda: without(merged(), COPY),
        NotFound,
        (
            "expected a table my-project.shop.customer_copy with a copy of my-project.shop.customer, got none: make it, or "
            "name another one",
        ),
        from_copy,
    ),
    "the copy does not fit": Refused(
        lambda: copied(merged(), name="STRING", seen="STRING", age="INT64"),
        SchemaConflict,
        (
            "my-project.shop.customer_copy: no version of my-project.shop.customer has a column age; leave it out of "
            "the copy",
            "my-project.shop.customer_copy: column seen is STRING, which does not fit DATE; cast it in the copy, or set the "
            "column's type in onefold.yaml",
            "my-project.shop.customer_copy has no column id for the key",
        ),
        from_copy,
    ),
    "the copy has a key twice": Refused(
        lambda: answered(merged(), "HAVING COUNT(*) > 1", found=2),
        SchemaConflict,
        ("my-project.shop.customer_copy: 2 keys (id) repeated: make a copy of the source, which has each once",),
        from_copy,
    ),
    **{
        f"the base was replaced while {what}": Refused(
            merged,
            TryAgain,
            ("my-project.shop.customer_base was replaced while rows were merged into it: merge them again",),
            replaced(act),
        )
        for what, act in {
            "a copy was merged": from_copy,
            "staged rows were merged": lambda warehouse, plan: merge_rows(warehouse, plan, "SELECT * FROM staged"),
        }.items()
    },
    "the log was dropped before a purge": Refused(
        merged,
        NotFound,
        ("there is no log of merges my-project.shop.customer_merges: it was dropped meanwhile; run the merge again",),
        lambda warehouse, plan: purge(warehouse, replace(plan, state=replace(plan.state, now=None)), 30),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_every_problem_and_what_to_do(name: str) -> None:
    REFUSED[name].check()
