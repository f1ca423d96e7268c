"""What a table costs a month by formula. Each formula names its source; docs/explanation/cost.md explains them.

A month has 30 days. What is free each month is not deducted. Bytes are logical bytes, as BigQuery bills them: clustering may
make a query cheaper, never dearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from onefold.cost.prices import GB, TIB, Prices

Line = Literal["merges", "current views", "checks", "pulls", "functions", "storage", "other queries"]
LINES: tuple[Line, ...] = get_args(Line)
DAYS = 30
SECONDS = DAYS * 86_400
LEAST_QUERY = 10 * 2**20
"""Bytes that BigQuery bills at least for each table of a query (https://cloud.google.com/bigquery/pricing, 2026-11)."""
STATEMENTS = 6
"""Small statements of a merge, the values of its keys among them, each billed as the least query."""
DAILY_QUERIES = 6
"""Small queries of the daily load of a table, each billed as the least query."""
PULL_READS = 3
"""How often a changed row becomes part of a file: by its pull, by the next one because of the overlap, by the daily load."""
MESSAGE_SHARE = 1.5
"""Bytes of a message for each byte of its rows in their table."""
FLUSH_SECONDS, MESSAGE_BYTES = 0.5, 400_000
"""How long captured rows wait for others at most, by default, and the largest message with rows."""
SINK_SECONDS = 0.5
"""Of one CPU and one GiB for a message to the sink, at most."""
REFRESH_SECONDS, REFRESH_GIB = 1.5, 0.5
"""Of one CPU for a refresh, with its memory, at most."""
BATCH_CORES, DISK_GB = 12, 100
"""Of the smallest batch: a driver and two executors of four cores, each core with its disk."""
FILES_DAYS = 30


@dataclass(frozen=True)
class TableUsage:
    """What is in a table, and what is done with it. Bytes are logical; what happens is a day's unless it says otherwise.

    base_rows: rows of the base.
    base_bytes: their bytes.
    key_bytes: bytes of the key and the position of a row of the base.
    active_bytes: bytes of all versions that were written within 90 days.
    long_term_bytes: bytes of all versions that are older.
    landed_bytes: bytes that land.
    landed_rows: rows that land.
    rows_per_message: of the messages that bring them; 0 where no message does.
    merges: merges into the base; 0 where there is none.
    reads: queries of the current view.
    read_share: the share of the bytes of a row that such a query reads.
    checks: checks of the whole table.
    pulls: pulls of the table; 0 where it is captured.
    new_versions: a month.
    """

    base_rows: float = 0
    base_bytes: float = 0
    key_bytes: float = 160
    active_bytes: float = 0
    long_term_bytes: float = 0
    landed_bytes: float = 0
    landed_rows: float = 0
    rows_per_message: float = 0
    merges: float = 0
    reads: float = 0
    read_share: float = 1
    checks: float = 0
    pulls: float = 0
    new_versions: float = 0

    @property
    def history_bytes(self) -> float:
        return self.active_bytes + self.long_term_bytes


@dataclass(frozen=True)
class SharedUsage:
    """What many tables share.

    servers: captured servers, each with an instance that always runs.
    batches: batches of pulls a day.
    batch_minutes: minutes of such a batch.
    """

    servers: float = 0
    batches: float = 0
    batch_minutes: float = 3


@dataclass(frozen=True)
class Charge:
    """What one line costs a month.

    Attributes:
        bytes: bytes that are billed, stored or landed.
        usd: the price.
        measured: whether the bytes are from the log of jobs, or physical ones, and not from a formula.
    """

    bytes: float = 0
    usd: float = 0
    measured: bool = False

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.bytes + other.bytes, self.usd + other.usd, self.measured or other.measured)

    def times(self, factor: float) -> Charge:
        """Return the charge of so many equal tables."""
        return Charge(self.bytes * factor, self.usd * factor, self.measured)


Charges = dict[Line, Charge]


def table_charges(usage: TableUsage, prices: Prices) -> Charges:
    """Return what a table costs a month, by line."""
    queries: dict[Line, float] = {
        "merges": merge_bytes(usage), "current views": read_bytes(usage), "checks": check_bytes(usage),
    }  # fmt: skip
    return {
        **{line: Charge(size * DAYS, prices.query(size * DAYS)) for line, size in queries.items()},
        "pulls": _pull_charge(usage, prices),
        "functions": _function_charge(usage, prices),
        "storage": _storage_charge(usage, prices),
        "other queries": Charge(),
    }


def shared_charges(shared: SharedUsage, prices: Prices) -> Charges:
    """Return what many tables share, by line."""
    instance = SECONDS * (prices.always_cpu_second + prices.always_gib_second)
    hours = shared.batches * DAYS * shared.batch_minutes / 60
    disks = hours / (DAYS * 24) * BATCH_CORES * DISK_GB * prices.disk_gb
    log = shared.batches * DAYS * LEAST_QUERY
    return {
        "functions": Charge(0, shared.servers * instance),
        "pulls": Charge(log, hours * BATCH_CORES * prices.dcu_hour + disks + prices.query(log)),
    }


def merge_bytes(usage: TableUsage) -> float:
    """Return the bytes that the merges of a day bill.

    A MERGE that updates bills what it reads, here the keys and positions of the base and what landed, and in addition all
    columns of the table that it updates (BigQuery, "DML statements", on-demand query size calculation,
    https://cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax, 2026-11). What landed is read twice, by the
    MERGE and by the count.
    """
    base = usage.base_bytes + usage.base_rows * usage.key_bytes + STATEMENTS * LEAST_QUERY
    landed = 2 * usage.landed_bytes * days_merged(usage.merges) if usage.merges else 0.0
    return usage.merges * base + landed


def days_merged(merges: float) -> float:
    """Return how many days of changes the merges of a day read at most.

    A partition holds a day and is read whole: the first merge of a day reads the day before, and each one what the day has
    by then. A merge that comes after several days reads these days and its own.

    Examples:
        >>> days_merged(1), days_merged(24), days_merged(1 / 7) * 7
        (2.0, 13.5, 8.0)
    """
    return 1 + (merges + 1) / 2 if merges >= 1 else 1 + merges


def read_bytes(usage: TableUsage) -> float:
    """Return the bytes that the queries of a current view of a day bill: partitions are pruned, clusters are not.

    With a base a query reads its columns, twice the keys and positions, and what landed since the last merge; without one
    it reads the whole history.
    """
    if not usage.base_rows:
        return usage.reads * max(LEAST_QUERY, usage.read_share * usage.history_bytes)
    base = usage.read_share * usage.base_bytes + 2 * usage.base_rows * usage.key_bytes
    return usage.reads * max(LEAST_QUERY, base + days_unmerged(usage.merges) * usage.landed_bytes)


def days_unmerged(merges: float) -> float:
    """Return the days of changes that a query reads on average: since the day of the last merge began.

    Examples:
        >>> days_unmerged(1), days_unmerged(1 / 7)
        (1.0, 4.0)
    """
    return 0.5 + 0.5 / merges if merges else 0.0


def check_bytes(usage: TableUsage) -> float:
    """Return the bytes that the checks of a day bill: each reads the whole view once, where its chunks prune clusters."""
    whole = TableUsage(**{**vars(usage), "reads": 1, "read_share": 1})
    return usage.checks * read_bytes(whole)


def refresh_price(prices: Prices) -> float:
    """Return what one refresh of a view costs: a least query, a function, a request, a message, two log lines."""
    function = REFRESH_SECONDS * (prices.cpu_second + REFRESH_GIB * prices.gib_second)
    others = prices.million_requests / 1e6 + 2_000 / TIB * prices.pubsub_tib + 2_000 / 2**30 * prices.log_gib
    return prices.query(LEAST_QUERY) + function + others


def rows_per_message(rows: float, size: float, servers: float = 1) -> float:
    """Return how many rows a message has: those that a server changes in half a second, in all tables, up to a full message.

    Args:
        rows: captured rows a day, of all servers.
        size: bytes of a row in its table.
        servers: captured servers.

    Examples:
        >>> [rows_per_message(86_400 * 100, 1_000, servers) for servers in (1, 10, 1_000)]
        [50.0, 5.0, 1.0]
    """
    waiting = rows / max(1.0, servers) / 86_400 * FLUSH_SECONDS
    return min(max(1.0, waiting), MESSAGE_BYTES / max(1.0, MESSAGE_SHARE * size))


def message_price(prices: Prices) -> float:
    """Return what the sink costs for one message."""
    return SINK_SECONDS * (prices.cpu_second + prices.gib_second) + prices.million_requests / 1e6


def _function_charge(usage: TableUsage, prices: Prices) -> Charge:
    """Return the messages, the sink, the Storage Write API and the refreshes: one a night and one for each new version."""
    refreshes = (DAYS + usage.new_versions) * refresh_price(prices)
    if not usage.rows_per_message:
        return Charge(0, refreshes)
    landed = usage.landed_bytes * DAYS
    messages = usage.landed_rows * DAYS / usage.rows_per_message * message_price(prices)
    carried = 2 * MESSAGE_SHARE * landed / TIB * prices.pubsub_tib + landed / GB * prices.write_gb
    return Charge(landed, refreshes + messages + carried)


def _pull_charge(usage: TableUsage, prices: Prices) -> Charge:
    """Return the queries of the daily load, and the files of pulls, which are kept for 30 days. Load jobs are free."""
    if not usage.pulls:
        return Charge()
    queries = DAYS * DAILY_QUERIES * LEAST_QUERY
    files = PULL_READS * usage.landed_bytes * DAYS
    writes = DAYS * (usage.pulls + 1) / 1e6 * prices.million_writes
    return Charge(queries, prices.query(queries) + files / GB * FILES_DAYS / DAYS * prices.file_gb + writes)


def _storage_charge(usage: TableUsage, prices: Prices) -> Charge:
    """Return the base and the versions; what was not changed for 90 days costs half."""
    active = usage.base_bytes + usage.active_bytes
    usd = active / GB * prices.active_gb + usage.long_term_bytes / GB * prices.long_term_gb
    return Charge(active + usage.long_term_bytes, usd)


def physical_charge(active: float, long_term: float, prices: Prices) -> Charge:
    """Return the storage of physical bytes, for datasets that bill them.

    Args:
        active: those that were changed within 90 days, with time travel.
        long_term: those that were not.
        prices: the prices.
    """
    usd = active / GB * prices.active_physical_gb + long_term / GB * prices.long_term_physical_gb
    return Charge(active + long_term, usd, measured=True)
