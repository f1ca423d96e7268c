"""How long the view's text takes, and how large each form is. Run: `make bench`.

Versions x columns in {10, 100, 1000} x {30, 300}; two columns change their type once, and every tenth version brings a
new column. The time is the best of five, the growth the exponent between neighbouring rows (1.0 is linear in the columns
of all versions together). The last two columns are the characters of a form; in two levels, the
leaves together have about those of the compact one.
"""

from __future__ import annotations

import math
import time

from rich.console import Console
from rich.table import Table

import onefold.view as view_module
from onefold.names import TableId
from onefold.rules import Rules
from onefold.types import parse_type
from onefold.versions import Column, Version, fold
from onefold.view import UnifiedView, build_view

BASE = TableId("a-project", "shop", "customer")
VIEW = TableId("a-project", "shop", "customer_unified")


def history(versions: int, columns: int) -> list[Version]:
    return [
        Version(
            f"{number * 7919:09x}",
            tuple(Column(name, parse_type(type_)) for name, type_ in _columns(number, versions, columns)),
        )
        for number in range(versions)
    ]


def _columns(number: int, versions: int, columns: int) -> list[tuple[str, str]]:
    changing = [
        ("created", "DATE" if number < versions / 2 else "STRING"),
        ("amount", "INT64" if number < versions / 3 else "STRING"),
    ]
    plain = [(f"column_{place}", "STRING") for place in range(columns - len(changing))]
    added = [(f"added_{place}", "STRING") for place in range(1, number // 10 + 1)]
    return changing + plain + added


def best_of_five(versions: list[Version]) -> tuple[float, UnifiedView]:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        result = build_view(VIEW, BASE, versions, Rules())
        times.append(time.perf_counter() - started)
    return min(times), result


def sizes(versions: list[Version]) -> dict[str, int]:
    """Characters of each form, whether or not it fits."""
    writer = view_module._Writer(BASE, fold(versions, Rules()), Rules())
    view_module.MAX_TEXT, limit = 10**12, view_module.MAX_TEXT
    spelled = writer.spelled(versions) or ""
    view_module.MAX_TEXT = limit
    return {"spelled": len(spelled), "compact": len(writer.compact(versions))}


def main() -> None:
    table = Table("versions", "columns", "form", "ms", "us per column", "growth", "spelled", "compact")
    for columns in (30, 300):
        before: tuple[int, float] | None = None
        for count in (10, 100, 1000):
            versions = history(count, columns)
            seconds, view = best_of_five(versions)
            work = sum(len(version.columns) for version in versions)
            growth = f"{math.log(seconds / before[1]) / math.log(work / before[0]):.2f}" if before else ""
            before = (work, seconds)
            figures = (f"{seconds * 1000:.1f}", f"{seconds / work * 1e6:.2f}", growth)
            table.add_row(str(count), str(columns), view.form, *figures, *(f"{size:,}" for size in sizes(versions).values()))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
