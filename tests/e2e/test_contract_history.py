"""Real schema histories under contracts of each kind: after each version the view equals an oracle, and so do its rows.

The oracle (`support/contract_oracle.py`) replays the versions by the rules of the documentation. `make test` replays one of
them: that of the demo.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.contract_oracle import Step, Verdict, replay
from support.contract_views import contracts, stored, unified_kind
from support.schema_histories import FOLDER, Table, chosen, demo_table, tables_of_projects
from support.sweeps import sweep
from support.views import BASE, rows
from support.zetasql_judge import Judge

from onefold.changes.ids import version_change_id
from onefold.refresh.built_view import BuiltView
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version

KINDS = (
    ("review", "review", "warn"), ("hide", "keep", "keep"), ("review", "keep", "keep"), ("show", "review", "warn"),
    ("hide", "widen", "keep"), ("show", "widen", "warn"), ("show", "widen", "keep"),
)  # fmt: skip
"""What a contract says of new columns, of types, and of dropped columns."""
VALUES = {
    "INT64": ("7", 7), "STRING": ("'12'", "12"), "TEXT": ("'twelve'", "twelve"), "NUMERIC": ("NUMERIC '1.5'", None),
    "FLOAT64": ("0.5", None), "BOOL": ("TRUE", None), "TIMESTAMP": ("TIMESTAMP '2020-02-29 12:00:00+00'", None),
    "DATE": ("DATE '2020-02-29'", None), "DATETIME": ("DATETIME '2020-02-29 12:00:00'", None),
}  # fmt: skip
"""Of each type an expression, and what the judge finds in a view that shows the type; None where only NULL is told apart."""


def histories() -> Iterator[Any]:
    """The demo's history in `make test`, and real ones in `make test-long`."""
    yield from sweep({"demo": (demo_table(), *KINDS[0])})
    projects = tables_of_projects()
    if not projects:
        skip = pytest.mark.skip(reason=f"no histories: {FOLDER} is absent")
        yield pytest.param(None, *KINDS[0], marks=[skip, pytest.mark.outside, pytest.mark.long], id="real histories")
    for project, tables in projects.items():
        for table in chosen(tables):
            for kind in KINDS:
                marks = [pytest.mark.outside, pytest.mark.long]
                yield pytest.param(table, *kind, marks=marks, id=f"{project}.{table['table']}-{'-'.join(kind)}")


def plain(type_: str) -> str:
    return type_.partition("(")[0]


def steps_of(table: Table, decides: bool) -> list[Step]:
    """The versions in their order; after each second one it is decided: accepted and rejected in turn, or one column is."""
    steps: list[Step] = []
    verdicts: dict[tuple[str, str], Verdict] = {}
    for number, one in enumerate(table["versions"]):
        fields = {column["name"].lower(): plain(column["type"]) for column in one["columns"]}
        steps.append(Step(one["version"], fields, dict(verdicts)))
        if decides and number:
            path = list(fields)[-1] if number % 3 == 0 else ""
            verdicts[one["version"], path] = "accept" if number % 2 else "reject"
            steps.append(Step("", {}, dict(verdicts)))
    return steps


def keys_of(table: Table) -> tuple[str, ...]:
    columns = table["versions"][-1]["columns"]
    return tuple(column["name"] for column in columns if column.get("primary_key")) or (columns[0]["name"],)


def views_of(
    steps: list[Step], contract: tuple[str, str, str], keys: tuple[str, ...]
) -> Iterator[tuple[BuiltView, list[Version]]]:
    """Yield the view after each step, built over the one before, and the versions that it reads."""
    versions: list[Version] = []
    view: BuiltView | None = None
    for step in steps:
        if step.fields:
            columns = tuple(Column(name, parse_type(type_)) for name, type_ in step.fields.items())
            versions.append(Version(step.version, columns))
        order = ["", *(one.id for one in versions)]
        ids = {after: version_change_id(BASE, before, after) for before, after in itertools.pairwise(order)}
        verdicts: dict[tuple[str, str], Verdict] = {(ids[id_], path): one for (id_, path), one in step.verdicts.items()}
        kind = unified_kind(contracts(*contract, verdicts=verdicts), TableRules(keys=keys))
        view = kind.build(versions, versions, stored(view) if view else None)
        yield view, versions


def warned(view: BuiltView) -> str:
    """The columns of which a view warns that the newest version lacks them."""
    found = [re.search(r" lacks (.*): its rows have NULL there$", text) for text in view.warnings]
    return "".join(one[1] for one in found if one)


@pytest.mark.parametrize(("table", "new", "types", "dropped"), list(histories()))
def test_views_under_a_contract_equal_the_oracle(judge: Judge, table: Table, new: str, types: str, dropped: str) -> None:
    steps, keys = steps_of(table, "review" in (new, types)), keys_of(table)
    expected = replay(steps, new, types, {key.lower() for key in keys})
    last: tuple[BuiltView, list[Version]] | None = None
    for (view, versions), oracle in zip(views_of(steps, (new, types, dropped), keys), expected, strict=True):
        assert {column.name: str(column.type) for column in view.columns} == oracle.shown
        assert {(one.version, one.path) for one in view.waiting} == oracle.waiting
        check_warning(view, oracle.dropped if dropped == "warn" else set())
        last = view, list(versions)
    assert last
    check_rows(judge, *last)


def check_warning(view: BuiltView, dropped: set[str]) -> None:
    """A warning names the first eight of the columns, and the number of the others."""
    names, _, more = warned(view).partition(" and ")
    found = {name for name in names.split(", ") if name}
    assert found <= dropped
    assert len(found) + int(more.removesuffix(" more") or 0) == len(dropped)


def check_rows(judge: Judge, view: BuiltView, versions: list[Version]) -> None:
    """Each version has two rows: with text that is a number, and with text that is none."""
    texts = ("STRING", "TEXT")
    landed = {one.id: [[literal(column, text) for column in one.columns] for text in texts] for one in versions}
    expected = [[shown(column, one, text) for column in view.columns] for one in versions for text in texts]
    found = rows(judge, view, versions, landed)
    told = [[told_value(row, column) for column in view.columns] for row in found]
    assert sorted(map(str, told)) == sorted(map(str, expected))


def literal(column: Column, text: str) -> str:
    type_ = str(column.type)
    return VALUES[text if type_ == "STRING" else type_][0]


def told_value(row: Mapping[str, Any], column: Column) -> Any:
    """What is compared of a value: the value itself where it is text or a whole number, and else whether it is there."""
    value = row[column.name.lower()]
    return value if value is None or str(column.type) in ("INT64", "STRING") else "there"


def shown(column: Column, version: Version, text: str) -> Any:
    """What a view has to show of the value of a version, by the rules of contracts and of types."""
    own = version.schema.get(column.name)
    if own is None:
        return None
    landed, kept = str(own.type), str(column.type)
    value = VALUES[text][1] if landed == "STRING" else VALUES[landed][1]
    if (landed, kept) == ("STRING", "INT64"):
        return int(str(value)) if str(value).isdigit() else None
    if (landed, kept) == ("INT64", "STRING"):
        return str(value)
    if (landed, kept) == ("BOOL", "INT64"):
        return 1
    if landed == kept == "INT64" or landed == kept == "STRING":
        return value
    return "there"
