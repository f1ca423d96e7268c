"""The costs of pulled tables a month, by formula: `python -m benchmarks.cost_pulls` prints the table of the page on costs.

Nothing is measured here: prices are those of `onefold cost`. Load jobs are free.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cost import HOT_MONTHS
from onefold.cost.formulas import DAILY_QUERIES, DAYS, DISK_GB, LEAST_QUERY, refresh_price
from onefold.cost.prices import GB, Prices, list_prices


@dataclass(frozen=True)
class PullWorkload:
    """300 tables of one database.

    tables: pulled tables.
    changed: rows that are new or changed, a day, over all tables.
    row_bytes: of a row, as a line of JSON and in its table.
    pulls: batches every 15 minutes, a day; one more is the daily load.
    pull_minutes: of such a batch.
    daily_minutes: of the daily load.
    cores: of a batch: a driver and two executors of 4 each; each is about one DCU, and has 100 GB of disk.
    reads: how often a row is read: by its pull, by the next one because of the overlap, and by the daily load.
    files_days: how long files are kept.
    months: how long history is kept; after three months a partition costs half.
    new_versions: a month.
    """

    tables: int = 300
    changed: int = 10_000_000
    row_bytes: int = 1_000
    pulls: int = 96
    pull_minutes: float = 3
    daily_minutes: float = 15
    cores: int = 12
    reads: int = 3
    files_days: int = 30
    months: int = 12
    new_versions: int = 50


PRICES = list_prices()


def monthly(load: PullWorkload, prices: Prices = PRICES) -> dict[str, float]:
    """The costs of a month by line."""
    hours = DAYS * (load.pulls * load.pull_minutes + load.daily_minutes) / 60
    month_gb = DAYS * load.changed * load.row_bytes / GB
    hot = min(load.months, HOT_MONTHS)
    small = prices.query(LEAST_QUERY)
    return {
        "batches": hours * load.cores * prices.dcu_hour,
        "disks of the batches": hours / (DAYS * 24) * load.cores * DISK_GB * prices.disk_gb,
        "load jobs": 0.0,
        "queries of the log": DAYS * (load.pulls + 1) * small,
        "queries of the daily load": DAYS * load.tables * DAILY_QUERIES * small,
        "views": (DAYS * load.tables + load.new_versions) * refresh_price(prices),
        "files: storage": load.reads * month_gb * load.files_days / DAYS * prices.file_gb,
        "files: writes": DAYS * load.tables * (load.pulls + 1) / 1e6 * prices.million_writes,
        "storage of the tables": month_gb * (hot * prices.active_gb + (load.months - hot) * prices.long_term_gb),
    }


def table() -> str:
    """The table of the page: pulls every 15 minutes beside pulls every hour."""
    often, hourly = monthly(PullWorkload()), monthly(PullWorkload(pulls=24))
    rows = [f"| {name} | {cost:,.2f} | {hourly[name]:,.2f} |" for name, cost in often.items()]
    total = f"| **together** | **{sum(often.values()):,.2f}** | **{sum(hourly.values()):,.2f}** |"
    return "\n".join(["| what | every 15 minutes | every hour |", "|---|---|---|", *rows, total])


if __name__ == "__main__":
    print(table())
