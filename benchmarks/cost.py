"""What a deployment costs a month, by formula: `python -m benchmarks.cost` prints the table of docs/explanation/cost.md.

Nothing is measured here. The prices are list prices in USD, on demand, US or most regions, as of 2026-11:
https://cloud.google.com/bigquery/pricing, https://cloud.google.com/run/pricing, https://cloud.google.com/pubsub/pricing.
"""

from __future__ import annotations

from dataclasses import dataclass

GB, TIB = 10**9, 2**40
DAYS, SECONDS = 30, 30 * 86_400
LEAST_QUERY = 10 * 2**20
"""Bytes that BigQuery bills for a query of each table at least."""


@dataclass(frozen=True)
class Prices:
    query_tib: float = 6.25
    active_gb: float = 0.02
    long_term_gb: float = 0.01
    write_gb: float = 0.025
    free_write_gb: float = 2_000
    pubsub_tib: float = 40.0
    cpu_second: float = 0.000024
    gib_second: float = 0.0000025
    always_cpu_second: float = 0.000018
    always_gib_second: float = 0.000002
    million_requests: float = 0.40
    refresh: float = 0.0000989
    """A refresh of a view: docs/explanation/cost.md adds it up."""


@dataclass(frozen=True)
class Workload:
    """300 tables that each of 20 tenants has, on one server.

    tables: base names; the tenants share them.
    sources: servers that are captured, each with a process of its own.
    base_gb: all base tables together.
    changes: a day, over all tables.
    landed_bytes: of a change in its versioned table; its message has half as many again.
    per_message: changes in a message.
    months: how long history has been kept; after three months a partition costs half.
    new_versions: a month.
    merges: of each table, a day.
    """

    tables: int = 300
    sources: int = 1
    base_gb: float = 200
    changes: int = 10_000_000
    landed_bytes: int = 1_000
    per_message: int = 100
    months: int = 12
    new_versions: int = 50
    merges: int = 1


SINK_SECONDS = 0.5
"""Of one CPU and 1 GiB for a message, at most."""
STATEMENTS = 5
"""Small statements of a merge, each billed as the least query."""
HOT_MONTHS = 3


def monthly(load: Workload, prices: Prices = Prices()) -> dict[str, float]:
    """The costs of a month by line."""
    landed_gb = load.changes * DAYS * load.landed_bytes / GB
    messages = load.changes * DAYS / load.per_message
    hot = min(load.months, HOT_MONTHS)
    merged = load.tables * load.merges * DAYS
    return {
        "capture": load.sources * SECONDS * (prices.always_cpu_second + prices.always_gib_second),
        "Pub/Sub": 2 * 1.5 * landed_gb * GB / TIB * prices.pubsub_tib,
        "sink": messages * (SINK_SECONDS * (prices.cpu_second + prices.gib_second) + prices.million_requests / 1e6),
        "writes": max(0.0, landed_gb - prices.free_write_gb) * prices.write_gb,
        "views": (load.tables * DAYS + load.new_versions) * prices.refresh,
        "merges: the bases": load.merges * DAYS * load.base_gb * GB / TIB * prices.query_tib,
        "merges: what landed": 2 * _days_read(load) * landed_gb * GB / TIB * prices.query_tib,
        "merges: small statements": merged * STATEMENTS * LEAST_QUERY / TIB * prices.query_tib,
        "storage of the bases": load.base_gb * prices.active_gb,
        "storage of history, all versions": landed_gb * (hot * prices.active_gb + (load.months - hot) * prices.long_term_gb),
    }


def _days_read(load: Workload) -> float:
    """How many days of changes the merges of a day read at most.

    A partition holds a day and is read whole: the first merge of a day reads the day before, and each one what the day has
    by then.
    """
    return 1 + sum(number / load.merges for number in range(1, load.merges + 1))


def table() -> str:
    """The table of the page: a merge a day beside a merge an hour."""
    daily, hourly = monthly(Workload()), monthly(Workload(merges=24))
    rows = [f"| {name} | {cost:,.2f} | {hourly[name]:,.2f} |" for name, cost in daily.items()]
    total = f"| **together** | **{sum(daily.values()):,.2f}** | **{sum(hourly.values()):,.2f}** |"
    return "\n".join(["| what | merged daily | merged hourly |", "|---|---|---|", *rows, total])


if __name__ == "__main__":
    print(table())
