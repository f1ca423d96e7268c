"""Workloads on a real server: what the log holds is what the workload says that it did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.core.errors import InvalidInput, Rejected
from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.workload.columns import first_columns
from onefold.mysql.workload.plan import Row, SourceOptions, WorkloadTransaction, WriterPlan
from onefold.mysql.workload.run import SourceRun, SourceWorkload

MIXED = SourceOptions(operations=200, key_changes=0.3, versions=2, writers=3)
FEW = SourceOptions(operations=40, every_type=False)


def workload(source: SourceDatabase, options: SourceOptions) -> SourceWorkload:
    return SourceWorkload(source.server.address, source.name, "account", options)


def plan(options: SourceOptions, number: int = 0) -> list[WorkloadTransaction]:
    columns = first_columns(options.every_type)
    return list(WriterPlan(options, number, 0, "`t`", columns, {}).transactions(options.operations))


def keys_of(transactions: list[WorkloadTransaction]) -> set[int]:
    return {key for one in transactions for operation in one.operations for key in operation.effects}


def rows_after(changes: list[RowsChanged]) -> list[Row]:
    """The table that changes of the log leave, as BigQuery has to show it, in the columns of the last structure."""
    rows: dict[Any, Row] = {}
    for change in changes:
        names = [column.name for column in change.structure.columns]
        for before in change.before:
            rows.pop(before[0])
        rows.update({after[0]: dict(zip(names, after, strict=True)) for after in change.after})
    columns = dict.fromkeys(name for row in rows.values() for name in row)
    return [{**columns, **rows[key]} for key in sorted(rows)]


def meant(rows: list[Row]) -> list[Row]:
    """Rows with documents of JSON in place of their texts, which MySQL writes with other blanks."""
    return [{**row, "v_json": row["v_json"] and json.loads(row["v_json"])} for row in rows]


@on(MariaDb, MySql)
def test_the_log_holds_the_committed_operations_and_leads_to_the_truth(source: SourceDatabase) -> None:
    done = workload(source, MIXED).run()
    changes = source.changes()
    assert meant(rows_after(changes)) == meant(done.truth)
    assert sum(max(len(one.before), len(one.after)) for one in changes) == sum(done.counts.values()) == 200
    assert min(*done.counts.values(), done.undone) > 0


def test_a_workload_goes_on_where_the_last_one_ended(source: SourceDatabase) -> None:
    first = workload(source, FEW).run()
    second = workload(source, FEW).run(first.truth)
    assert rows_after(source.changes()) == second.truth


def test_rows_that_another_program_wrote_are_no_truth(source: SourceDatabase) -> None:
    done = workload(source, FEW).run()
    source.run("INSERT INTO account (id) VALUES (4711)")
    with pytest.raises(Rejected, match="1 are unknown or gone: it is not the table of this truth"):
        workload(source, FEW).run(done.truth)


def test_what_was_committed_before_an_error_is_kept(source: SourceDatabase) -> None:
    done = workload(source, SourceOptions(operations=20, mix=(100, 0, 0), every_type=False)).run()
    source.run(
        "CREATE TRIGGER no_deletion BEFORE DELETE ON account FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'"
    )
    kept: list[SourceRun] = []
    with pytest.raises(Rejected, match=r"account at .* cannot be written: .*no"):
        workload(source, SourceOptions(operations=400, every_type=False)).run(done.truth, kept.append)
    assert [(row["id"], row["amount"]) for row in kept[0].truth] == source.rows("SELECT id, amount FROM account ORDER BY id")


def test_a_table_that_is_not_there_cannot_be_gone_on_with(source: SourceDatabase) -> None:
    with pytest.raises(InvalidInput, match="does not exist: leave --continue out"):
        workload(source, FEW).run([])


def test_the_same_seed_gives_the_same_operations() -> None:
    assert plan(MIXED) == plan(MIXED)
    assert plan(MIXED) != plan(SourceOptions(operations=200, key_changes=0.3, seed=8, writers=3))


def test_writers_share_no_key() -> None:
    assert not keys_of(plan(MIXED, 0)) & keys_of(plan(MIXED, 1))


def test_a_deleted_key_is_inserted_again() -> None:
    deleted: set[int] = set()
    again: set[int] = set()
    for operation in (operation for one in plan(MIXED) for operation in one.operations):
        again |= {key for key, row in operation.effects.items() if row and key in deleted}
        deleted |= {key for key, row in operation.effects.items() if row is None}
    assert again


def test_every_update_changes_a_value() -> None:
    rows: dict[int, Row | None] = {}
    for operation in (operation for one in plan(FEW) for operation in one.operations):
        assert all(rows.get(key) != row for key, row in operation.effects.items())
        rows.update(operation.effects)


def test_all_problems_of_the_options_are_reported() -> None:
    wrong = SourceOptions(operations=0, mix=(50, 50, 50), key_changes=2, writers=0)
    with pytest.raises(InvalidInput) as refused:
        wrong.check()
    assert len(refused.value.problems) == 4
