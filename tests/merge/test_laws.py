"""The fold of a MERGE, in Google's evaluator: the same for any order, repetition and split, with columns of every type."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.oracle import is_deletion, latest, order_of, source_row
from support.typed_logs import EVALUATED, Row, columns_of, logs
from support.typed_values import literal
from support.zetasql_judge import Judge, literals

from onefold.changelog.generator import METADATA_TYPE, WorkloadOptions, make_workload
from onefold.changelog.metadata import METADATA
from onefold.core.names import TableId
from onefold.merge.base_table import BaseTable, base_of, winners
from onefold.merge.change_query import changes_query
from onefold.merge.change_tables import ChangeTable
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar, Type, parse_type, render_type
from onefold.schema.versions import Version

Cells = tuple[Any, ...]

TABLE = TableId("my-project", "shop", "customer")


class Fold:
    """The query of the merge over logs of these columns."""

    def __init__(self, judge: Judge, columns: dict[str, Type]) -> None:
        self.types = {"id": Scalar("INT64"), **columns, METADATA: parse_type(METADATA_TYPE)}
        self._judge = judge
        self._columns = [Column(name, type_) for name, type_ in self.types.items()]
        self.base: BaseTable = base_of(TABLE, self._columns, ["id"])

    def rows(self, *batches: Sequence[Row]) -> list[Cells]:
        """The winners of each batch, and of more than one the winners of those."""
        names = [TABLE.sibling(f"customer_v_{number}") for number in range(len(batches))]
        version = Version("v", tuple(self._columns))
        folded = [winners(self.base, changes_query([ChangeTable(id_, version)], self.base, TableRules())) for id_ in names]
        query = folded[0] if len(folded) == 1 else winners(self.base, " UNION ALL ".join(f"({one})" for one in folded))
        landed = [(column.name, render_type(column.type)) for column in self._columns]
        content = {str(id_): literals(landed, map(self._cells, rows)) for id_, rows in zip(names, batches, strict=True)}
        return self._judge.rows(query, {str(id_): landed for id_ in names}, content)

    def positions(self, log: Sequence[Row]) -> list[str]:
        """The position of each change, in the order of the log."""
        found = self.rows([{**row, "id": number} for number, row in enumerate(log)])
        return [str(row[-2]) for row in sorted(found, key=operator.itemgetter(0))]

    def expected(self, log: Sequence[Row]) -> list[Cells]:
        """What the oracle keeps, without its positions, in the values of the evaluator."""
        kinds = [(name, render_type(type_)) for name, type_ in self.types.items() if name != METADATA]
        rows = latest(log, ["id"], dict(kinds))
        cells = [[*(self._kept(row, name) for name, _ in kinds), str(is_deletion(row))] for row in rows]
        return self._judge.rows(literals([*kinds, ("_deleted", "BOOL")], cells))

    def _kept(self, row: Mapping[str, Any], name: str) -> str:
        kept = name == "id" or not is_deletion(row)
        return literal(source_row(row)[name] if kept else None, self.types[name])

    def _cells(self, row: Row) -> list[str]:
        return [literal(row[name], type_) for name, type_ in self.types.items()]


def texts(rows: Iterable[Cells]) -> list[str]:
    """Rows to be compared: text tells the signs of zeros apart, and takes NaN for NaN."""
    return sorted(map(repr, rows))


def without_position(rows: Iterable[Cells]) -> list[Cells]:
    return [(*row[:-2], row[-1]) for row in rows]


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_fold_is_the_oracles_for_any_order_repetition_and_split(judge: Judge, data: st.DataObject) -> None:
    columns = data.draw(columns_of(EVALUATED, most=6))
    log = data.draw(logs(columns, keys=(None, 1, 2)))
    fold = Fold(judge, columns)
    whole = fold.rows(log)
    assert texts(without_position(whole)) == texts(fold.expected(log))
    again = data.draw(st.permutations([*log, *data.draw(st.lists(st.sampled_from(log), max_size=3))]))
    cut = data.draw(st.integers(0, len(again)))
    assert texts(fold.rows(again)) == texts(whole)
    assert texts(fold.rows(again[:cut], again[cut:])) == texts(whole)
    assert texts(fold.rows(again[cut:], again[:cut], log)) == texts(whole)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_text_of_a_position_sorts_as_the_oracle_orders_changes(judge: Judge, data: st.DataObject) -> None:
    columns = data.draw(columns_of(EVALUATED, most=6))
    log = data.draw(logs(columns, keys=(1,)))
    # The key is a part of the digest, and tells the changes apart here.
    log = [{**row, "id": number} for number, row in enumerate(log)]
    types = {name: render_type(type_) for name, type_ in columns.items()}
    pairs = list(zip(Fold(judge, columns).positions(log), (order_of(row, types) for row in log), strict=True))
    assert all((a[0] < b[0]) == (a[1] < b[1]) for a in pairs for b in pairs)


def test_a_row_with_every_column_is_folded_too(judge: Judge) -> None:
    """All columns at once, from a workload; deletions and updates among them."""
    workload = make_workload(WorkloadOptions(operations=30, key_changes=0.2, shuffle=True))
    kept = {"id", METADATA, *EVALUATED}
    log = [{name: row[name] for name in row if name in kept} for rows in workload.changes.values() for row in rows]
    fold = Fold(judge, {name: parse_type(type_) for name, type_ in EVALUATED.items()})
    assert texts(without_position(fold.rows(log[:9], log[9:]))) == texts(fold.expected(log))
