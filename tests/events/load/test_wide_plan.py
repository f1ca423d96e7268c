"""What a table of events with wide columns needs: its columns are compared by their names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_events import MemoryTables, MemoryWarehouse

from onefold.core.errors import OnefoldError, SchemaConflict
from onefold.events.load.plan import EventTablePlan, Facts, TableAltered, Wanted
from onefold.events.load.tables import TableMigrations
from onefold.events.load.wide_plan import is_wide, models_of_columns, plan_wide_table, undescribed
from onefold.events.registry.schema_key import ModelKey
from onefold.events.registry.table_names import table_names
from onefold.ports.event_tables import Columns, EventTable, FoundTable, KnownColumns
from onefold.schema.growth import grown

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
ID = ("event_id", "STRING")
CART, PAGE = (
    ("contexts_com_acme_cart_1", "ARRAY<STRUCT<id INT64>>"),
    ("unstruct_event_com_acme_page_1", "STRUCT<url STRING>"),
)
WIDER = (CART[0], "ARRAY<STRUCT<id INT64, sku STRING>>")
OTHER = (CART[0], "ARRAY<STRUCT<id STRING>>")


def facts(found: Columns | None, *listed: Columns, planned: Columns = ()) -> Facts:
    loaded = [KnownColumns(columns, "", NOON, True) for columns in listed]
    after = [*loaded, KnownColumns(planned, "", NOON, False)] if planned else loaded
    return Facts(loaded, FoundTable(found) if found else None, after)


def plan(run: Columns, is_: Facts) -> EventTablePlan:
    return plan_wide_table(Wanted(EventTable("events", run), NOON), is_, grown)


def test_a_table_is_wide_where_a_run_or_the_table_or_a_former_run_has_wide_columns() -> None:
    plain = Wanted(EventTable("events", (ID,)), NOON)
    assert not is_wide(plain, facts((ID,), (ID,)))
    assert is_wide(Wanted(EventTable("events", (ID, CART)), NOON), facts(None))
    assert is_wide(plain, facts((ID, CART)))
    assert is_wide(plain, facts((ID,), (ID, CART)))
    assert not is_wide(Wanted(EventTable("com_acme_cart_1", (ID, CART)), NOON), facts(None))


def test_columns_of_two_schemas_with_one_base_name_are_described_by_their_own() -> None:
    first, twin = (ModelKey.parse(f"{path}/jsonschema/1") for path in ("com.acme/ad_click", "com.acme.ad/click"))
    plain, digested = (name.base for name in table_names([first, twin]).values())
    columns = [(f"contexts_{base}_1", "ARRAY<STRUCT<id INT64>>") for base in (plain, digested)]
    recovered = (f"unstruct_event_{digested}_1_recovered_1_0_1_0f0b3ce0", "STRUCT<id STRING>")
    assert models_of_columns((ID, *columns, recovered), {first, twin}) == (
        (columns[0][0], first.path), (columns[1][0], twin.path), (recovered[0], twin.path),
    )  # fmt: skip
    assert models_of_columns((ID, columns[0], CART), {first}) == ((columns[0][0], first.path),)


def test_a_column_that_the_table_lacks_comes_at_its_end_whatever_the_order_of_the_run() -> None:
    made = plan((ID, PAGE, CART), facts((ID, CART), (ID, CART)))
    assert (made.action, made.table.columns, made.added, made.is_listed) == ("change", (ID, CART, PAGE), (PAGE[0],), False)


def test_a_run_with_some_of_the_columns_needs_nothing() -> None:
    for run in ((ID,), (ID, PAGE), (ID, PAGE, CART)):
        made = plan(run, facts((ID, CART, PAGE), (ID, CART), (ID, PAGE), (ID, CART, PAGE)))
        assert (made.action, made.is_listed, made.is_news) == ("none", True, False)


def test_an_absent_table_is_created_with_the_columns_of_all_runs() -> None:
    made = plan((ID, PAGE), facts(None, (ID, CART)))
    assert (made.action, made.table.columns) == ("create", (ID, CART, PAGE))


def test_fields_are_added_and_an_older_run_takes_none_away() -> None:
    assert plan((ID, WIDER), facts((ID, CART), (ID, CART))).table.columns == (ID, WIDER)
    assert plan((ID, CART), facts((ID, WIDER), (ID, WIDER))).action == "none"


def test_a_column_that_another_loader_is_about_to_add_is_no_alteration() -> None:
    assert plan((ID, PAGE), facts((ID, CART), (ID,), planned=(ID, CART))).table.columns == (ID, CART, PAGE)


def test_a_type_that_cannot_grow_is_refused_by_name() -> None:
    with pytest.raises(SchemaConflict, match="contexts_com_acme_cart_1 is ARRAY<STRUCT<id INT64>> and cannot hold"):
        plan((ID, OTHER), facts((ID, CART), (ID, CART)))


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ((ID,), "contexts_com_acme_cart_1 ARRAY<STRUCT<id INT64>> is missing"),
        ((ID, CART, PAGE), "unstruct_event_com_acme_page_1 STRUCT<url STRING> is in the table alone"),
        ((ID, WIDER), "contexts_com_acme_cart_1: expected ARRAY<STRUCT<id INT64>>"),
    ],
)
def test_a_table_that_somebody_altered_is_left_alone(found: Columns, problem: str) -> None:
    with pytest.raises(TableAltered) as raised:
        plan((ID, CART), facts(found, (ID, CART)))
    assert problem in str(raised.value)


ADOPTED = (ID, CART)


def adopted(*run: tuple[str, str]) -> Wanted:
    table = EventTable("events", tuple(dict.fromkeys((*ADOPTED, *run))), is_adopted=True)
    return Wanted(table, NOON, (ID, *run), ADOPTED)


def migrated(tables: MemoryTables, *run: tuple[str, str]) -> EventTablePlan | OnefoldError:
    return TableMigrations(MemoryWarehouse(tables), f"run={run}").migrate([adopted(*run)])["events"]


def state(tables: MemoryTables) -> list[tuple[str, str]]:
    return list(tables.tables["events"].columns)


def test_a_table_that_was_adopted_and_is_gone_is_refused() -> None:
    found = migrated(MemoryTables(), PAGE)
    assert isinstance(found, SchemaConflict)
    assert "was adopted, and does not exist" in str(found)


def test_an_adopted_table_gets_the_columns_of_runs_behind_its_own_and_keeps_what_people_add_and_widen() -> None:
    tables = MemoryTables({"events": FoundTable(ADOPTED)})
    assert isinstance(migrated(tables, PAGE), EventTablePlan)
    assert state(tables) == [*ADOPTED, PAGE]
    mine = ("mine", "STRING")
    tables.tables["events"] = FoundTable((ID, WIDER, mine, PAGE))
    other = ("contexts_com_acme_user_1", "ARRAY<STRUCT<id INT64>>")
    assert isinstance(migrated(tables, other, CART), EventTablePlan)
    assert state(tables) == [ID, WIDER, mine, PAGE, other]
    tables.tables["events"] = FoundTable((ID, mine, PAGE))
    found = migrated(tables, CART)
    assert isinstance(found, SchemaConflict)
    assert "its column contexts_com_acme_cart_1 ARRAY<STRUCT<id INT64>> is missing" in str(found)


CART_MODEL, PAGE_MODEL, TWIN = (
    ModelKey.parse(f"{path}/jsonschema/1") for path in ("com.acme/cart", "com.acme/page", "com/acme_cart")
)


def test_columns_that_are_there_without_a_description_get_that_of_their_schema_once() -> None:
    older = ("contexts_com_acme_cart_1_0_0", CART[1])
    unknown = ("contexts_com_acme_user_1", CART[1])
    own = (PAGE[0], "Pages, as the shop knows them")
    tables = MemoryTables({"events": FoundTable((ID, older, CART, PAGE, unknown), descriptions=(own,))})
    wanted = replace(adopted(CART, PAGE), models=frozenset({CART_MODEL, PAGE_MODEL}))
    for names in ((older[0], CART[0]), ()):
        found = TableMigrations(MemoryWarehouse(tables), "run=1").migrate([wanted])["events"]
        assert isinstance(found, EventTablePlan)
        assert (found.described, undescribed(found)) == (names, (unknown[0],))
    texts = tables.tables["events"].descriptions
    assert dict(texts or ()) == {own[0]: own[1], older[0]: CART_MODEL.path, CART[0]: CART_MODEL.path}


def test_a_column_of_another_loader_that_two_schemas_share_gets_no_description() -> None:
    tables = MemoryTables({"events": FoundTable((ID, CART), descriptions=())})
    digested = (f"contexts_{table_names([CART_MODEL, TWIN])[TWIN].base}_1", CART[1])
    wanted = replace(adopted(CART, digested), models=frozenset({CART_MODEL, TWIN}))
    found = TableMigrations(MemoryWarehouse(tables), "run=1").migrate([wanted])["events"]
    assert isinstance(found, EventTablePlan)
    assert (found.described, undescribed(found)) == ((), (CART[0],))
    assert dict(found.table.descriptions) == {digested[0]: TWIN.path}


def test_a_run_that_has_its_rows_elsewhere_describes_no_column() -> None:
    tables = MemoryTables({"events": FoundTable((ID, CART), descriptions=())})
    wanted = replace(adopted(), models=frozenset({TWIN}))  # `com/acme_cart`, whose column would have the same base name
    found = TableMigrations(MemoryWarehouse(tables), "run=1").migrate([wanted])["events"]
    assert isinstance(found, EventTablePlan)
    assert (found.described, undescribed(found)) == ((), (CART[0],))


def test_a_warehouse_that_describes_no_columns_has_none_described() -> None:
    tables = MemoryTables({"events": FoundTable((ID, CART))})
    found = TableMigrations(MemoryWarehouse(tables), "run=1").migrate([replace(adopted(), models=frozenset({CART_MODEL}))])
    assert isinstance(found["events"], EventTablePlan)
    assert (found["events"].action, undescribed(found["events"])) == ("none", ())


RUNS = st.lists(
    st.lists(st.sampled_from([CART, PAGE, WIDER, ("br_name", "STRING")]), unique_by=lambda one: one[0]), min_size=1
)


@given(RUNS)
def test_runs_in_any_order_leave_the_same_columns_and_none_is_refused(runs: list[list[tuple[str, str]]]) -> None:
    def after(order: list[list[tuple[str, str]]]) -> dict[str, str]:
        found: Columns | None = None
        loaded: list[Columns] = []
        for run in order:
            found = plan((ID, *run), facts(found, *loaded)).table.columns
            loaded.append((ID, *run))
        return dict(found or ())

    assert after(runs) == after(runs[::-1])
