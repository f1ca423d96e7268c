"""What the tables of a dataset cost: their metadata, and the log of jobs of the last days, where the account may read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from onefold.changelog.base_columns import PACKED
from onefold.core.errors import AccessDenied, NotFound
from onefold.core.names import TableId
from onefold.cost.formulas import (
    DAYS,
    LINES,
    Charge,
    Charges,
    Line,
    SharedUsage,
    TableUsage,
    physical_charge,
    rows_per_message,
    table_charges,
)
from onefold.cost.jobs import Kind, Measured, measured
from onefold.cost.prices import Prices
from onefold.cost.report import CostReport, TableCost
from onefold.inventory.contents import Contents, base_datasets, read_contents
from onefold.inventory.summary import TableSummary, summaries
from onefold.merge.base_table import base_table, log_of
from onefold.ports.existing import StoredLayout
from onefold.ports.usage import LoggedJobs, StoredBytes
from onefold.settings.environment import Settings

_ACTIVE_DAYS = 90
_TEXT_POSITION, _PACKED_POSITION, _KEY = 128, 39, 34
"""Bytes of a position as text and as bytes, and of the other columns of a key: tenant, source and a number, about."""
_QUERY_LINES: tuple[Line, ...] = ("merges", "current views", "checks", "pulls", "other queries")
_NO_LOG = (
    "the log of jobs is not known: {error}; assumed are a merge of each base and ten queries of each current view a day, "
    "and no check"
)


@dataclass(frozen=True)
class _Stored:
    """What is stored for one table.

    versions: its versions, or the table itself.
    base: its base; None where there is none.
    log: the log of its merges; None where there is none.
    layout: the layout of its base.
    """

    summary: TableSummary
    versions: tuple[StoredBytes, ...] = ()
    base: StoredBytes | None = None
    log: StoredBytes | None = None
    layout: StoredLayout | None = None

    @property
    def parts(self) -> list[StoredBytes]:
        return [*self.versions, *(one for one in (self.base, self.log) if one)]


@dataclass
class _Names:
    """Which stored table belongs to which, by `dataset.table`."""

    owners: dict[str, tuple[str, Kind]] = field(default_factory=dict)

    def add(self, base: str, kind: Kind, tables: Iterable[TableId]) -> None:
        self.owners |= {f"{one.dataset}.{one.table}": (base, kind) for one in tables}


def read_costs(
    warehouse: Any, dataset: str, pattern: str, settings: Settings, prices: Prices, days: int, now: datetime | None = None
) -> CostReport:
    """Return what the tables of a dataset cost a month.

    Args:
        warehouse: a `UsageWarehouse`, a `ListingWarehouse` and an `ExistingWarehouse`.
        dataset: the dataset.
        pattern: of the names of its tables.
        settings: those of the installation.
        prices: the prices.
        days: the days of the log of jobs that count.
        now: the present time.

    Raises:
        NotFound: there is no such dataset, or no table that the pattern matches.
        AccessDenied: the account may not read how much tables store.
    """
    contents = read_contents(warehouse, dataset, settings)
    settings = settings.with_plain(dataset, contents.plain).with_listed(dataset, contents.labels)
    known = list(summaries(warehouse, dataset, contents, settings, now=now))
    chosen = [one for one in known if fnmatchcase(one.table.table, pattern)]
    if not chosen:
        raise NotFound(
            f"dataset {warehouse.project}.{dataset} has no table {pattern}: `onefold tables '{dataset}.*'` shows all"
        )
    datasets = [dataset, *base_datasets(settings, warehouse.project, dataset)]
    stored, names = _stored(warehouse, contents, settings, known, datasets)
    log, warning = _read_log(warehouse, datasets, days)
    found = measured(log, names.owners.get) if log is not None else None
    share = {one.table.table for one in chosen}
    usages = _with_messages({one.summary.table.table: _usage(one, now or datetime.now(UTC)) for one in stored})
    tables = [_cost(one, usages[name], found, days, prices) for one in stored if (name := one.summary.table.table) in share]
    shared = SharedUsage(batches=max((one.usage.pulls for one in tables), default=0))
    warnings = (*contents.warnings, *filter(None, (warning, _reserved(log or ()))))
    ordered = tuple(sorted(tables, key=lambda one: (-one.usd, one.name)))
    return CostReport(dataset, ordered, shared, prices, days if found is not None else 0, warnings)


def _stored(
    warehouse: Any, contents: Contents, settings: Settings, known: Sequence[TableSummary], datasets: Sequence[str]
) -> tuple[list[_Stored], _Names]:
    """Return what is stored for each table, and which table belongs to which."""
    sizes = {f"{name}.{table}": one for name in datasets for table, one in _listed(warehouse.list_stored, name, datasets[0])}
    layouts = {
        f"{name}.{table}": one for name in datasets for table, one in _listed(warehouse.list_layouts, name, datasets[0])
    }
    versions: dict[str, list[TableId]] = defaultdict(list)
    naming = settings.names_in(datasets[0])
    for table in contents.labels:
        if split := naming.split(table):
            versions[split[0]].append(known[0].table.sibling(table))
    names, found = _Names(), []
    for one in known:
        place = settings.rules_for(one.table).base_place(one.table)
        own = versions.get(one.table.table) or [one.table]
        base, log = base_table(place), log_of(place)
        names.add(one.table.table, "version", own)
        names.add(one.table.table, "base", [base])
        names.add(one.table.table, "log", [log])
        key, of_log = f"{base.dataset}.{base.table}", f"{log.dataset}.{log.table}"
        rows = tuple(sizes[id_] for table in own if (id_ := f"{table.dataset}.{table.table}") in sizes)
        found.append(_Stored(one, rows, sizes.get(key), sizes.get(of_log), layouts.get(key)))
    return found, names


def _listed(read: Callable[[str], Mapping[str, Any]], dataset: str, first: str) -> Iterable[tuple[str, Any]]:
    """Return what a listing of a dataset tells; nothing where a dataset for bases does not exist yet.

    Raises:
        NotFound: the first dataset does not exist.
    """
    try:
        return read(dataset).items()
    except NotFound:
        if dataset == first:
            raise
        return ()


def _read_log(warehouse: Any, datasets: Collection[str], days: int) -> tuple[Sequence[LoggedJobs] | None, str]:
    """Return the log of jobs, or None with a warning."""
    try:
        return warehouse.list_jobs(datasets, days), ""
    except (AccessDenied, NotFound) as error:
        return None, _NO_LOG.format(error=error)


def _reserved(log: Sequence[LoggedJobs]) -> str:
    """Return a warning about jobs whose bytes are not billed; empty where there are none."""
    reserved = sum(one.reserved for one in log)
    if not reserved:
        return ""
    return f"{reserved:,} of {sum(one.jobs for one in log):,} jobs ran in a reservation: what their slots cost is not shown"


def _with_messages(usages: dict[str, TableUsage]) -> dict[str, TableUsage]:
    """Return usages with the rows of a message: those of all captured tables in half a second, as of one server."""
    captured = [one for one in usages.values() if one.rows_per_message]
    rows, size = (sum(getattr(one, name) for one in captured) for name in ("landed_rows", "landed_bytes"))
    in_message = rows_per_message(rows, size / max(1.0, rows))
    return {name: replace(one, rows_per_message=in_message if one.rows_per_message else 0) for name, one in usages.items()}


def _cost(stored: _Stored, usage: TableUsage, log: Mapping[str, Measured] | None, days: int, prices: Prices) -> TableCost:
    name = stored.summary.table.table
    charges = table_charges(_assumed(usage), prices)
    if log is not None:
        found = log.get(name, Measured())
        usage = _with_counts(usage, found, days)
        charges = _with_log(table_charges(usage, prices), found, days, prices)
    else:
        usage = _assumed(usage)
    physical = _physical(stored)
    if physical and any(one.is_physical for one in stored.parts):
        return TableCost(name, usage, charges | {"storage": physical_charge(*physical, prices)})
    return TableCost(name, usage, charges, physical=physical)


def _usage(stored: _Stored, now: datetime) -> TableUsage:
    """Return what the metadata tell. What landed is what versions stored within 90 days, or since they were created."""
    active = float(sum(one.active for one in stored.versions))
    daily = [(one, _age(one, now)) for one in stored.versions]
    landed = sum(one.active / days for one, days in daily)
    total = sum(one.active + one.long_term for one in stored.versions)
    rows = sum(one.rows for one in stored.versions)
    base = stored.base
    pulled = stored.summary.kind == "pulled"
    return TableUsage(
        base_rows=base.rows if base else 0,
        base_bytes=base.active + base.long_term if base else 0,
        key_bytes=_key_bytes(stored.layout),
        active_bytes=active,
        long_term_bytes=total - active,
        landed_bytes=landed,
        landed_rows=landed * rows / total if total else 0,
        rows_per_message=1 if stored.summary.kind == "captured" else 0,
        pulls=1 if pulled else 0,
    )


def _age(one: StoredBytes, now: datetime) -> float:
    """Return the days in which the active bytes of a table came."""
    return _ACTIVE_DAYS if one.created is None else min(_ACTIVE_DAYS, max(1.0, (now - one.created).total_seconds() / 86_400))


def _key_bytes(layout: StoredLayout | None) -> float:
    is_packed = layout is not None and any(one.name == PACKED for one in layout.columns)
    return _KEY + (_PACKED_POSITION if is_packed else _TEXT_POSITION)


def _assumed(usage: TableUsage) -> TableUsage:
    """Return a usage with what is assumed where the log of jobs is not known."""
    return replace(usage, merges=1 if usage.base_rows else 0, reads=10, read_share=0.2)


def _with_counts(usage: TableUsage, found: Measured, days: int) -> TableUsage:
    """Return a usage with how often something happened, by the log of jobs."""
    return replace(
        usage,
        merges=found.merges / days if usage.base_rows else 0,
        reads=found.jobs["current views"] / days,
        checks=found.jobs["checks"] / days,
        pulls=found.loads / days if usage.pulls else 0,
    )


def _with_log(charges: Charges, found: Measured, days: int, prices: Prices) -> Charges:
    """Return charges in which the log of jobs has replaced the formulas of queries. Files of pulls stay."""
    measured_: Charges = {}
    for line in LINES:
        size = found.billed[line] / days * DAYS
        formula = charges.get(line, Charge())
        others = formula.usd - prices.query(formula.bytes) if line == "pulls" else 0
        is_query = line in _QUERY_LINES
        measured_[line] = Charge(size, prices.query(size) + others, measured=True) if is_query else formula
    return measured_


def _physical(stored: _Stored) -> tuple[float, float] | None:
    parts = [(one.active_physical, one.long_term_physical) for one in stored.parts]
    if any(active is None for active, _ in parts):
        return None
    return float(sum(active or 0 for active, _ in parts)), float(sum(long or 0 for _, long in parts))
