"""Each kind of merge as a script: what the warehouse is asked, what it runs, and when the view leaves the base, in order.

The golden scripts are read by people; that each statement does what it has to do is for the tests with the emulator to show.
`UPDATE_GOLDEN=1` writes them anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.columns import columns
from support.tenants import ONE, TWO
from support.told_merges import (
    BASE,
    COPY,
    FLAG,
    FLOOR,
    HOUR,
    LATER,
    LOG,
    NOW,
    NUMBER,
    TABLE,
    TEXT,
    A,
    B,
    base,
    entry,
    log,
    port,
    told,
)
from support.told_warehouse import CREATED, ToldView, ToldWarehouse

from onefold.changelog.base_columns import PACKED, POSITION
from onefold.changelog.metadata import position_of, source_columns
from onefold.changelog.packed_position import packed_sql, unpacked_sql
from onefold.core.names import TableId
from onefold.merge.apply import count_rebuilt, merge_changes, merge_rows, merge_snapshot, purge
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.merge.merge_state import MergeCounts
from onefold.merge.migrate import prepare, rebuild_from
from onefold.merge.plan import MergePlan
from onefold.merge.statements import statements
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Schema
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.settings.environment import Settings

GOLDEN = Path(__file__).parents[1] / "golden" / "merges"


@dataclass(frozen=True)
class Case:
    """A merge: the state in which it begins, and what it does after `prepare`."""

    warehouse: Callable[[], ToldWarehouse]
    after: Callable[[BaseWarehouse, MergePlan], object] = merge_changes
    settings: Settings = field(default_factory=Settings)
    keys: tuple[str, ...] = ("id",)
    rebuild: bool = False
    snapshot: TableId | None = None
    table: TableId = TABLE

    def run(self) -> tuple[ToldWarehouse, MergePlan, object]:
        warehouse = self.warehouse()
        view = ToldView(warehouse)
        plan = prepare(port(warehouse), self.table, self.settings, view, self.keys, rebuild=self.rebuild)
        return warehouse, plan, self.after(port(warehouse), plan)

    def shown(self) -> list[str]:
        options = {"snapshot": self.snapshot, "at": "7/1" if self.snapshot else None, "rebuild": self.rebuild}
        return statements(port(self.warehouse()), self.table, self.settings, self.keys, **options)  # type: ignore[arg-type]


STAGED = "SELECT * FROM `my-project.shop.staged`"
COUNTED_A = json.dumps({"a": [(NOW - 6 * HOUR).isoformat(), 30]})
MERGED = (entry("create", 9), entry("merge", 5, "a", "b", landed=COUNTED_A))
OLD_LOG = StoredTable(LOG_COLUMNS[:-4], CREATED)


def of_an_earlier_release() -> ToldWarehouse:
    found = told(A, B, stored=base(A, B, packed=False), rows=log(*(replace_all(row) for row in MERGED)))
    found.tables[LOG] = OLD_LOG
    return found


def replace_all(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "comparable": False, "landed": None, "zones": None}


def of_an_earlier_release_with_another_type() -> ToldWarehouse:
    found = told(A, LATER, stored=base(A, packed=False), rows=log(entry("merge", 5, "a")))
    found.becomes = base(A, LATER).columns
    return found


def rebuilt_for_another_type() -> ToldWarehouse:
    """Of BOOL as INT64, `1` is left; as STRING it has to be `true`, which only the change tables tell."""
    found = told(FLAG, TEXT, stored=base(FLAG, NUMBER), rows=log(entry("merge", 5, "b", "i")))
    found.becomes = base(FLAG, TEXT).columns
    return found


def captured() -> ToldWarehouse:
    versions = tuple(Version(one.version, one.columns, CREATED) for one in (ONE, TWO))
    found = told(*versions)
    for one, key in ((ONE, ("source_name", "database_name", "ID")), (TWO, ())):
        found.tables[TABLE.sibling(one.name)] = StoredTable(tuple(one.columns), CREATED, primary_key=key)
    key_ = {"source_name": "eu", "database_name": "a", "primary_key": '["id"]', "_position": "1"}
    found.answers.insert(0, ("AS primary_key", [key_]))
    return found


def plain(partition: str | None = "DAY", way: str = "partition") -> ToldWarehouse:
    stored = replace(base(A), created=CREATED)
    own = {one: TableId("my-project", "shop__onefold", one.table) for one in (BASE, LOG)}
    found = told(rows=log(entry(f"merge_{way}", 30, "")))
    table = StoredTable(tuple(one for one in A.columns if one.name != "_landed_at"), CREATED, (), ("id",), partition)
    found.tables = {TABLE: table, own[BASE]: stored, own[LOG]: StoredTable(LOG_COLUMNS, CREATED)}
    found.answers.insert(0, ("AS `then`", [{"version": "", "now": 40, "then": None}]))
    return found


def plain_by_appends() -> ToldWarehouse:
    found = plain(None, "appends")
    found.travels = {"shop": timedelta(days=7)}
    return found


def copied_by_zone() -> ToldWarehouse:
    """The copy has DATETIMEs, which are read in the time zone of the table."""
    found = told(LATER, stored=base(LATER), rows=log(entry("merge", 5, "c")))
    found.tables[COPY] = StoredTable(columns(id="INT64", seen="DATETIME"), NOW - HOUR)
    return found


PLAIN = Settings(plain={"shop.customer": PlainTable("changes", "shop__onefold")})
BERLIN = Settings(rules=TableRules(time_zone="Europe/Berlin", overlap_minutes=0))
CASES = {
    "first": Case(lambda: told(A, B)),
    "next": Case(lambda: told(A, B, stored=base(A, B), rows=log(*MERGED))),
    "new column": Case(
        lambda: told(A, B, stored=base(A), rows=log(entry("merge", 5, "a"), floor=FLOOR)), settings=Settings()
    ),
    "converted": Case(
        lambda: told(
            A,
            LATER,
            stored=base(A),
            rows=log(entry("merge", 5, "a", landed=COUNTED_A), entry("merge", 3, "b")),
            becomes=base(A, LATER).columns,
        ),
        settings=BERLIN,
    ),
    "rebuilt": Case(
        lambda: told(A, B, stored=base(A, B), rows=log(*MERGED, floor=FLOOR), becomes=base(A, B).columns), rebuild=True
    ),
    "rebuilt for another type": Case(rebuilt_for_another_type),
    "of an earlier release": Case(of_an_earlier_release),
    "of an earlier release with another type": Case(of_an_earlier_release_with_another_type),
    "from a copy": Case(
        lambda: told(A, B, stored=base(A, B), rows=log(*MERGED)),
        lambda warehouse, plan: merge_snapshot(warehouse, plan, COPY, "7/1"),
        snapshot=COPY,
    ),
    "staged rows": Case(
        lambda: told(A, B, stored=base(A, B), rows=log(*MERGED, floor=FLOOR)),
        lambda warehouse, plan: merge_rows(warehouse, plan, STAGED, ["a"], MergeCounts(changes=8)),
    ),
    "a part of the rows staged": Case(
        lambda: told(A, B, stored=base(A, B), rows=log(*MERGED)), lambda warehouse, plan: merge_rows(warehouse, plan, STAGED)
    ),
    "rebuilt from staged rows": Case(
        lambda: told(A, B, stored=base(A, B), rows=log(*MERGED), becomes=base(A, B).columns, rows_of_base=6),
        lambda warehouse, plan: count_rebuilt(warehouse, rebuild_from(warehouse, plan, STAGED)),
    ),
    "purge": Case(
        lambda: told(A, B, stored=base(A, B), rows=log(*MERGED)), lambda warehouse, plan: purge(warehouse, plan, days=30)
    ),
    "captured": Case(captured, keys=()),
    "plain": Case(plain, settings=PLAIN, keys=()),
    "plain by appends": Case(plain_by_appends, settings=PLAIN, keys=()),
    "plain by the column that it came": Case(
        plain, settings=replace(PLAIN, rules=TableRules(landed_column="seen")), keys=()
    ),
    "from a copy in a time zone": Case(
        copied_by_zone, lambda warehouse, plan: merge_snapshot(warehouse, plan, COPY), settings=BERLIN
    ),
    "made anew after a purge": Case(lambda: told(A, rows=log(entry("merge", 5, "a"), floor=FLOOR))),
    "without a log": Case(lambda: told(A, stored=base(A))),
    "of two columns from a copy": Case(
        lambda: told(A, stored=base(A, keys=("id", "name")), rows=log(entry("merge", 5, "a", keys='["id", "name"]'))),
        lambda warehouse, plan: merge_snapshot(warehouse, plan, COPY),
        keys=("id", "name"),
    ),
}


def shortened(text: str) -> str:
    """Return a script whose expressions of positions, each a page long, are replaced by their names."""
    landed = [(one.id, one.schema) for one in (A, B, LATER, FLAG, TEXT)]
    landed += [("one", Schema(ONE.columns)), ("two", Schema(TWO.columns))]
    named = {position_of("v", one, source_columns(one)): f"POSITION OF {name}" for name, one in landed}
    named |= {packed_sql(f"w.{POSITION}"): "PACKED", unpacked_sql(f"b.{PACKED}"): "UNPACKED"}
    for long, name in named.items():
        text = text.replace(long, name)
    return text


@pytest.mark.parametrize("name", CASES)
def test_the_script_of_a_merge_equals_its_golden_file(name: str) -> None:
    path = GOLDEN / f"{name.replace(' ', '_')}.sql"
    text = shortened(";\n\n".join(CASES[name].run()[0].script) + ";\n")
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


SHOWN = ("first", "next", "new column", "converted", "rebuilt", "of an earlier release", "from a copy", "plain")


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_merge_would_run_is_shown_as_its_golden_file(name: str) -> None:
    path = GOLDEN / "shown" / f"{name.replace(' ', '_')}.sql"
    text = shortened(";\n\n".join(CASES[name].shown()) + ";\n")
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["first", "next", "new column", "of an earlier release", "plain"])
def test_what_is_shown_is_what_runs_but_for_the_rows_of_the_log(name: str) -> None:
    shown = [re.sub(r"^--.*\n", "", text) for text in CASES[name].shown()]
    ran = [text.removeprefix("-- run\n") for text in CASES[name].run()[0].script if text.startswith("-- run\n")]
    log_ = "customer_merges`"
    assert [text for text in ran if text in shown or log_ not in text.partition("\n")[0]] == shown


@pytest.mark.parametrize("name", CASES)
def test_showing_writes_nothing(name: str) -> None:
    warehouse = CASES[name].warehouse()
    before = dict(warehouse.tables)
    Case(lambda: warehouse, settings=CASES[name].settings, keys=CASES[name].keys, rebuild=CASES[name].rebuild).shown()
    assert warehouse.tables == before
    assert not any(text.startswith("-- run") for text in warehouse.script)


READ = MergeCounts(9, 7, 5, 3, 2, 1, 2, 3, 4, "binlog.12/3")


@pytest.mark.parametrize(
    ("name", "brought_up", "counts"),
    [
        ("first", "created", READ),
        ("next", None, READ),
        ("new column", "extended", READ),
        ("converted", "converted", READ),
        ("rebuilt", "rebuilt", READ),
        ("rebuilt for another type", "rebuilt", READ),
        ("of an earlier release", None, READ),
        ("of an earlier release with another type", "converted", READ),
        ("from a copy", None, READ),
        ("staged rows", None, MergeCounts(8, 0, 5, 3, 2, 1)),
        ("a part of the rows staged", None, MergeCounts(0, 0, 5, 3, 2)),
        ("rebuilt from staged rows", None, MergeCounts(written=6, inserted=6)),
        ("purge", None, 5),
        ("captured", "created", READ),
        ("plain", None, READ),
        ("plain by appends", None, READ),
        ("plain by the column that it came", None, READ),
        ("from a copy in a time zone", None, READ),
        ("made anew after a purge", "created", READ),
        ("without a log", None, READ),
        ("of two columns from a copy", None, READ),
    ],
)
def test_a_merge_tells_what_it_did_to_the_base_and_what_it_counted(
    name: str, brought_up: str | None, counts: object
) -> None:
    _, plan, found = CASES[name].run()
    assert (plan.brought_up, found) == (brought_up, counts)
    if found == READ:
        assert isinstance(found, MergeCounts)
        assert found.bytes == 1_000
