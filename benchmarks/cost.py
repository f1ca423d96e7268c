"""What a deployment costs a month, by formula: `python -m benchmarks.cost` prints the table of docs/explanation/cost.md.

Nothing is measured here: formulas and prices are those of `onefold cost`. The lines are finer than those of the command.
"""

from __future__ import annotations

from dataclasses import dataclass

from onefold.cost.formulas import (
    DAYS,
    LEAST_QUERY,
    MESSAGE_SHARE,
    STATEMENTS,
    SharedUsage,
    days_merged,
    message_price,
    refresh_price,
    rows_per_message,
    shared_charges,
)
from onefold.cost.prices import GB, TIB, Prices, list_prices

FREE_WRITE_GB = 2_000
"""What the Storage Write API takes for nothing each month."""
HOT_MONTHS = 3
"""After 90 days a partition that nothing changes costs half."""


@dataclass(frozen=True)
class Workload:
    """300 tables that each of 20 tenants has, on one server.

    tables: base names; the tenants share them.
    sources: servers that are captured, each with a process of its own.
    base_gb: all base tables together.
    base_rows: their rows.
    key_bytes: of the key and the position of a row of a base.
    changes: a day, over all tables.
    landed_bytes: of a change in its versioned table; its message has half as many again.
    months: how long history has been kept; after three months a partition costs half.
    new_versions: a month.
    merges: of each table, a day.
    """

    tables: int = 300
    sources: int = 1
    base_gb: float = 200
    base_rows: float = 200e6
    key_bytes: float = 75
    changes: int = 10_000_000
    landed_bytes: int = 1_000
    months: int = 12
    new_versions: int = 50
    merges: int = 1


PRICES = list_prices()


def monthly(load: Workload, prices: Prices = PRICES) -> dict[str, float]:
    """The costs of a month by line."""
    landed_gb = load.changes * DAYS * load.landed_bytes / GB
    per_message = rows_per_message(load.changes, load.landed_bytes, load.sources)
    hot = min(load.months, HOT_MONTHS)
    merged = load.tables * load.merges * DAYS
    base = load.base_gb * GB + load.base_rows * load.key_bytes
    return {
        "capture": shared_charges(SharedUsage(servers=load.sources), prices)["functions"].usd,
        "Pub/Sub": 2 * MESSAGE_SHARE * landed_gb * GB / TIB * prices.pubsub_tib,
        "sink": load.changes * DAYS / per_message * message_price(prices),
        "writes": max(0.0, landed_gb - FREE_WRITE_GB) * prices.write_gb,
        "views": (load.tables * DAYS + load.new_versions) * refresh_price(prices),
        "merges: the bases": load.merges * DAYS * prices.query(base),
        "merges: what landed": 2 * days_merged(load.merges) * prices.query(landed_gb * GB),
        "merges: small statements": merged * STATEMENTS * prices.query(LEAST_QUERY),
        "storage of the bases": load.base_gb * prices.active_gb,
        "storage of history, all versions": landed_gb * (hot * prices.active_gb + (load.months - hot) * prices.long_term_gb),
    }


def table() -> str:
    """The table of the page: a merge a day beside a merge an hour."""
    daily, hourly = monthly(Workload()), monthly(Workload(merges=24))
    rows = [f"| {name} | {cost:,.2f} | {hourly[name]:,.2f} |" for name, cost in daily.items()]
    total = f"| **together** | **{sum(daily.values()):,.2f}** | **{sum(hourly.values()):,.2f}** |"
    return "\n".join(["| what | merged daily | merged hourly |", "|---|---|---|", *rows, total])


if __name__ == "__main__":
    print(table())
