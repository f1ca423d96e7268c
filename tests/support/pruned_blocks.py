"""The blocks of a clustered table that a MERGE reads, as BigQuery documents it: the embedded BigQuery has no blocks.

https://cloud.google.com/bigquery/docs/querying-clustered-tables, 2026-11. It honours, of the condition of a MERGE as
Google's own analyzer resolves it: parts joined by AND that compare a clustering column itself with two constants by BETWEEN,
from the first clustering column on; a later column counts in blocks that hold one value of each column before it. It does
not know other comparisons, and takes from a comparison with another column nothing, as the page says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.zetasql_judge import Columns, Judge

Key = tuple[Any, ...]
Block = tuple[Key, Key]
"""The least and the greatest key of a block, in the order of the clustering."""


def blocks_read(
    judge: Judge, sql: str, tables: Mapping[str, Columns], clustering: Sequence[str], blocks: Sequence[Block]
) -> list[Block]:
    """Return the blocks of its target that a MERGE reads."""
    merge = judge.resolve(sql, tables).resolved_merge_stmt_node
    target = {column.column_id: column.name for column in merge.table_scan.parent.column_list}
    bounds = dict(_bounds(merge.merge_expr, target))
    return [block for block in blocks if _may_hold(block, [bounds.get(name) for name in clustering])]


def _may_hold(block: Block, bounds: Sequence[tuple[Any, Any] | None]) -> bool:
    for least, greatest, bound in zip(*block, bounds, strict=True):
        if bound is None or greatest < bound[0] or bound[1] < least:
            return bound is None
        if least != greatest:
            return True
    return True


def _bounds(condition: Any, target: Mapping[int, str]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    call = condition.resolved_function_call_base_node.resolved_function_call_node.parent
    name = call.function.name.rpartition(":")[2]
    if name == "$and":
        for part in call.argument_list:
            yield from _bounds(part, target)
    if name == "$between":
        column, *ends = call.argument_list
        id_ = column.resolved_column_ref_node.column.column_id
        if id_ in target and all(end.HasField("resolved_literal_node") for end in ends):
            least, greatest = (_value(end.resolved_literal_node.value.value) for end in ends)
            yield target[id_], (least, greatest)


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
