"""Real schema histories through the function: the ledger lists each change once, whatever becomes of the messages.

The function is called by messages that come twice, is killed after the rows are in the ledger and before the view is
written, and runs twice at the same time. The oracle is the history itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.contract_views import contracts
from support.functions import RefreshView
from support.ledgers import Dying, StoredLedger
from support.merge_shop import Shop
from support.schema_histories import FOLDER, Table, chosen, demo_table, tables_of_projects
from support.sweeps import sweep
from support.turns import at_once

from onefold.changelog.metadata import LANDED_AT
from onefold.changes.ledger import Ledger
from onefold.schema.table_rules import TableRules

_MOST = 12
"""Versions of a table that are replayed: the emulator takes seconds for each view over many."""


def histories() -> Iterator[Any]:
    """The demo's history in `make test`, and real ones in `make test-long`."""
    yield from sweep({"demo": demo_table()})
    projects = tables_of_projects()
    if not projects:
        skip = pytest.mark.skip(reason=f"no histories: {FOLDER} is absent")
        yield pytest.param(None, marks=[skip, pytest.mark.outside, pytest.mark.long], id="real histories")
    for project, tables in projects.items():
        for table in chosen(tables):
            yield pytest.param(table, marks=[pytest.mark.outside, pytest.mark.long], id=f"{project}.{table['table']}")


def columns_of(version: Mapping[str, Any]) -> dict[str, str]:
    named = {column["name"]: column["type"].partition("(")[0] for column in version["columns"]}
    return {**named, LANDED_AT: "TIMESTAMP"}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[tuple[str, str]]:
    """What the history says of two versions: columns that are more, less, and of another type. Case makes no difference."""
    old, new = ({name.lower(): type_ for name, type_ in columns.items()} for columns in (before, after))
    return {
        *(("added", name) for name in new.keys() - old.keys()),
        *(("removed", name) for name in old.keys() - new.keys()),
        *(("retyped", name) for name in old.keys() & new.keys() if old[name] != new[name]),
    }


class Replay:
    """The function over a dataset, its ledger, and the ways in which a message may come."""

    def __init__(self, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
        self.dataset, self.monkeypatch, self.table = dataset, monkeypatch, table
        self.stored = StoredLedger(dataset)

    def function(self, ledger: Ledger | None = None) -> RefreshView:
        by = {"rules": TableRules(overlap_minutes=0, current=False), "contracts": contracts("review", "keep")}
        return RefreshView(self.dataset, self.monkeypatch, ledger or self.stored.ledger, **by)

    def redelivered(self, version: str) -> None:
        function = self.function()
        for _ in range(3):
            function.deliver(version, self.table)
        function.deliver(None, self.table)

    def killed(self, version: str) -> None:
        dying = self.function(Ledger(Dying(self.stored.ledger, after=True), self.stored.name))
        with pytest.raises(KeyboardInterrupt):
            dying.deliver(version, self.table)
        self.function().deliver(version, self.table)

    def at_once(self, version: str) -> None:
        function = self.function()
        answers: list[int] = []

        def deliver() -> None:
            status = 500
            while status == 500:  # as Pub/Sub delivers it again
                status = function.answer(version, self.table).status_code
            answers.append(status)

        at_once(deliver, deliver)
        assert answers == [204, 204]


@pytest.mark.parametrize("table", list(histories()))
def test_the_ledger_lists_each_change_of_a_history_once(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    replay, shop = Replay(dataset, monkeypatch, table["table"]), Shop(dataset, table["table"])
    versions = [(one["version"], columns_of(one)) for one in table["versions"][:_MOST]]
    ways = itertools.cycle((replay.redelivered, replay.killed, replay.at_once))
    for id_, columns in versions:
        shop.create(id_, columns)
        next(ways)(id_)
    found = replay.stored.entries(table["table"])
    pairs = list(itertools.pairwise([("", {}), *versions]))
    assert [(one.version_before, one.version_after) for one in found] == [(old[0], new[0]) for old, new in pairs]
    for entry, (old, new) in list(zip(found, pairs, strict=True))[1:]:
        told = {(one.kind, one.path.lower()) for one in entry.operations if one.kind in ("added", "removed", "retyped")}
        assert told == changed(old[1], new[1])
    assert replay.stored.count() > len(found)
