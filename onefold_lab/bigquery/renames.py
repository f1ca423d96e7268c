"""Renamed tables. `bqemulator` renames the stored table alone: `tables.get` knows the old name, and not the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


def sync_renamed_table(usual: Callable[[str, str, Any], None], sql: str, project_id: str, ctx: Any) -> None:
    """Bring the catalog to what a statement has done: a renamed table has its new name there, too.

    Args:
        usual: the function of the server, for dropped tables.
        sql: the statement, which has run.
        project_id: the project of names without one.
        ctx: the context of the server.
    """
    from bqemulator.catalog.ddl_sync import _split_target

    usual(sql, project_id, ctx)
    for old, new in _renamed(sql):
        project, dataset, table = _split_target(old, project_id)
        meta = ctx.catalog.get_table(project, dataset, table)
        if meta is not None:
            ctx.catalog.delete_table(project, dataset, table)
            ctx.catalog.create_table(meta.model_copy(update={"table_id": new.name}))


def _renamed(sql: str) -> list[tuple[exp.Table, exp.Table]]:
    if "RENAME" not in sql.upper():
        return []
    try:
        tree = sqlglot.parse_one(sql, read="bigquery")
    except SqlglotError:
        return []
    actions = tree.args.get("actions") or [] if isinstance(tree, exp.Alter) else []
    return [(tree.this, action.this) for action in actions if isinstance(action, exp.AlterRename)]
