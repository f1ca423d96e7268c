"""The changes that save most. Each is tried by the formulas: what the lines would cost after it, all else being equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from onefold.cost.formulas import Charge, Line, SharedUsage, TableUsage, physical_charge, shared_charges, table_charges
from onefold.cost.prices import Prices
from onefold.cost.report import CostReport, Saving, TableCost

WEEKLY = 1 / 7
FULL_MESSAGE = 100
"""Rows of a message beyond which the sink costs next to nothing."""
HOURLY = 24
LEAST_USD = 0.01
"""A change that saves less is not worth a line."""


def best_changes(report: CostReport, most: int = 3) -> list[Saving]:
    """Return the changes that save most, the best first; each as if it were the only one."""
    found = [*_shared_changes(report), *(change for table in report.tables for change in _table_changes(table, report))]
    worth = sorted((one for one in found if one.usd >= LEAST_USD), key=lambda one: (-one.usd, one.subject, one.text))
    return list(islice(worth, most))


def _table_changes(table: TableCost, report: CostReport) -> Iterator[Saving]:
    usage, prices = table.usage, report.prices

    def change(text: str, effect: str, after: TableUsage) -> Saving:
        return Saving(table.name, text, effect, table.count * _saved(table, after, prices))

    if usage.merges > 1:
        effect = "queries of the current view read what landed in a day; they are as up to date as before"
        yield change("merge it once a day", effect, replace(usage, merges=1))
    if usage.merges > WEEKLY and report.days and not usage.reads:
        effect = f"nobody has queried its current view in {report.days} days; the first one who does reads more"
        yield change("merge it once a week", effect, replace(usage, merges=WEEKLY))
    if usage.checks > WEEKLY:
        yield change("check it whole once a week", "a difference is found up to a week later", replace(usage, checks=WEEKLY))
    if usage.long_term_bytes:
        effect = "its base cannot be built anew from the history any more, and older changes are gone from the unified view"
        yield change("let partitions of its versions expire after 90 days", effect, replace(usage, long_term_bytes=0))


def _saved(table: TableCost, after: TableUsage, prices: Prices) -> float:
    """Return what a change saves: of a measured line, the share by which the formula falls."""
    now, then = table_charges(table.usage, prices), table_charges(after, prices)

    def saved(line: Line, charge: Charge) -> float:
        falls = now[line].usd - then[line].usd
        return charge.usd * falls / now[line].usd if charge.measured and now[line].usd else falls

    return sum(saved(line, charge) for line, charge in table.charges.items())


def _shared_changes(report: CostReport) -> Iterator[Saving]:
    small = [one for one in report.tables if 0 < one.usage.rows_per_message < FULL_MESSAGE]
    full = (_saved(one, replace(one.usage, rows_per_message=FULL_MESSAGE), report.prices) * one.count for one in small)
    text = f"let capture send messages of {FULL_MESSAGE} rows"
    yield Saving(report.subject, text, "rows land some seconds later", sum(full))
    if report.shared.batches > HOURLY:
        saved = _pull_usd(report.shared, report.prices) - _pull_usd(replace(report.shared, batches=HOURLY), report.prices)
        yield Saving(report.subject, "pull once an hour", "rows of pulled tables land up to an hour later", saved)
    if (saved := _physical_saving(report)) > 0:
        effect = "bytes of the last seven days that time travel keeps are billed, too"
        yield Saving(report.subject, "bill the storage of the dataset by physical bytes", effect, saved)


def _pull_usd(shared: SharedUsage, prices: Prices) -> float:
    return shared_charges(shared, prices)["pulls"].usd


def _physical_saving(report: CostReport) -> float:
    """Return what physical bytes would save; 0 where they are not known of all tables."""
    known = [one.physical for one in report.tables]
    if not known or None in known:
        return 0
    active, long_term = (sum(one[index] for one in known if one) for index in (0, 1))
    return report.sums["storage"].usd - physical_charge(active, long_term, report.prices).usd
