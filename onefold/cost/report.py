"""The report of `onefold cost`: charges by table and line, their sums, and the changes that save most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onefold.cost.formulas import LINES, Charge, Charges, Line, SharedUsage, TableUsage, shared_charges
from onefold.cost.prices import Prices


@dataclass(frozen=True)
class TableCost:
    """What a table costs a month, or a group of equal tables.

    Attributes:
        name: the table, or the group.
        usage: what one of the tables holds, and what is done with it.
        charges: what one of them costs.
        count: the number of equal tables.
        physical: physical bytes, active and long-term; None where they are not known.
    """

    name: str
    usage: TableUsage
    charges: Mapping[Line, Charge]
    count: int = 1
    physical: tuple[float, float] | None = None

    @property
    def all_charges(self) -> Charges:
        """What all of the equal tables cost, by line."""
        return {line: charge.times(self.count) for line, charge in self.charges.items()}

    @property
    def usd(self) -> float:
        return sum(charge.usd for charge in self.all_charges.values())

    def as_dict(self) -> dict[str, Any]:
        return {"table": self.name, "tables": self.count, "usd": _cents(self.usd), "lines": lines_as_dict(self.all_charges)}


@dataclass(frozen=True)
class Saving:
    """A change that saves money.

    Attributes:
        subject: the table, the group or the dataset.
        text: what to do.
        effect: what is worse then; what to think of before.
        usd: what it saves a month.
    """

    subject: str
    text: str
    effect: str
    usd: float

    def as_dict(self) -> dict[str, Any]:
        return {"subject": self.subject, "change": self.text, "effect": self.effect, "usd": _cents(self.usd)}


@dataclass(frozen=True)
class CostReport:
    """What a dataset or a plan costs a month.

    Attributes:
        subject: the dataset, or the file of the plan.
        tables: the tables, the most expensive first.
        shared: what they share.
        prices: the prices.
        days: the days of the log of jobs that count; 0 where all is by formula.
        warnings: what is not known, and what was assumed in its place.
    """

    subject: str
    tables: tuple[TableCost, ...]
    shared: SharedUsage
    prices: Prices
    days: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def shared_charges(self) -> Charges:
        return shared_charges(self.shared, self.prices)

    @property
    def sums(self) -> Charges:
        """What all tables cost together, by line, with what they share."""
        return added([*(one.all_charges for one in self.tables), self.shared_charges])

    @property
    def usd(self) -> float:
        return sum(charge.usd for charge in self.sums.values())

    def as_dict(self, changes: Iterable[Saving]) -> dict[str, Any]:
        """Return the entry of `--json`."""
        return {
            "subject": self.subject,
            "usd": _cents(self.usd),
            "days": self.days,
            "lines": lines_as_dict(self.sums),
            "shared": lines_as_dict(self.shared_charges),
            "tables": [one.as_dict() for one in self.tables],
            "changes": [one.as_dict() for one in changes],
            "prices": dict(vars(self.prices)),
        }


def added(parts: Iterable[Mapping[Line, Charge]]) -> Charges:
    """Return the sums of charges, by line."""
    sums = dict.fromkeys(LINES, Charge())
    for part in parts:
        sums |= {line: sums[line] + charge for line, charge in part.items()}
    return sums


def lines_as_dict(charges: Mapping[Line, Charge]) -> dict[str, Any]:
    """Return charges as JSON has them."""
    return {
        line: {"bytes": round(one.bytes), "usd": _cents(one.usd), "measured": one.measured} for line, one in charges.items()
    }


def _cents(usd: float) -> float:
    return round(usd, 4)
