"""A landed table is altered in place: every form of its view goes on reading, until the refresh that includes the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.sweeps import sweep
from support.views import FORMS, PLAIN, accept, build, forced, inlined, multiset, rows, table, tables, version
from support.zetasql_judge import Judge

from onefold.core.names import TableId
from onefold.refresh.built_view import BuiltView, Form
from onefold.refresh.write import refresh
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse


class Alteration(NamedTuple):
    """Versions, and what some of them are after an alteration; each landed cell is an expression."""

    before: tuple[Version, ...]
    after: tuple[Version, ...]
    landed: dict[str, Sequence[Sequence[str]]]
    landed_after: dict[str, Sequence[Sequence[str]]]
    rules: TableRules = PLAIN


ID, OTHER = version("a1", "id INT64"), version("b2", "id INT64", "c DATE")
SHAPE = "s STRUCT<a INT64, t STRUCT<x STRING>>"
LIST = "l ARRAY<STRUCT<a INT64>>"
CONVERTED = version("b2", "s STRUCT<a STRING, t STRUCT<x STRING>>")
NESTED_ROWS = [("STRUCT(1 AS a, STRUCT('x' AS x) AS t)",), ("NULL",)]

ALTERATIONS: dict[str, Alteration] = {
    "a column that no version has": Alteration(
        (ID, OTHER),
        (version("a1", "id INT64", "extra STRING"), OTHER),
        {"a1": [("1",)], "b2": [("2", "NULL")]},
        {"a1": [("1", "'n'")]},
    ),
    "a column that another version has": Alteration(
        (ID, OTHER),
        (version("a1", "id INT64", "c DATE"), OTHER),
        {"a1": [("1",)], "b2": [("2", "NULL")]},
        {"a1": [("1", "DATE '2020-01-01'")]},
    ),
    "a column that another version has in another type": Alteration(
        (ID, OTHER),
        (version("a1", "id INT64", "C ARRAY<INT64>"), OTHER),
        {"a1": [("1",)], "b2": [("2", "NULL")]},
        {"a1": [("1", "[1]")]},
    ),
    "a column that another version has in a type with a common one": Alteration(
        (ID, version("b2", "id INT64", "c INT64")),
        (version("a1", "id INT64", "c FLOAT64"), version("b2", "id INT64", "c INT64")),
        {"a1": [("1",)], "b2": [("2", "3")]},
        {"a1": [("1", "1.5")]},
    ),
    "a column of two types in two tables at once": Alteration(
        (ID, version("b2", "id INT64")),
        (version("a1", "id INT64", "extra STRING"), version("b2", "id INT64", "extra DATE")),
        {"a1": [("1",)], "b2": [("2",)]},
        {"a1": [("1", "'n'")], "b2": [("2", "NULL")]},
    ),
    "columns before one that is converted": Alteration(
        (ID, version("b2", "id STRING")),
        (version("a1", "id INT64", "extra STRING", "v INT64"), version("b2", "id STRING")),
        {"a1": [("1",)], "b2": [("'x'",)]},
        {"a1": [("1", "'n'", "7")]},
    ),
    "a column named as the version_column": Alteration(
        (ID, OTHER),
        (version("a1", "id INT64", "_version INT64"), OTHER),
        {"a1": [("1",)], "b2": [("2", "NULL")]},
        {"a1": [("1", "7")]},
        TableRules(version_column="_version"),
    ),
    "a field of a struct": Alteration(
        (version("a1", SHAPE), version("b2", SHAPE)),
        (version("a1", "s STRUCT<a INT64, t STRUCT<x STRING>, extra DATE>"), version("b2", SHAPE)),
        {"a1": NESTED_ROWS, "b2": NESTED_ROWS},
        {"a1": [("STRUCT(1 AS a, STRUCT('x' AS x) AS t, DATE '2020-01-01' AS extra)",), ("NULL",)]},
    ),
    "a field of a struct in a struct that is converted": Alteration(
        (version("a1", SHAPE), CONVERTED),
        (version("a1", "s STRUCT<a INT64, t STRUCT<x STRING, extra INT64>>"), CONVERTED),
        {"a1": NESTED_ROWS, "b2": []},
        {"a1": [("STRUCT(1 AS a, STRUCT('x' AS x, 2 AS extra) AS t)",), ("NULL",)]},
    ),
    "a field of the structs of an array": Alteration(
        (version("a1", LIST), version("b2", LIST)),
        (version("a1", "l ARRAY<STRUCT<a INT64, extra STRUCT<x DATE>>>"), version("b2", LIST)),
        {"a1": [("[STRUCT(2 AS a), STRUCT(1 AS a)]",), ("[]",)], "b2": [("[STRUCT(3 AS a)]",)]},
        {"a1": [("[STRUCT(2 AS a, STRUCT(DATE '2020-01-01' AS x) AS extra), STRUCT(1 AS a, NULL AS extra)]",), ("[]",)]},
    ),
    "a field of a struct whose array holds one struct each": Alteration(
        (version("a1", "l STRUCT<a INT64>"), version("b2", LIST)),
        (version("a1", "l STRUCT<a INT64, extra INT64>"), version("b2", LIST)),
        {"a1": [("STRUCT(2 AS a)",), ("NULL",)], "b2": [("[STRUCT(3 AS a)]",)]},
        {"a1": [("STRUCT(2 AS a, 9 AS extra)",), ("NULL",)]},
    ),
    "a field of a struct that becomes JSON": Alteration(
        (version("a1", "s STRUCT<a INT64>"), version("b2", "s JSON")),
        (version("a1", "s STRUCT<a INT64, extra INT64>"), version("b2", "s JSON")),
        {"a1": [("STRUCT(1 AS a)",), ("NULL",)], "b2": [("JSON '{}'",)]},
        {"a1": [("STRUCT(1 AS a, 2 AS extra)",), ("NULL",)]},
    ),
    "a field of structs of an array that become text": Alteration(
        (version("a1", LIST), version("b2", "l STRING")),
        (version("a1", "l ARRAY<STRUCT<a INT64, extra INT64>>"), version("b2", "l STRING")),
        {"a1": [("[STRUCT(2 AS a), STRUCT(1 AS a)]",)], "b2": [("'x'",)]},
        {"a1": [("[STRUCT(2 AS a, 7 AS extra), STRUCT(1 AS a, 7 AS extra)]",)]},
        TableRules(types=(("l", parse_type("STRING")),)),
    ),
}  # fmt: skip


def read(judge: Judge, view: BuiltView, case: Alteration, altered: bool) -> list[str]:
    """The rows of the view, over the tables as they were or as they are now."""
    versions = case.after if altered else case.before
    landed = {**case.landed, **(case.landed_after if altered else {})}
    return multiset(rows(judge, view, versions, landed))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALTERATIONS)
def test_a_view_gives_the_same_columns_and_rows_after_an_alteration(judge: Judge, name: str, form: Form) -> None:
    case = ALTERATIONS[name]
    view = build(case.before, case.rules, form)
    accept(judge, view, case.before)
    accept(judge, view, case.after)
    assert read(judge, view, case, altered=True) == read(judge, view, case, altered=False)


WIDER = {
    "INT64": ("NUMERIC", "BIGNUMERIC", "FLOAT64"),
    "NUMERIC": ("BIGNUMERIC", "FLOAT64"),
    "BIGNUMERIC": ("FLOAT64",),
}
"""What BigQuery can make of a column's type in place (GoogleSQL, "ALTER COLUMN SET DATA TYPE statement")."""


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["n {type}", "n STRUCT<x STRING, a {type}>"])
@pytest.mark.parametrize(("old", "new"), [(old, new) for old, wider in WIDER.items() for new in wider])
@pytest.mark.parametrize("other", ["{type}", "STRING"])
def test_a_view_reads_a_widened_column_without_rounding(
    judge: Judge, form: Form, shape: str, old: str, new: str, other: str
) -> None:
    """Equal types are shown in the wider type: a cast to the old one would round what lands from now on."""
    kept = version("b2", shape.format(type=other.format(type=old)))
    before, after = version("a1", shape.format(type=old)), version("a1", shape.format(type=new))
    view = build((before, kept), form=form)
    [(name, kind)] = judge.columns(inlined(view), tables((after, kept)))
    assert (name, kind) == ("n", shape.format(type=new if other == "{type}" else "STRING").partition(" ")[2])
    assert all(judge.columns(leaf.query, tables((after, kept))) for leaf in view.leaves)
    cell = "1.5" if shape.startswith("n {") else "STRUCT('x' AS x, 1.5 AS a)"
    landed = f"SELECT CAST({cell} AS {after.columns[0].type}) AS n"
    as_json = f"SELECT TO_JSON_STRING(r.n) FROM (\n{inlined(view)}\n) AS r"
    [(found,)] = judge.rows(as_json, tables((after, kept)), {table(after): landed})
    assert "1.5" in found


# In the embedded BigQuery


@pytest.fixture
def base(dataset: EmulatedDataset) -> TableId:
    dataset.land("customer_v_abc", {"id": "INT64", "name": "STRING"}, "1, 'Ada'")
    dataset.land("customer_v_def", {"id": "STRING", "email": "STRING"}, "'x', 'e'")
    dataset.land("customer_v_fed", {"id": "STRING", "seen": "DATE"}, "'y', DATE '2020-01-01'")
    return TableId(DEFAULT_PROJECT, dataset.name, "customer")


# The emulator has no FULL OUTER UNION ALL BY NAME: a leaf reads one version here, and only the judge reads the compact form.
@pytest.mark.parametrize("form", sweep(["spelled", "two-level"]))
@pytest.mark.parametrize("column", ["phone STRING", "email STRING", "email INT64", "seen STRING"])
def test_an_emulated_view_goes_on_reading_and_the_next_refresh_includes_the_column(
    dataset: EmulatedDataset, base: TableId, form: Form, column: str
) -> None:
    warehouse, (name, kind) = EmulatedWarehouse(dataset.client), column.split()
    with forced(form, per_leaf=1):
        refresh(UnifiedKind(warehouse, base, Settings()))
        found = dataset.rows("customer_unified")
        assert len(found) == 3
        warehouse.add_columns(base.sibling("customer_v_abc"), [Column(name, parse_type(kind))])
        dataset.run(f"UPDATE {dataset.quoted('customer_v_abc')} SET {name} = CAST('7' AS {kind}) WHERE TRUE")
        assert dataset.rows("customer_unified") == found
        plan = refresh(UnifiedKind(warehouse, base, Settings()))
        assert (plan.action, plan.view and plan.view.form) == ("update", form)
        assert [row[name] for row in as_dicts(dataset) if row["id"] == "1"] in (["7"], [7])


def as_dicts(dataset: EmulatedDataset) -> list[dict[str, object]]:
    return [dict(row) for row in dataset.client.query(f"SELECT * FROM {dataset.quoted('customer_unified')}").result()]
