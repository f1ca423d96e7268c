"""A shop for merges whose warehouse is told everything: versions of `customer`, the base that they made, and the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from support.changelogs import METADATA_TYPE
from support.columns import columns
from support.told_warehouse import CREATED, ToldView, ToldWarehouse

from onefold.changelog.metadata import METADATA
from onefold.core.errors import OnefoldError
from onefold.core.names import TableId
from onefold.merge.apply import merge_changes
from onefold.merge.base_table import base_of
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.merge.migrate import prepare
from onefold.merge.plan import MergePlan
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, fold
from onefold.settings.environment import Settings

TABLE = TableId("my-project", "shop", "customer")
BASE, LOG, COPY = (TABLE.sibling(f"customer{end}") for end in ("_base", "_merges", "_copy"))
NOW = datetime(2026, 11, 26, 4, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
LANDED = {"_landed_at": "TIMESTAMP"}
FLOOR = "01 1001 0 "


def version(id_: str, **types: str) -> Version:
    return Version(id_, columns(**types, **LANDED, **{METADATA: METADATA_TYPE}), CREATED - timedelta(days=9))


A = version("a", id="INT64", name="STRING", seen="DATE")
B = version("b", id="INT64", name="STRING", seen="DATE", mail="STRING")
LATER = version("c", id="INT64", name="STRING", seen="TIMESTAMP")
FLAG, NUMBER, TEXT = (version(type_[0].lower(), id="INT64", flag=type_) for type_ in ("BOOL", "INT64", "STRING"))


def base(*versions: Version, packed: bool = True, keys: tuple[str, ...] = ("id",)) -> StoredTable:
    """Return the base that merges of these versions have made."""
    made = replace(base_of(TABLE, fold(versions, TableRules(), (), TABLE), keys), packed=packed)
    return StoredTable(made.stored, CREATED, made.clustering)


def entry(kind: str, hours_ago: int, *versions: str, **told: Any) -> dict[str, Any]:
    """Return what `state_query` finds of a row of the log."""
    found = {"finished_as": kind, "keys": '["id"]', "versions": json.dumps(versions), "base_created": CREATED}
    return {"now": None, "floor": None, "started_at": NOW - hours_ago * HOUR, "comparable": True, **found, **told}


def log(*rows: dict[str, Any], floor: str | None = None) -> list[dict[str, Any]]:
    none = dict.fromkeys(("finished_as", "keys", "versions", "base_created", "started_at"))
    return [{"now": NOW, "floor": floor, **none}, *rows]


COUNTED = {"changes": 9, "keys": 7, "below_floor": 1, "disputed": 2, "ordered_by_text": 3, "unknown_types": 4}


def told(
    *versions: Version,
    stored: StoredTable | None = None,
    rows: list[dict[str, Any]] | None = None,
    becomes: tuple[Column, ...] = (),
    rows_of_base: int = 0,
) -> ToldWarehouse:
    """Return a warehouse with versions of `customer`, and with a base and a log where there are."""
    tables = {BASE: stored} if stored else {}
    tables |= {LOG: StoredTable(LOG_COLUMNS, CREATED)} if rows else {}
    tables |= {COPY: StoredTable(columns(id="INT64", name="STRING"), NOW - HOUR)}
    landed = [{"version": one.id, "now": 40, "then": 30} for one in versions]
    answers = [
        ("AS text_example", [{**COUNTED, "text_example": f"binlog.{12:040}/{3:040}"}]),
        ("(SELECT MAX(m.floor)", rows or log()),
        ("AS `then`", landed),
        ("SELECT CURRENT_TIMESTAMP() AS now", [{"now": NOW}]),
        ("AS nulls_0", [{"nulls_0": 0, "least_0": 5, "greatest_0": 2_000, "nulls_1": 1}]),
        ("HAVING COUNT(*) > 1", [{"found": 0}]),
        ("SELECT COUNT(*) AS found FROM `", [{"found": rows_of_base}]),
        ("SELECT COUNT(*) AS found", [{"found": 0}]),
        ("AS example", [{"found": 0, "example": None}]),
    ]
    return ToldWarehouse(tables=tables, versions=versions, answers=answers, becomes=becomes)


def port(warehouse: ToldWarehouse) -> BaseWarehouse:
    return cast("BaseWarehouse", warehouse)


Act = Callable[[BaseWarehouse, MergePlan], object]


@dataclass(frozen=True)
class Refused:
    """A merge that is refused: the state, what is done after `prepare`, and the problems, in full."""

    warehouse: Callable[[], ToldWarehouse]
    error: type[OnefoldError]
    problems: tuple[str, ...]
    after: Act = merge_changes
    settings: Settings = field(default_factory=Settings)
    keys: tuple[str, ...] = ("id",)
    rebuild: bool = False

    def run(self, warehouse: ToldWarehouse) -> None:
        view = ToldView(warehouse)
        plan = prepare(port(warehouse), TABLE, self.settings, view, self.keys, rebuild=self.rebuild)
        self.after(port(warehouse), plan)

    def check(self) -> None:
        """Check that the merge is refused by this very error, with these problems and no others."""
        warehouse = self.warehouse()
        with pytest.raises(self.error) as raised:
            self.run(warehouse)
        assert type(raised.value) is self.error
        assert getattr(raised.value, "problems", (str(raised.value),)) == self.problems
