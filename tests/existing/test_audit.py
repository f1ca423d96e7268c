"""What an audit finds by metadata, what it costs, and that one table never stops the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.described_dataset import DescribedDataset
from support.existing_tables import DOCUMENTED, SOURCE, Documented, schema

from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.existing.audit.finding import NOT_CHECKED
from onefold.existing.audit.markdown import report
from onefold.existing.audit.metadata_checks import BEHIND, LARGE, STOPPED
from onefold.existing.audit.row_checks import row_checks
from onefold.existing.audit.run import Audited, plan_audit, run_audit
from onefold.existing.discover import DatasetTables, discover
from onefold.existing.table import ExistingTable
from onefold.schema.diff import Severity

NOW = datetime(2026, 1, 31, tzinfo=UTC)
LIVE = ExistingTable("orders", schema({**SOURCE, "_fivetran_synced": "TIMESTAMP"}), ("id",))
SOFT = replace(LIVE, columns=schema({**SOURCE, "_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"}))
HISTORY = ExistingTable("log", schema({**SOURCE, "_dlt_id": "STRING", "_dlt_load_id": "STRING"}), ("id",))


def audited(*tables: ExistingTable, answer: Any = None) -> dict[str, Audited]:
    warehouse = DescribedDataset(list(tables), answer or nothing_found)
    found = discover(DatasetTables(TableId("p", "shop", ""), {one.name: one for one in tables}))
    return {one.one.id.table: one for one in run_audit(warehouse, plan_audit(warehouse, found))}


def nothing_found(_: str) -> list[dict[str, Any]]:
    return [{f"c{number}": 0 for number in range(10)}]


def kinds(one: Audited) -> dict[str, Severity]:
    return {finding.check: finding.severity for finding in one.findings}


def test_a_sound_table_has_no_finding() -> None:
    assert audited(SOFT)["orders"].findings == ()


def test_duplicates_are_critical_where_it_is_known_that_a_key_has_one_row() -> None:
    plain = ExistingTable("plain", schema(SOURCE), ("id",))
    found = audited(SOFT, plain, answer=lambda _: [{"c0": 1, "c1": 0}])
    assert [kinds(found[name]) for name in ("orders", "plain")] == [
        {"duplicates": Severity.CRITICAL}, {"duplicates": Severity.WARNING},
    ]  # fmt: skip


def test_the_remedy_of_duplicates_promises_no_view_without_them() -> None:
    (finding,) = audited(SOFT, answer=lambda _: [{"c0": 1, "c1": 0}])["orders"].findings
    assert "a current view shows each of these rows, too" in finding.remedy


_FLAT = {**SOURCE, "__op": "STRING", "__source_file": "STRING", "__source_pos": "INT64", "__source_ts_ms": "INT64"}


@pytest.mark.parametrize(
    ("columns", "order_by", "is_checked"),
    [
        (_FLAT, (), True),
        (_FLAT, ("__source_ts_ms",), False),
        ({name: type_ for name, type_ in _FLAT.items() if name != "__source_ts_ms"}, (), False),
        ({"op": "STRING", "after": "STRUCT<id INT64>", "source": "STRUCT<file STRING, ts_ms INT64>"}, (), True),
        ({"op": "STRING", "after": "STRUCT<id INT64>", "source": "STRUCT<lsn INT64, ts_ms INT64>"}, (), False),
    ],
)
def test_a_log_that_began_anew_is_looked_for_where_its_files_order_the_changes(
    columns: dict[str, str], order_by: tuple[str, ...], is_checked: bool
) -> None:
    table = ExistingTable("orders", schema(columns), ("id",), order_by=order_by)
    (one,) = discover(DatasetTables(TableId("p", "shop", ""), {"orders": table}))
    assert ("another log" in [check.name for check in row_checks(one)]) == is_checked


def test_a_table_without_a_key_has_a_finding_that_says_what_to_write() -> None:
    (finding,) = audited(replace(LIVE, key=()))["orders"].findings
    assert (finding.check, "tables: {shop.orders: {keys: [COLUMN]}}" in finding.remedy) == ("no key", True)


@pytest.mark.parametrize(
    ("size", "severity"), [(None, Severity.INFO), (LARGE - 1, Severity.INFO), (LARGE, Severity.WARNING)]
)
def test_a_history_without_a_partition_is_read_whole(size: int | None, severity: Severity) -> None:
    assert kinds(audited(replace(HISTORY, size=size))["log"]) == {"reads everything": severity}
    assert kinds(audited(replace(HISTORY, size=size, partition="_PARTITIONTIME"))["log"]) == {}


@pytest.mark.parametrize(
    ("late", "found"),
    [
        (BEHIND - timedelta(seconds=1), {}),
        (BEHIND, {"behind": Severity.INFO}),
        (STOPPED, {"stopped": Severity.WARNING}),
    ],
)
def test_a_table_is_behind_or_has_stopped_if_its_tool_wrote_another_one_since(
    late: timedelta, found: dict[str, Severity]
) -> None:
    old, new = replace(LIVE, written_at=NOW - late), replace(LIVE, name="new", written_at=NOW)
    assert {name: kinds(one) for name, one in audited(old, new).items()} == {"orders": found, "new": {}}


def test_tables_of_another_tool_do_not_tell_that_a_table_is_behind() -> None:
    other = replace(HISTORY, written_at=NOW, partition="_PARTITIONTIME")
    assert audited(replace(LIVE, written_at=NOW - STOPPED), other)["orders"].findings == ()


def test_a_table_that_cannot_be_checked_stops_no_other_one() -> None:
    def answer(sql: str) -> list[dict[str, Any]]:
        if "`p.shop.bad`" in sql:
            raise Rejected("no\nright")
        return [{"c0": 2, "c1": 0}]

    found = audited(replace(SOFT, name="bad"), SOFT, answer=answer)
    (finding,) = found["bad"].findings
    assert (finding.check, finding.text) == (NOT_CHECKED, "its rows were not checked: no right")
    assert kinds(found["orders"]) == {"duplicates": Severity.CRITICAL}


def test_a_key_by_which_nothing_can_be_grouped_is_named_before_anything_runs() -> None:
    columns = schema({"id": "FLOAT64", "_fivetran_synced": "TIMESTAMP"})
    (finding,) = audited(replace(LIVE, columns=columns))["orders"].findings
    assert "the key id is FLOAT64" in finding.text


def test_the_bytes_of_all_checks_are_known_before_one_runs() -> None:
    warehouse = DescribedDataset([SOFT, HISTORY])
    planned = plan_audit(warehouse, discover(DatasetTables(TableId("p", "shop", ""), {"orders": SOFT, "log": HISTORY})))
    assert warehouse.calls == ["estimate", "estimate"]
    assert all(one.size > 0 for one in planned)


@given(st.sampled_from(DOCUMENTED))
def test_the_counts_read_no_column_that_tells_them_nothing(one: Documented) -> None:
    """BigQuery bills columns: a digest of whole rows would have a check read all of them."""
    found = discover(DatasetTables(TableId("p", "shop", ""), {one.name: one.table({"large": "STRING"})}))
    counts = [check.count for audit in plan_audit(DescribedDataset([]), found) for check in audit.checks]
    assert not [count for count in counts if "large" in count or "SHA256" in count]


def test_what_tools_keep_for_themselves_is_not_audited() -> None:
    assert audited(ExistingTable("_dlt_loads", schema({"load_id": "STRING"}))) == {}


@given(st.sampled_from(DOCUMENTED))
def test_every_documented_table_is_audited_by_one_query(one: Documented) -> None:
    warehouse = DescribedDataset([], nothing_found)
    planned = plan_audit(warehouse, discover(DatasetTables(TableId("p", "shop", ""), {one.name: one.table()})))
    names = [check.name for audit in planned for check in audit.checks]
    assert len(names) == len(set(names))
    run_audit(warehouse, planned)
    assert warehouse.calls.count("query") == (1 if names else 0)


def test_the_report_begins_with_the_worst_table_and_no_name_breaks_it() -> None:
    odd = replace(LIVE, name="a|b", key=())
    bad = replace(SOFT, name="worse")
    found = audited(odd, bad, answer=lambda _: [{"c0": 1, "c1": 0}])
    lines = report("shop", list(found.values()), 1_500_000).splitlines()
    assert "1.5 MB were read, and nothing was changed." in lines[2]
    rows = [line for line in lines if line.startswith("| ")][1:]
    assert [row.replace("\\|", "").count("|") for row in rows] == [5, 5]
    assert "worse" in rows[0]
