"""No contract holds a column of the key, the order, the tenant or what landing adds: another value would be another row.

Mutants of the code, each with one part of the rule less, are noticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, cast

import pytest
from support.contract_views import contracts, unified_kind
from support.told_warehouse import ToldWarehouse
from support.views import version

from onefold.changelog.declared_keys import TENANT
from onefold.changelog.metadata import DAY, LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.schema import contracts as contract_module
from onefold.schema import outcomes
from onefold.schema.columns import Column
from onefold.schema.contract_rules import Contract
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.table_rules import TableRules
from onefold.views import protected
from onefold.views.unified_kind import UnifiedKind

COLUMN = "told"
KEY_NOTE = f'-- keys: ["{COLUMN}"]\nSELECT 1'
OF_RULES = {
    "the key": TableRules(keys=(COLUMN,)),
    "the order": TableRules(order_by=(COLUMN,)),
    "the version or the dataset of a tenant": TableRules(version_column=COLUMN),
    "the time of the landing": TableRules(landed_column=COLUMN),
}
STRICT = TableRules(contract=Contract(new_columns="hide", types="keep"))
ADDED = (METADATA, LANDED_AT, DAY)


class KnowsTheKey(ToldWarehouse):
    """A warehouse whose current view remembers the key."""

    def get_view(self, id_: TableId) -> StoredView | None:
        return StoredView(id_, is_view=True, query=KEY_NOTE) if id_.table == "customer_current" else None


class DeclaresTheKey(ToldWarehouse):
    """A warehouse whose tables declare the key."""

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        return {table: (COLUMN,) for table in tables if table.table == "customer_v_b2"}


def known(warehouse: ToldWarehouse | None = None, rules: TableRules | None = None) -> UnifiedKind:
    kind = unified_kind(contracts(), rules or TableRules())
    return replace(kind, warehouse=cast(BaseWarehouse, warehouse or ToldWarehouse()))


def check_protected(module: Any) -> None:
    """Each rule of the documentation by itself."""
    versions = [version("a1", "id INT64"), version("b2", "id INT64")]

    def found(kind: UnifiedKind, query: str = "SELECT 1", columns: Sequence[Column] = (), **rules: Any) -> frozenset[str]:
        result: frozenset[str] = module.protected_columns(kind, columns, query, TableRules(**rules), versions)
        return result

    for what, rules in OF_RULES.items():
        assert module.protected_columns(known(rules=rules), (), "SELECT 1", rules, versions) == {COLUMN, *ADDED}, what
    assert found(known(), KEY_NOTE) == {COLUMN, *ADDED}
    assert found(known(KnowsTheKey())) == {COLUMN, *ADDED}
    assert found(known(DeclaresTheKey())) == {COLUMN, *ADDED}
    assert found(known()) == set(ADDED)
    tenant = version("", "source_name STRING", "database_name STRING").columns
    assert found(known(), columns=tenant) == {*TENANT, *ADDED}
    assert found(known(), columns=tenant[:1]) == set(ADDED)


def check_held(module: Any) -> None:
    """A protected column is shown, in its new type; another one is not."""
    if module.__name__ == outcomes.__name__:
        change = SchemaChange("retyped", "id", Severity.CRITICAL, "INT64", "STRING")
        added = SchemaChange("added", "id.part", Severity.INFO, new="STRING")
        for operation in (change, added):
            assert module.outcomes_of("c1", [operation], STRICT.contract, ["ID"]) == {}
        return
    old, new = version("a1", "id INT64", "n INT64"), version("b2", "id STRING", "n STRING", "Seen STRING", "zip STRING")
    full = version("", "id STRING", "n STRING", "Seen STRING", "zip STRING").columns
    found = module.held(old.columns, full, [old, new], STRICT, lambda *_: "", ["ID", "seen"])
    assert [f"{column.name} {column.type}" for column in found.columns] == ["id STRING", "n INT64", "Seen STRING"]


def mutant(module: ModuleType, old: str, new: str) -> Any:
    """The module with a part of its text replaced, which has to be there once."""
    text = inspect.getsource(module)
    assert text.count(old) == 1, f"{text.count(old)} of {old!r}"
    made = ModuleType(module.__name__)
    exec(compile(text.replace(old, new), str(module.__file__), "exec"), made.__dict__)
    return made


def mutants() -> Iterator[Any]:
    returned = "frozenset((*remembered_keys(query), *tenant, *rules.keys, *rules.order_by, *added))"
    added = "added = (METADATA, LANDED_AT, DAY, *filter(None, (rules.version_column, rules.landed_column)))"
    for text, parts in (
        (returned, ("*remembered_keys(query), ", "*tenant, ", "*rules.keys, ", "*rules.order_by, ", ", *added")),
        (added, ("METADATA, ", "LANDED_AT, ", "DAY, ", "rules.version_column, ", ", rules.landed_column")),
    ):
        for part in parts:
            shorter = text.replace(part, "").replace("(rules.version_column)", "(rules.version_column,)")
            shorter = shorter.replace("(rules.landed_column)", "(rules.landed_column,)")
            yield pytest.param(protected, text, shorter, check_protected, id=f"without {part.strip(', ')}")
    asked = 'remembered_keys(current.query if current else "")'
    yield pytest.param(protected, asked, 'remembered_keys("")', check_protected, id="without the current view")
    yield pytest.param(protected, "for key in declared", "for key in ()", check_protected, id="without declared keys")
    yield pytest.param(protected, "== len(TENANT) else ()", "else ()", check_protected, id="a part of the tenant")
    free = "if fold_case(column.name) not in free:"
    yield pytest.param(contract_module, free, "if True:", check_held, id="holds every column")
    yield pytest.param(contract_module, free, "if column.name not in free:", check_held, id="compares the case")
    free = 'if fold_case(operation.path.partition(".")[0]) not in free'
    yield pytest.param(outcomes, free, "if True", check_held, id="decides about every operation")
    yield pytest.param(outcomes, free, "if fold_case(operation.path) not in free", check_held, id="holds fields")


def test_columns_of_the_key_the_order_the_tenant_and_of_landing_are_protected() -> None:
    check_protected(protected)


def test_a_protected_column_is_shown_in_its_new_type_and_never_waits() -> None:
    check_held(contract_module)
    check_held(outcomes)


@pytest.mark.parametrize(("module", "old", "new", "check"), list(mutants()))
def test_a_mutant_that_holds_a_protected_column_is_noticed(
    module: ModuleType, old: str, new: str, check: Callable[[Any], None]
) -> None:
    with pytest.raises(AssertionError):
        check(mutant(module, old, new))
