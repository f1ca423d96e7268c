"""The bytes of a statement as a dry run of BigQuery tells them: the embedded BigQuery answers 0.

Google's own analyzer (`zetasql`) resolves the statement, and this module takes from its tree what BigQuery documents to bill
(https://cloud.google.com/bigquery/docs/estimate-costs, https://cloud.google.com/bigquery/docs/querying-partitioned-tables,
https://cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax, 2026-11). It honours, for each scan of a table:

- the columns that the result depends on, and no others, through subqueries, WITH, UNION ALL, windows and aggregates. A table
  that stands twice in a text counts twice; what WITH names counts once;
- the partitions from the day of a bound on, where a filter `column >= literal` stands on the scan itself;
- of a MERGE in addition all columns of its target;
- 10 MiB for each table at least.

It does not know clusters, as a dry run does not; fields of a STRUCT, of which it counts the whole column; filters that would
have to be moved into a subquery; upper bounds; and partitioned targets of a MERGE.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from support.zetasql_judge import Judge

LEAST = 10 * 2**20


@dataclass(frozen=True)
class PricedTable:
    """A table: the type and the bytes of a value of each column, and its rows of each day, if `partition` names a column."""

    columns: Mapping[str, tuple[str, float]]
    rows: float
    partition: str = ""
    days: Mapping[datetime, float] = field(default_factory=dict)

    @property
    def types(self) -> list[tuple[str, str]]:
        return [(name, type_) for name, (type_, _) in self.columns.items()]

    def size(self, columns: frozenset[str] | None = None, since: datetime | None = None) -> float:
        """Bytes of some columns, or all, in the partitions from the day of `since` on."""
        width = sum(bytes_ for name, (_, bytes_) in self.columns.items() if columns is None or name in columns)
        from_day = since.replace(hour=0, minute=0, second=0, microsecond=0) if since else None
        rows = sum(count for day, count in self.days.items() if from_day and day >= from_day)
        return width * (rows if from_day else self.rows)


@dataclass(frozen=True)
class Scan:
    """What a statement reads of a table: columns, and the bound on its partitions."""

    table: str
    columns: frozenset[str]
    since: datetime | None


def dry_run(judge: Judge, sql: str, tables: Mapping[str, PricedTable]) -> float:
    """Return the bytes that a statement bills."""
    statement = judge.resolve(sql, {name: one.types for name, one in tables.items()})
    found = scans(statement, {name: one.partition for name, one in tables.items()})
    read: dict[str, float] = defaultdict(float)
    for scan in found:
        read[scan.table] += tables[scan.table].size(scan.columns, scan.since)
    merged = statement.resolved_merge_stmt_node
    target = tables[merged.table_scan.table.name].size() if merged.HasField("table_scan") else 0
    return sum(max(LEAST, size) for size in read.values()) + target


def scans(statement: Any, partitions: Mapping[str, str]) -> list[Scan]:
    """Return the scans of tables of a resolved statement."""
    nodes = list(_walk(statement))
    live = _live(nodes)
    bounds = {id_: since for node in nodes for id_, since in _bounds(node, partitions)}
    found = []
    for node in _of(nodes, "ResolvedTableScanProto"):
        columns = {column.column_id: column.name for column in node.parent.column_list}
        since = next((bounds[id_] for id_ in columns if id_ in bounds), None)
        found.append(Scan(node.table.name, frozenset(name for id_, name in columns.items() if id_ in live), since))
    return found


def _walk(node: Any, skip: str = "") -> Iterator[Any]:
    yield node
    for described, value in node.ListFields():
        if described.message_type is None or described.message_type.GetOptions().map_entry or described.name == skip:
            continue
        for one in value if described.is_repeated else [value]:
            yield from _walk(one)


def _of(nodes: list[Any], kind: str) -> Iterator[Any]:
    return (node for node in nodes if type(node).__name__ == kind)


def _refs(node: Any) -> set[int]:
    return {one.column.column_id for one in _of(list(_walk(node)), "ResolvedColumnRefProto")}


def _live(nodes: list[Any]) -> set[int]:
    """Return the columns that the result depends on: the output, conditions, and what these are computed of."""
    computed = {one.column.column_id: _refs(one.expr) for one in _of(nodes, "ResolvedComputedColumnProto")}
    inner = {id(ref) for one in _of(nodes, "ResolvedComputedColumnProto") for ref in _walk(one)}
    assigned = {id(ref) for one in _of(nodes, "ResolvedUpdateItemProto") for ref in _walk(one.target)}
    for union in _of(nodes, "ResolvedSetOperationScanProto"):
        for item in union.input_item_list:
            for output, column in zip(union.parent.column_list, item.output_column_list, strict=True):
                computed.setdefault(output.column_id, set()).add(column.column_id)
    named = {entry.with_query_name: _outputs(entry.with_subquery) for entry in _of(nodes, "ResolvedWithEntryProto")}
    for one in _of(nodes, "ResolvedWithRefScanProto"):
        for output, column in zip(one.parent.column_list, named[one.with_query_name], strict=True):
            computed.setdefault(output.column_id, set()).add(column.column_id)
    waiting = {ref.column.column_id for ref in _of(nodes, "ResolvedColumnRefProto") if id(ref) not in inner | assigned}
    waiting |= {one.column.column_id for one in _of(nodes, "ResolvedOutputColumnProto")}
    live: set[int] = set()
    while waiting:
        id_ = waiting.pop()
        live.add(id_)
        waiting |= computed.get(id_, set()) - live
    return live


def _outputs(scan: Any) -> Any:
    """Return the columns of a scan of any kind."""
    node = scan
    while not hasattr(node, "column_list"):
        node = node.parent if node.DESCRIPTOR.fields_by_name.get("parent") else getattr(node, node.WhichOneof("node"))
    return node.column_list


def _bounds(node: Any, partitions: Mapping[str, str]) -> Iterator[tuple[int, datetime]]:
    """Yield the bound that a filter on a table puts on its partitions."""
    if type(node).__name__ != "ResolvedFilterScanProto" or not node.input_scan.HasField("resolved_table_scan_node"):
        return
    partition = partitions[node.input_scan.resolved_table_scan_node.table.name]
    for call in _of(list(_walk(node.filter_expr)), "ResolvedFunctionCallBaseProto"):
        refs, literals = (list(_of(list(_walk(call)), f"Resolved{kind}Proto")) for kind in ("ColumnRef", "Literal"))
        if call.function.name.endswith("greater_or_equal") and len(refs) == len(literals) == 1:
            time = literals[0].value.value.timestamp_value
            if refs[0].column.name == partition:
                yield refs[0].column.column_id, datetime.fromtimestamp(time.seconds, UTC)
