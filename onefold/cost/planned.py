"""What tables would cost that do not exist yet: a plan in YAML, as `plan.schema.json` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from onefold.cost.formulas import DAYS, SharedUsage, TableUsage, rows_per_message, table_charges
from onefold.cost.prices import Prices, read_form
from onefold.cost.report import CostReport, TableCost
from onefold.settings.schema_check import load_schema

SCHEMA = "cost/plan.schema.json"
HOT_MONTHS = 3
"""After 90 days a partition that nothing changes costs half."""


def read_plan(path: Path, prices: Prices) -> CostReport:
    """Return what a plan costs.

    Args:
        path: the plan.
        prices: the prices.

    Raises:
        InvalidInput: the file cannot be read, or is no plan; the error lists all problems.
    """
    return plan_report(path.name, read_form(path, SCHEMA), prices)


def plan_report(subject: str, plan: Mapping[str, Any], prices: Prices) -> CostReport:
    """Return what a checked plan costs.

    Args:
        subject: its name.
        plan: its content.
        prices: the prices.

    Examples:
        >>> from onefold.cost.prices import list_prices
        >>> plan = {"groups": {"orders": {"tables": 300, "rows": 1_000_000, "changes": 30_000}}}
        >>> round(plan_report("plan.yaml", plan, list_prices()).usd)
        348
    """
    schema = load_schema(SCHEMA)["properties"]
    whole = _with_defaults(plan, schema)
    of_group = schema["groups"]["additionalProperties"]["properties"]
    groups = {name: _with_defaults(group, of_group) for name, group in whole["groups"].items()}
    whole.setdefault("rows_per_message", _rows_per_message(groups.values(), whole))
    tables = tuple(_cost(name, group, whole, prices) for name, group in groups.items())
    batches = max(group["pulls"] for group in groups.values())
    shared = SharedUsage(whole["servers"], batches, whole["batch_minutes"])
    return CostReport(subject, tuple(sorted(tables, key=lambda one: -one.usd)), shared, prices)


def _with_defaults(given: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one["default"] for name, one in properties.items() if "default" in one} | dict(given)


def _rows_per_message(groups: Iterable[Mapping[str, Any]], plan: Mapping[str, Any]) -> float:
    captured = [
        (group["tables"] * group["changes"] * plan["tenants"], group["row_bytes"]) for group in groups if not group["pulls"]
    ]
    rows = sum(rows for rows, _ in captured)
    return rows_per_message(rows, sum(rows * size for rows, size in captured) / max(1.0, rows), plan["servers"])


def _cost(name: str, group: Mapping[str, Any], plan: Mapping[str, Any], prices: Prices) -> TableCost:
    usage = _usage(group, plan)
    return TableCost(name, usage, table_charges(usage, prices), group["tables"])


def _usage(group: Mapping[str, Any], plan: Mapping[str, Any]) -> TableUsage:
    """Return the usage of one table of a group: the rows of all tenants are in it."""
    rows, changes = plan["tenants"] * group["rows"], plan["tenants"] * group["changes"]
    month = changes * group["row_bytes"] * DAYS
    hot = min(group["months"], HOT_MONTHS)
    return TableUsage(
        base_rows=rows if group["merges"] else 0,
        base_bytes=rows * (group["row_bytes"] + group["key_bytes"]) if group["merges"] else 0,
        active_bytes=hot * month,
        long_term_bytes=(group["months"] - hot) * month,
        landed_bytes=month / DAYS,
        landed_rows=changes,
        rows_per_message=0 if group["pulls"] else plan["rows_per_message"],
        **{key: group[key] for key in ("key_bytes", "merges", "reads", "read_share", "checks", "pulls", "new_versions")},
    )
