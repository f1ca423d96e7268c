"""The page of the simulation: its tables, and charts as SVG, drawn without a library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10
from pathlib import Path

from benchmarks.report import markdown
from benchmarks.scale import AFTER, BEFORE, Design, Figures, broken, limits

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "scale.md"
SHOWN = (
    "rows a second", "messages a second", "rows in a message", "rows landed a second", "lag, median, s", "lag, 99 %, s",
    "connections opened a second", "instances that the sink needs", "minutes until a restart is announced",
    "jobs of Cloud Scheduler", "batches an hour", "load jobs a day", "new tables a second in a release", "merges a day",
    "hours of a merge job", "TiB of merges a day", "TiB of queries a day", "versions of a table after five years",
    "sink, USD a month", "batches, USD a month", "merges, USD a month", "queries, USD a month",
)  # fmt: skip
COSTS = tuple(name for name in SHOWN if name.endswith("USD a month"))
_BAR, _LEFT, _WIDTH = 16, 290, 760
_BEFORE, _AFTER = "#b9543a", "#2f7d6d"

Scenario = tuple[int, Figures, Figures]
"""A number of tenants with the figures before and after."""


def number(value: float) -> str:
    """Return a number with as many digits as say something.

    >>> number(0.034), number(1.36), number(41_076.6), number(0)
    ('0.03', '1.36', '41,077', '0')
    """
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def figures_table(scenarios: Sequence[Scenario]) -> str:
    """Return the table of all figures."""
    heads = [f"{tenants:,} tenants, {when}" for tenants, _, _ in scenarios for when in ("before", "after")]
    rows = [[name, *(number(one[name]) for _, *both in scenarios for one in both)] for name in SHOWN]
    return markdown(["", *heads], rows)


def broken_table(scenarios: Sequence[Scenario]) -> str:
    """Return the table of what breaks, the worst first."""
    rows = []
    for tenants, *both in scenarios:
        told = (_told(figures, design) for figures, design in zip(both, (BEFORE, AFTER), strict=True))
        rows.append([f"{tenants:,}", *told])
    return markdown(["tenants", "before", "after"], rows)


def _told(figures: Figures, design: Design) -> str:
    return ", ".join(f"{name}: {times:.1f} times" for name, times in broken(figures, design)) or "nothing"


def quotas_chart(scenario: Scenario) -> str:
    """Return a chart of the shares of quotas that are used, on a scale of powers of ten, with the line of the quota."""
    tenants, before, after = scenario
    most = zip(limits(BEFORE).items(), limits(AFTER).values(), strict=True)
    rows = [(name, before[name] / limit, after[name] / then) for (name, limit), then in most]
    return chart(f"Share of each quota at {tenants:,} tenants (line: the quota)", rows, "%", mark=1)


def costs_chart(scenario: Scenario) -> str:
    """Return a chart of what a month costs, by line."""
    tenants, before, after = scenario
    rows = [(name.removesuffix(", USD a month"), before[name], after[name]) for name in COSTS]
    return chart(f"USD a month at {tenants:,} tenants", rows, "")


def lags_chart(scenarios: Sequence[Scenario]) -> str:
    """Return a chart of the lag of 99 % of the rows after two minutes."""
    rows = [(f"{tenants:,} tenants", before["lag, 99 %, s"], after["lag, 99 %, s"]) for tenants, before, after in scenarios]
    return chart("Seconds until 99 % of the rows have landed, after two minutes", rows, " s")


def chart(title: str, rows: Sequence[tuple[str, float, float]], unit: str, mark: float | None = None) -> str:
    """Return a chart of two bars for each row, whose lengths are logarithms.

    Args:
        title: above the bars.
        rows: name, and the values before and after; a percent sign shows shares.
        unit: behind the values.
        mark: where a line is drawn.
    """
    values = [value for _, *both in rows for value in both if value > 0]
    low, high = (round_(log10(value)) for value, round_ in ((min(values), _floor), (max([*values, mark or 0]), _ceil)))

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 70) * max(0.0, (log10(value) - low) / (high - low)) if value > 0 else _LEFT

    parts = [_text(10, 22, title, "bold"), *_legend()]
    for index, (name, *both) in enumerate(rows):
        top = 56 + index * (2 * _BAR + 14)
        parts.append(_text(10, top + _BAR + 4, name))
        for line, (value, colour) in enumerate(zip(both, (_BEFORE, _AFTER), strict=True)):
            y, shown = top + line * _BAR, value * 100 if unit == "%" else value
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{max(1, x(value) - _LEFT):.1f}" height="{_BAR - 2}" fill="{colour}"/>'
            )
            parts.append(_text(x(value) + 6, y + 12, f"{number(shown)}{unit}"))
    height = 60 + len(rows) * (2 * _BAR + 14)
    if mark:
        parts.append(
            f'<line x1="{x(mark):.1f}" y1="44" x2="{x(mark):.1f}" y2="{height}" stroke="#000" stroke-dasharray="4 3"/>'
        )
    body = "\n".join(parts)
    size = f'viewBox="0 0 {_WIDTH} {height + 8}" width="{_WIDTH}"'
    white = f'<rect width="{_WIDTH}" height="{height + 8}" fill="#fff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n{white}\n{body}\n</svg>\n'
    )


def _floor(value: float) -> int:
    return int(value // 1)


def _ceil(value: float) -> int:
    return -int(-value // 1)


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}">{escape(text)}</text>'


def _legend() -> list[str]:
    boxes = zip((_LEFT, _LEFT + 90), (_BEFORE, _AFTER), ("before", "after"), strict=True)
    return [
        part
        for x, colour, name in boxes
        for part in (f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/>', _text(x + 18, 42, name))
    ]


def write(scenarios: Sequence[Scenario], beyond: Sequence[Scenario]) -> None:
    """Write the charts beside the page, and the tables into it, between its marks."""
    for name, svg in charts(scenarios).items():
        (PAGE.parent / name).write_text(svg)
    PAGE.write_text(with_tables(PAGE.read_text(), tables(scenarios, beyond)))


def charts(scenarios: Sequence[Scenario]) -> dict[str, str]:
    """Return the charts by the names of their files."""
    largest = scenarios[-1]
    drawn = {"quotas": quotas_chart(largest), "costs": costs_chart(largest), "lags": lags_chart(scenarios)}
    return {f"scale-{name}.svg": svg for name, svg in drawn.items()}


def tables(scenarios: Sequence[Scenario], beyond: Sequence[Scenario]) -> dict[str, str]:
    """Return the tables by the names of their marks."""
    return {"figures": figures_table(scenarios), "broken": broken_table(scenarios), "beyond": broken_table(beyond)}


def with_tables(page: str, blocks: dict[str, str]) -> str:
    """Return a page with other tables behind its marks `<!-- scale: NAME -->`.

    >>> print(with_tables("<!-- scale: a -->\\n\\n| old |\\n\\nend", {"a": "| new |"}))
    <!-- scale: a -->
    <BLANKLINE>
    | new |
    <BLANKLINE>
    end
    """
    for name, block in blocks.items():
        head, mark, rest = page.partition(f"<!-- scale: {name} -->\n\n")
        page = f"{head}{mark}{block}\n\n{rest.partition(chr(10) * 2)[2]}"
    return page
