"""The key of a table: named by people, declared by its tables or told by its rows; and which plain tables a dataset has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.tenants import ONE
from support.told_merges import NOW, TABLE, A, base, entry, log, port, told
from support.told_warehouse import CREATED, ToldWarehouse

from onefold.core.errors import InvalidInput, NothingToMerge
from onefold.core.names import TableId
from onefold.core.united_names import UnitedNames, UnitedTable
from onefold.merge.change_tables import ChangeTable
from onefold.merge.merge_state import MergeState
from onefold.merge.plain import declared_key, declared_tables, found_plain
from onefold.merge.plan import keys_of, plan_merge
from onefold.ports.warehouse import StoredTable
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version
from onefold.settings.environment import Settings

TENANT = ("source_name", "database_name")
PLAIN = Settings(plain={"shop.customer": PlainTable("changes", "shop")})
NAMED = Settings(rules=TableRules(keys=("ID",)))
UNITED = Settings(
    rules=TableRules(version_column="dataset", of_united=True),
    names=UnitedNames(tables={"customer": UnitedTable("tenant_*", "customer", into="shop", dataset_column="dataset")}),
)


def captured(primary_key: str) -> ToldWarehouse:
    found = told(Version(ONE.version, ONE.columns, CREATED))
    row = {"source_name": "eu", "database_name": "a", "primary_key": primary_key, "_position": "1"}
    found.answers.insert(0, ("AS primary_key", [row]))
    return found


def of_plain(*key: str) -> ToldWarehouse:
    found = told()
    found.tables[TABLE] = StoredTable(A.columns, CREATED, primary_key=key)
    return found


def with_base(*keys: str) -> MergeState:
    return MergeState(now=NOW, keys=keys)


@pytest.mark.parametrize(
    ("warehouse", "settings", "state", "keys", "has_base", "found"),
    [
        (told(A), Settings(), MergeState(), ("id",), False, ("id",)),
        (told(A), NAMED, MergeState(), (), False, ("ID",)),
        (told(A), NAMED, MergeState(), ("id",), False, ("id",)),
        (told(A), UNITED, MergeState(), ("id",), False, ("dataset", "id")),
        (told(A), Settings(), with_base("id"), (), True, ("id",)),
        (told(A), Settings(), with_base("id"), ("name",), False, ("name",)),
        (of_plain("id"), PLAIN, MergeState(), (), False, ("id",)),
        (captured('["id"]'), Settings(), MergeState(), (), False, (*TENANT, "id")),
        (captured('["code"]'), Settings(), with_base(*TENANT, "id"), (), False, (*TENANT, "code")),
        (captured('["id"]'), Settings(), with_base(*TENANT, "ID"), (), True, (*TENANT, "ID")),
    ],
    ids=[
        "named for this merge",
        "named in onefold.yaml",
        "named in both",
        "named of a united table",
        "the base has it",
        "the base of the log is gone",
        "a plain table declares it",
        "rows name it",
        "rows name another one than a base that is gone",
        "rows name that of the base",
    ],
)
def test_the_key_is_that_of_people_then_of_the_tables_then_of_the_log(
    warehouse: ToldWarehouse,
    settings: Settings,
    state: MergeState,
    keys: tuple[str, ...],
    has_base: bool,
    found: tuple[str, ...],
) -> None:
    assert keys_of(port(warehouse), TABLE, settings, state, keys, has_base=has_base) == found


def test_keys_that_a_base_was_not_made_with_and_tables_that_are_not_there_are_errors() -> None:
    with pytest.raises(InvalidInput, match=f"or drop {TABLE}_base to start again"):
        keys_of(port(told(A)), TABLE, Settings(), with_base("id"), ("name",), has_base=True)
    with pytest.raises(NothingToMerge, match=f"a change table {TABLE} nor a version"):
        keys_of(port(told()), TABLE, Settings(), MergeState(), has_base=False)
    retired = Settings(rules=TableRules(retired=frozenset({"a"})))
    with pytest.raises(NothingToMerge, match=f"all versions of {TABLE} are retired"):
        keys_of(port(told(A)), TABLE, retired, MergeState(), has_base=False)


def test_a_captured_base_keeps_its_key_in_a_plan_too() -> None:
    warehouse = captured('["id"]')
    keys = (*TENANT, "ID")
    row = entry("merge", 5, ONE.version, keys='["source_name", "database_name", "ID"]')
    made = base(Version(ONE.version, ONE.columns), keys=keys)
    other = told(Version(ONE.version, ONE.columns, CREATED), stored=made, rows=log(row))
    other.answers.insert(0, warehouse.answers[0])
    other.answers.insert(0, ("WHERE v.`_landed_at`", []))
    other.answers.insert(0, ("AS `then`", [{"version": ONE.version, "now": 40, "then": None}]))
    assert plan_merge(port(other), TABLE, Settings()).base.keys == (*TENANT, "id")


ORDERS, LATER = (TableId("my-project", f"tenant_{name}", "customer") for name in ("a", "b"))


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ({ORDERS: ("id",), LATER: ("ID",)}, ("dataset", "id")),
        ({ORDERS: ("id",), LATER: ("id", "name")}, ()),
        ({ORDERS: ("id",), LATER: ()}, ()),
        ({ORDERS: ("id",)}, ()),
    ],
    ids=["all declare it", "one declares another", "one declares none", "one is gone"],
)
def test_the_tables_of_a_united_one_have_to_declare_one_key(
    declared: dict[TableId, tuple[str, ...]], key: tuple[str, ...]
) -> None:
    tables = {id_: StoredTable((), CREATED, primary_key=one) for id_, one in declared.items()}
    changes = [ChangeTable(id_, Version(str(id_.dataset), ())) for id_ in (ORDERS, LATER)]
    assert declared_key(port(ToldWarehouse(tables)), TABLE, UNITED, changes) == key
    assert declared_key(port(ToldWarehouse(tables)), TABLE, Settings(), changes) == ()


def test_the_key_of_a_plain_table_is_what_it_declares_and_none_where_it_is_gone() -> None:
    assert declared_key(port(of_plain("id")), TABLE, PLAIN) == ("id",)
    assert declared_key(port(told()), TABLE, PLAIN) == ()


DECLARED = Settings(
    tables={
        "shop.keyed": TableRules(keys=("id",)),
        "tool": TableRules(tool="airbyte", rows="history"),
        "elsewhere.far": TableRules(keys=("id",)),
        "shop.silent": TableRules(),
    }
)


def test_onefold_yaml_declares_tables_of_one_dataset_or_of_all() -> None:
    assert declared_tables(DECLARED, "shop") == {"keyed", "tool"}
    assert declared_tables(DECLARED, "elsewhere") == {"far", "tool"}
    assert declared_tables(DECLARED, "shop", by_tool=True) == {"tool"}


CHANGES = parse_type("STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING, "
                     "sort_keys ARRAY<STRING>>")  # fmt: skip


def test_plain_tables_have_their_base_in_a_dataset_of_their_own_unless_it_is_beside_them_already() -> None:
    labels: dict[str, dict[str, str]] = {one: {} for one in ("orders", "old", "keyed", "tool", "notes", "customer_v_a")}
    asked: list[set[str]] = []

    def beside(names: object) -> frozenset[str]:
        asked.append({*names})  # type: ignore[misc]
        return frozenset({"old"})

    types = {"orders": CHANGES, "old": CHANGES, "customer_v_a": CHANGES}
    found = found_plain("shop", DECLARED, labels, types, beside)
    assert found == {
        "orders": PlainTable("changes", "shop__onefold"),
        "old": PlainTable("changes", "shop"),
        "keyed": PlainTable("direct", "shop__onefold"),
        "tool": PlainTable("tool", "shop__onefold"),
    }
    assert asked == [{*found}]


def test_nothing_is_looked_for_where_there_is_no_plain_table_or_bases_are_beside_them_anyway() -> None:
    def beside(_: object) -> frozenset[str]:
        raise AssertionError("asked")

    assert found_plain("shop", Settings(), {"notes": {}}, {}, beside) == {}
    same = replace(Settings(), plain_dataset="{dataset}")
    assert found_plain("shop", same, {"orders": {}}, {"orders": CHANGES}, beside) == {
        "orders": PlainTable("changes", "shop")
    }
