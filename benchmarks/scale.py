"""What breaks first with many tenants, by simulation: `python -m benchmarks.scale` writes the tables and charts of the page.

It simulates two minutes of capture and the sink, a restart of all captures, and the merge job of a day, and counts what a
day of pulls and of queries asks for. Nothing of it runs in a cloud. Times of work are those of docs/benchmarks.md and of
infra/functions.tf, or assumptions that say so; quotas are those of docs/reference/limits.md. A limit lets work wait here,
and does not let it fail, which is kinder than the truth.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from benchmarks.scale_engine import Connections, Lags, Pool, RequestLimit, Simulation, poisson, tables_of, zipf
from onefold.cost.formulas import DAYS, SharedUsage, TableUsage, merge_bytes, message_price, read_bytes, shared_charges
from onefold.cost.prices import TIB, list_prices

TABLES = 300
ROWS_OF_TENANT = 0.5
"""Changed rows a second of one tenant: 5,000 of 10,000 tenants."""
TENANTS_OF_SERVER = 100
LARGEST_ROWS = 2e9 / 10_000
"""Rows of one tenant in the largest table: 2 billion of 10,000 tenants."""
CHANGING = 0.02
"""The share of tables whose structure changes in a week, in the databases of all tenants."""
PULLED_SHARE = 0.001
"""The share of the pulled tables of a tenant that have new rows within a quarter of an hour."""
BATCH_MINUTES = {False: 3, True: 10}
"""Of a batch that pulls one database, and of one that pulls all of a server: assumptions."""
STREAMS = 10_000
"""Streams of the Storage Write API that a project may create in an hour: each small pull takes one."""
READS = 50
"""Queries of each current view a day, nine of ten about one tenant."""
ROW_BYTES, LANDED_BYTES = 500, 1_000
SECONDS = 120.0
APPEND, OPEN, NEXT_TABLE = 0.1, 0.3, 0.0025
"""Seconds of an append (infra/functions.tf), of opening a connection, an assumption, and of a further table in a message
(docs/benchmarks.md, messages to the sink)."""
CONCURRENCY, CACHED = 4, 25
"""Messages that an instance of the sink works on at once, and connections that it keeps (infra/functions.tf)."""
REFRESHES, CALL, REFRESH = 40, 0.15, 1.5
"""Refreshes at once (infra/functions.tf); seconds of a call, an assumption, and of a refresh (docs/explanation/cost.md)."""
MERGE_START, MERGE_BYTES = 16.0, 2e9
"""Seconds of a merge without its MERGE (docs/benchmarks.md, a small batch); bytes a second of a MERGE, an assumption."""


@dataclass(frozen=True)
class Design:
    """What the changes of the design are about.

    rows_of_many_tables: whether a message has rows of many tables.
    flush_seconds: how long rows wait for others.
    instances: of the sink, at most.
    multiplexed: whether tables share the connections of an instance.
    announced: tables in an announcement when capture starts.
    batch_for_source: whether a batch and two schedules pull all databases of a server, and not one database.
    load_share: the share of pulls that take a load job; so do those beyond the quota of streams.
    versions: versioned tables for each change of a structure, of all tenants together.
    own_windows: whether a version that was never merged leaves the windows of the others as they are.
    parallel: tables that a merge job merges at once.
    by_need: whether only tables are merged of which a twentieth is new, or that were not merged for a week.
    key_bytes: of the key and position of a row of a base.
    tenant_share: the share of a base that a query about one tenant reads, after clusters are pruned.
    """

    rows_of_many_tables: bool = False
    flush_seconds: float = 0.5
    instances: int = 20
    multiplexed: bool = False
    announced: int = 1
    batch_for_source: bool = False
    load_share: float = 1.0
    versions: int = 5
    own_windows: bool = False
    parallel: int = 4
    by_need: bool = False
    key_bytes: float = 163
    tenant_share: float = 1.0


BEFORE = Design()
AFTER = Design(
    rows_of_many_tables=True, multiplexed=True, announced=100, batch_for_source=True, load_share=0.05, versions=1,
    own_windows=True, by_need=True, key_bytes=70, tenant_share=0.02,
)  # fmt: skip

QUOTAS: Mapping[str, float] = {
    "instances that the sink needs": 1_000,
    "connections of the Storage Write API": 5_000,
    "MB a second through the Storage Write API": 300,
    "services of Cloud Run, one for each server": 1_000,
    "minutes until a restart is announced": 5,
    "jobs of Cloud Scheduler": 5_000,
    "batches an hour": 12_000,
    "load jobs a day": 100_000,
    "new tables a second in a release": 10,
    "hours of a merge job": 4,
    "TiB of queries a day": 200,
    "versions of a table after five years": 999,
}
"""What docs/reference/limits.md says; five minutes for a restart are an aim, and four hours are the limit of the job."""
Figures = dict[str, float]
Message = tuple[float, list[tuple[int, int]]]
"""When it was sent, and the tables of its rows with the number of rows of each."""


def servers(tenants: int) -> int:
    return max(1, tenants // TENANTS_OF_SERVER)


def simulate(tenants: int, design: Design, seconds: float = SECONDS, seed: int = 1) -> Figures:
    """Return all figures of a number of tenants with a design."""
    found = {**stream(tenants, design, seconds, seed), **restart(tenants, design), **pulls(tenants, design)}
    return {**found, **merges(tenants, design), **views(tenants, design)}


def limits(design: Design) -> Figures:
    """Return the quotas, with the instances that a design allows the sink in place of those that a region has."""
    return {**QUOTAS, "instances that the sink needs": min(QUOTAS["instances that the sink needs"], design.instances)}


def broken(figures: Figures, design: Design) -> list[tuple[str, float]]:
    """Return the quotas that are exceeded, with how many times, the worst first."""
    over = [(name, figures[name] / limit) for name, limit in limits(design).items() if figures[name] > limit]
    return sorted(over, key=lambda one: -one[1])


def stream(tenants: int, design: Design, seconds: float, seed: int) -> Figures:
    """Simulate captures that send messages and the sink that lands their rows."""
    simulation, chance, weights, lags = Simulation(), random.Random(seed), zipf(TABLES), Lags()
    caches = [Connections(CACHED) for _ in range(design.instances)]

    def work(piece: Message) -> float:
        _, tables = piece
        cache = chance.choice(caches)
        opened = 0 if design.multiplexed else sum(cache.use(table) for table, _ in tables)
        return simulation.now + APPEND + opened * OPEN + (len(tables) - 1) * NEXT_TABLE

    def done(piece: Message) -> None:
        sent, tables = piece
        for _, rows in tables:
            lags.add(simulation.now - sent + chance.uniform(0, design.flush_seconds), rows)

    sink = Pool(simulation, design.instances * CONCURRENCY, work, done)
    sent_rows = 0

    def flush() -> None:
        nonlocal sent_rows
        tables = list(tables_of(chance, poisson(chance, rate * design.flush_seconds), weights))
        sent_rows += sum(rows for _, rows in tables)
        for message in _messages(tables, design):
            sink.add((simulation.now, message))
        if simulation.now + design.flush_seconds <= seconds:
            simulation.at(simulation.now + design.flush_seconds, flush)

    rate = tenants * ROWS_OF_TENANT / servers(tenants)
    for _ in range(servers(tenants)):
        simulation.at(chance.uniform(0, design.flush_seconds), flush)
    simulation.run(seconds)
    return _stream_figures(tenants, design, sink, caches, lags, sent_rows / seconds, seconds)


def _messages(tables: list[tuple[int, int]], design: Design) -> Iterator[list[tuple[int, int]]]:
    if design.rows_of_many_tables:
        yield from [tables] if tables else []
    else:
        yield from ([one] for one in tables)


def _stream_figures(
    tenants: int, design: Design, sink: Pool[Message], caches: list[Connections], lags: Lags, rows: float, seconds: float
) -> Figures:
    messages = sink.taken / seconds
    service = sink.seconds / sink.finished
    return {
        "rows a second": rows,
        "messages a second": messages,
        "rows in a message": rows / messages if messages else 0,
        "rows landed a second": lags.rows / seconds,
        "messages that wait in the end": len(sink.waiting),
        "lag, median, s": lags.quantile(0.5),
        "lag, 99 %, s": lags.quantile(0.99),
        "connections opened a second": sum(one.opened for one in caches) / seconds,
        "instances that the sink needs": messages * service / CONCURRENCY,
        "connections of the Storage Write API": design.instances * (CONCURRENCY if design.multiplexed else CACHED),
        "MB a second through the Storage Write API": rows * LANDED_BYTES / 1e6,
        "services of Cloud Run, one for each server": servers(tenants),
        "sink, USD a month": messages * DAYS * 86_400 * message_price(list_prices()),
    }


def restart(tenants: int, design: Design) -> Figures:
    """Simulate that all captures start at once and announce their tables: each asks for the view and for the table."""
    simulation, limit = Simulation(), RequestLimit(100)

    def work(_: int) -> float:
        if design.announced > 1:
            return limit.take(simulation.now) + REFRESH
        first, second = (limit.take(simulation.now) for _ in range(2))
        return max(first + CALL, second) + CALL

    views = Pool(simulation, REFRESHES, work)
    for number in range(servers(tenants) * -(-TABLES // design.announced)):
        views.add(number)
    simulation.run()
    return {"requests of a restart": limit.sent, "minutes until a restart is announced": simulation.now / 60}


def pulls(tenants: int, design: Design) -> Figures:
    """Return what a day asks for where the same tenants are pulled every quarter of an hour, and not captured."""
    databases = servers(tenants) if design.batch_for_source else tenants
    changed = tenants * TABLES * PULLED_SHARE * 96
    batches = databases * (4 + 1 / 24)
    release = TABLES * CHANGING * tenants / 3_600
    minutes = BATCH_MINUTES[design.batch_for_source]
    shared = shared_charges(SharedUsage(batches=batches * 24, batch_minutes=minutes), list_prices())["pulls"].usd
    return {
        "jobs of Cloud Scheduler": 2 * databases,
        "batches an hour": batches,
        "load jobs a day": max(changed * design.load_share, changed - STREAMS * 24),
        "new tables a second in a release": release,
        "batches, USD a month": shared,
    }


def usages(tenants: int, design: Design) -> list[TableUsage]:
    """Return the usage of each table: rows and changes by Zipf's law, each in an order of its own."""
    total, changed = zipf(TABLES)[-1], random.Random(1).sample(range(1, TABLES + 1), TABLES)
    found = []
    for rank, busy in enumerate(changed, 1):
        rows, changes = tenants * LARGEST_ROWS / rank, tenants * ROWS_OF_TENANT * 86_400 / busy / total
        usage = TableUsage(
            base_rows=rows, key_bytes=design.key_bytes, landed_rows=changes, merges=1, reads=READS, read_share=0.2
        )
        found.append(replace(usage, base_bytes=rows * (ROW_BYTES + design.key_bytes), landed_bytes=changes * LANDED_BYTES))
    return [replace(one, merges=_merges(one)) if design.by_need else one for one in found]


def _merges(usage: TableUsage) -> float:
    """Return how often a table is merged a day where need decides: daily at most, weekly at least."""
    return min(1.0, max(1 / 7, usage.landed_bytes / (0.05 * usage.base_bytes)))


def merges(tenants: int, design: Design) -> Figures:
    """Simulate the merge job of a day, on which each table is due that is merged daily, and a seventh of the weekly ones."""
    simulation, tables = Simulation(), usages(tenants, design)
    chance = random.Random(1)
    due = [one for one in tables if chance.random() < one.merges]
    job: Pool[TableUsage] = Pool(simulation, design.parallel, lambda one: simulation.now + _seconds_of_merge(one))
    for one in due:
        job.add(one)
    simulation.run()
    billed = sum(merge_bytes(one) for one in tables)
    return {
        "merges a day": sum(one.merges for one in tables),
        "hours of a merge job": simulation.now / 3_600,
        "merges, USD a month": list_prices().query(billed * DAYS),
        "TiB of merges a day": billed / TIB,
    }


def _seconds_of_merge(table: TableUsage) -> float:
    return MERGE_START + (table.base_bytes + 2 * table.landed_bytes) / MERGE_BYTES


def views(tenants: int, design: Design) -> Figures:
    """Return what queries of current views read: nine of ten are about one tenant."""
    changes = TABLES * CHANGING / 7 / TABLES * design.versions
    unmerged = 0 if design.own_windows else min(1.0, changes)
    read = 0.0
    for one in usages(tenants, design):
        whole = read_bytes(one)
        share = 0.1 + 0.9 * design.tenant_share
        read += share * whole + unmerged * READS * 365 * one.landed_bytes * share
    merged = sum(merge_bytes(one) for one in usages(tenants, design))
    return {
        "TiB of queries a day": (read + merged) / TIB,
        "queries, USD a month": list_prices().query(read * DAYS),
        "versions of a table after five years": 5 * 52 * CHANGING * design.versions,
    }


def main() -> None:
    """Simulate all scenarios, and write the page."""
    from benchmarks.scale_page import tables, write

    scenarios = [(tenants, simulate(tenants, BEFORE), simulate(tenants, AFTER)) for tenants in (100, 1_000, 10_000)]
    beyond = [(tenants, simulate(tenants, BEFORE, 5), simulate(tenants, AFTER, 5)) for tenants in (20_000, 50_000)]
    write(scenarios, beyond)
    print("\n\n".join(tables(scenarios, beyond).values()))


if __name__ == "__main__":
    main()
