"""The windows of a current view over versions: each version in its own, and no row is lost whatever was merged."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.changelogs import METADATA_TYPE, change, oracle, position_of
from support.columns import columns
from support.dry_run import PricedTable, dry_run
from support.oracle import digest_of, source_row
from support.typed_values import literal
from support.views import forced, inlined
from support.zetasql_judge import Judge, literals

from onefold.changelog.metadata import DELETIONS, LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.merge.base_table import base_of
from onefold.merge.change_tables import ChangeTable
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.merge.merge_state import MergeState
from onefold.merge.plan import make_plan
from onefold.ports.warehouse import StoredTable
from onefold.refresh.built_view import BuiltView, Form
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version
from onefold.views.current_text import CurrentText
from onefold.views.unified_view import build_view
from onefold.views.windows import windows_by_day

TABLE = TableId("my-project", "shop", "customer")
VIEW = TABLE.sibling("customer_current")
MADE = datetime(2024, 5, 1, tzinfo=UTC)
NOON = MADE + timedelta(days=2, hours=12)
OVERLAP = timedelta(hours=1)
RULES = TableRules(overlap_minutes=60)
LANDED = {"id": "INT64", "name": "STRING", METADATA: METADATA_TYPE, LANDED_AT: "TIMESTAMP"}
COLUMNS = columns(**LANDED)
BASE = base_of(TABLE, COLUMNS, ["id"])
STORED = StoredTable(BASE.stored, MADE)
VERSIONS = tuple(Version(id_, COLUMNS, MADE) for id_ in ("a1", "b2", "c3"))

Starts = Mapping[str, datetime]


def current(starts: Starts, versions: Sequence[Version] = VERSIONS, *, copied: bool = False) -> CurrentText:
    """The text over a base into which these versions were last merged at these times."""
    changes = [ChangeTable(TABLE.sibling(f"customer_v_{one.id}"), one) for one in versions]
    plan = make_plan(TABLE, RULES, ["id"], STORED, MergeState(NOON, starts), changes, NOON)
    return CurrentText(("id",), COLUMNS, plan, copied=copied)


def changes_read(starts: Starts, versions: Sequence[Version] = VERSIONS, *, copied: bool = False) -> BuiltView:
    windows = current(starts, versions, copied=copied).windows
    return build_view(VIEW, TABLE, versions, RULES, former=COLUMNS, windows=windows)


def filters(query: str) -> list[str]:
    """The day from which each table of a text is read, in their order; `all` for a table that is read whole."""
    parts = query.split("FROM `")[1:]
    return [part.partition(">= TIMESTAMP '")[2][:19] or "all" for part in parts]


@pytest.mark.parametrize("form", ["spelled", "compact"])
def test_a_version_that_no_merge_has_read_leaves_the_filters_of_the_others(form: Form) -> None:
    with forced(form):
        query = changes_read({"a1": NOON, "c3": NOON + timedelta(days=1)}).query
    assert filters(query) == ["2024-05-03 00:00:00", "all", "2024-05-04 00:00:00"]


def test_a_version_that_was_made_after_its_last_merge_is_read_whole() -> None:
    made_again = Version("b2", COLUMNS, NOON + timedelta(minutes=1))
    query = changes_read({"a1": NOON, "b2": NOON}, [VERSIONS[0], made_again]).query
    assert filters(query) == ["2024-05-03 00:00:00", "all"]


@pytest.mark.parametrize("type_", [None, "STRING"])
def test_a_version_whose_rows_tell_no_time_of_landing_leaves_the_filters_of_the_others(type_: str | None) -> None:
    landed = {**LANDED, LANDED_AT: type_}
    other = Version("b2", tuple(Column(name, parse_type(one)) for name, one in landed.items() if one), MADE)
    query = changes_read({"a1": NOON, "b2": NOON}, [VERSIONS[0], other]).query
    assert filters(query) == ["2024-05-03 00:00:00", "all"]


def test_merges_of_one_day_leave_the_text_as_it_is() -> None:
    first, second, last = (NOON.replace(hour=1), NOON, NOON.replace(hour=23, minute=59))
    texts = {changes_read({one.id: start for one in VERSIONS}).query for start in (first, second, last)}
    assert len(texts) == 1
    assert changes_read({one.id: first - timedelta(minutes=1) for one in VERSIONS}).query not in texts, "less the overlap"


def test_a_leaf_is_read_from_the_earliest_day_of_its_versions_and_its_name_stays() -> None:
    starts = {"a1": NOON, "b2": NOON + timedelta(days=1)}
    with forced("two-level"):
        merged, later = changes_read(starts), changes_read({**starts, "c3": NOON + timedelta(days=3)})
        history = changes_read({})
    assert filters(merged.query) == ["2024-05-03 00:00:00", "all"]
    assert filters(later.query) == ["2024-05-03 00:00:00", "2024-05-06 00:00:00"]
    assert merged.leaves == later.leaves == history.leaves


def test_a_leaf_is_read_whole_while_one_of_its_versions_is_not_merged() -> None:
    with forced("two-level"):
        assert filters(changes_read({"a1": NOON, "c3": NOON}).query) == ["all", "2024-05-03 00:00:00"]


def test_a_text_over_a_copy_reads_all_changes() -> None:
    assert filters(changes_read({one.id: NOON for one in VERSIONS}, copied=True).query) == ["all"] * 3


def test_a_new_version_costs_a_reader_what_it_holds_and_not_the_history(judge: Judge) -> None:
    """A million rows landed in each version on each of 90 days; the new one is a day old, and its times are not read."""
    days = {MADE - timedelta(days=day - 2): 1e6 for day in range(90)}
    new = {NOON.replace(hour=0): 1e6}
    sizes = {name: (type_, 10.0) for name, type_ in LANDED.items()}
    tables = {str(BASE.id): _priced(BASE.stored, 1e6), str(BASE.log): _priced(LOG_COLUMNS, 30)}
    for id_, landed in (("a1", days), ("b2", days), ("c3", new)):
        name = str(TABLE.sibling(f"customer_v_{id_}"))
        tables[name] = PricedTable(sizes, sum(landed.values()), partition=LANDED_AT, days=landed)
    merged = {"a1": NOON, "b2": NOON}
    before = _bytes_read(judge, tables, merged, VERSIONS[:2])
    assert _bytes_read(judge, tables, merged, VERSIONS) - before == 1e6 * 10 * (len(LANDED) - 1)
    assert _bytes_read(judge, tables, {}, VERSIONS) > 20 * before


def _bytes_read(judge: Judge, tables: Mapping[str, PricedTable], starts: Starts, versions: Sequence[Version]) -> float:
    query = current(starts, versions).around(changes_read(starts, versions).query)
    return dry_run(judge, query, tables)


def _priced(columns: Sequence[Column], rows: float) -> PricedTable:
    return PricedTable({one.name: (str(one.type), 1.0) for one in columns}, rows)


instants = st.integers(0, 5 * 24).map(lambda hours: MADE + timedelta(hours=hours))
rows = st.fixed_dictionaries(
    {
        "version": st.sampled_from([one.id for one in VERSIONS]),
        "kind": st.sampled_from(["INSERT", "UPDATE-INSERT", "DELETE"]),
        "sequence": st.sampled_from(["1", "2", "3", "A"]),
        "id": st.sampled_from([None, 0, 1, 2]),
        "name": st.sampled_from([None, "x", "y"]),
        "landed": st.one_of(st.none(), instants),
        "late": st.booleans(),
    }
)
merges = st.dictionaries(st.sampled_from([one.id for one in VERSIONS]), instants)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=st.lists(rows, max_size=8), starts=merges, form=st.sampled_from(["spelled", "compact", "two-level"]))
def test_versions_that_were_merged_at_different_times_are_one_table(
    judge: Judge, drawn: list[dict[str, Any]], starts: Starts, form: Form
) -> None:
    """A merge has read what had landed before it began. Late rows became visible within the overlap after that."""
    log = [(row, _change(row)) for row in drawn]
    merged = [one for row, one in log if _was_merged(row, starts.get(row["version"]))]
    with forced(form):
        view = changes_read(starts)
    query = current(starts).around(inlined(view))
    names = {one.id: str(TABLE.sibling(f"customer_v_{one.id}")) for one in VERSIONS}
    tables = {**{name: list(LANDED.items()) for name in names.values()}, **_base_tables()}
    content = {
        names[id_]: literals(list(LANDED.items()), [_cells(row, one) for row, one in group])
        for id_, group in _by_version(log)
    }
    if merged:
        content[str(BASE.id)] = literals(tables[str(BASE.id)], [_base_row(one) for one in _latest(merged)])
    expected = sorted(((one["id"], one["name"]) for one in oracle([one for _, one in log], ["id"])), key=repr)
    assert sorted(judge.rows(query, tables, content), key=repr) == expected


def _change(row: dict[str, Any]) -> dict[str, Any]:
    one = change(row["kind"], row["sequence"], id=row["id"], name=row["name"])
    one[METADATA]["uuid"] = digest_of(source_row(one))  # of two contents at one position a view may show either
    return one


def _was_merged(row: dict[str, Any], start: datetime | None) -> bool:
    if start is None or row["landed"] is None or row["landed"] >= start:
        return False
    return not row["late"] or row["landed"] < start - OVERLAP


def _by_version(log: Sequence[tuple[dict[str, Any], Any]]) -> list[tuple[str, list[tuple[dict[str, Any], Any]]]]:
    ordered = sorted(log, key=lambda pair: pair[0]["version"])
    return [(id_, list(group)) for id_, group in itertools.groupby(ordered, key=lambda pair: pair[0]["version"])]


def _latest(changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({one["id"]: one for one in sorted(changes, key=position_of)}.values())


def _base_tables() -> dict[str, list[tuple[str, str]]]:
    stored = {BASE.id: BASE.stored, BASE.log: LOG_COLUMNS}
    return {str(id_): [(column.name, str(column.type)) for column in columns] for id_, columns in stored.items()}


def _base_row(one: dict[str, Any]) -> list[str]:
    deleted = one[METADATA]["change_type"] in DELETIONS
    return [_cell(one["id"]), "NULL" if deleted else _cell(one["name"]), _cell(position_of(one)), str(deleted)]


def _cells(row: dict[str, Any], one: dict[str, Any]) -> list[str]:
    landed = f"TIMESTAMP '{row['landed']:%Y-%m-%d %H:%M:%S}+00'" if row["landed"] else "NULL"
    return [_cell(one["id"]), _cell(one["name"]), literal(one[METADATA], parse_type(METADATA_TYPE)), landed]


def _cell(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def test_a_leaf_whose_times_of_landing_are_text_in_the_view_is_read_whole() -> None:
    """Text cannot be compared with a time."""
    landed = {**LANDED, LANDED_AT: "STRING"}
    other = Version("b2", tuple(Column(name, parse_type(one)) for name, one in landed.items()), MADE)
    with forced("two-level", per_leaf=1):
        view = build_view(VIEW, TABLE, [VERSIONS[0], other], RULES, windows=windows_by_day(read_since(VERSIONS[0])))
    assert filters(view.query) == ["all", "all"]


def read_since(version: Version) -> list[ChangeTable]:
    return [ChangeTable(TABLE.sibling(f"customer_v_{version.id}"), version, NOON)]
