"""The time to render a view, and the size of each form. Run: `python -m benchmarks.render`.

Versions x columns in {10, 100, 1000} x {30, 300}; two columns change their type once, and every tenth version brings a
new column. The time is the best of five: it is one computation in one process, which others can only make slower. The growth
is the exponent between neighbouring rows (1.0 is linear in the columns of all versions together). The last two columns are
the characters of a form; in two levels, the leaves together have about those of the compact one.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence

import onefold.views.unified_view as view_module
from benchmarks.report import add_options, machine, markdown, publish
from onefold.core.names import TableId
from onefold.refresh.built_view import BuiltView
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version, fold
from onefold.views.unified_view import build_view

HEADING = "Rendering"
HEADER = ("versions", "columns", "form", "ms", "µs per column", "growth", "spelled, characters", "compact, characters")
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


def best_of_five(versions: list[Version]) -> tuple[float, BuiltView]:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        result = build_view(VIEW, BASE, versions, TableRules())
        times.append(time.perf_counter() - started)
    return min(times), result


def sizes(versions: list[Version]) -> dict[str, int]:
    """Return the characters of each form, even if they exceed the limit."""
    writer = view_module._Writer(BASE, fold(versions, TableRules()), TableRules())
    spelled = writer.spelled(versions, room=10**12) or ""
    return {"spelled": len(spelled), "compact": len(writer.compact(versions))}


def lines() -> list[tuple[str, ...]]:
    written = []
    for columns in (30, 300):
        before: tuple[int, float] | None = None
        for count in (10, 100, 1000):
            found = history(count, columns)
            seconds, view = best_of_five(found)
            work = sum(len(version.columns) for version in found)
            growth = f"{math.log(seconds / before[1]) / math.log(work / before[0]):.2f}" if before else ""
            before = (work, seconds)
            figures = (f"{seconds * 1000:.1f}", f"{seconds / work * 1e6:.2f}", growth)
            written.append(
                (f"{count:,}", str(columns), view.form, *figures, *(f"{size:,}" for size in sizes(found).values()))
            )
    return written


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How long the view's text takes, and how large each form is.")
    add_options(parser)
    publish(parser.parse_args(argv), HEADING, machine("the best of five", {}), markdown(HEADER, lines()))


if __name__ == "__main__":
    main()
