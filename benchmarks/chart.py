"""Charts of figures as SVG: horizontal bars, with the range of the rounds as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.report import Spread

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 720, 250, 130, 26, 40
_OWN, _PEER = "#0b6e4f", "#8a94a6"


@dataclass(frozen=True)
class Bar:
    """One figure of a chart.

    Attributes:
        label: what was measured.
        figure: the figure, with the range of the rounds.
        is_own: whether it is one of Onefold, which has a colour of its own.
    """

    label: str
    figure: Spread
    is_own: bool = False


@dataclass(frozen=True)
class Chart:
    """Bars of one unit.

    Attributes:
        title: what the bars show, with their unit.
        bars: the bars, from above.
        digits: the decimals of the figures.
    """

    title: str
    bars: Sequence[Bar]
    digits: int = 1

    def svg(self) -> str:
        """Return the chart as a picture that needs nothing else."""
        height = _TOP + _ROW * len(self.bars) + 12
        scale = (_WIDTH - _LEFT - _RIGHT) / (max((bar.figure.high for bar in self.bars), default=0.0) or 1.0)
        rows = "\n".join(line for number, bar in enumerate(self.bars) for line in self._row(bar, number, scale))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" '
            f'font-family="sans-serif" font-size="13">\n<title>{escape(self.title)}</title>\n'
            f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>\n'
            f'<text x="12" y="24" font-weight="bold" fill="#222">{escape(self.title)}</text>\n{rows}\n</svg>\n'
        )

    def _row(self, bar: Bar, number: int, scale: float) -> tuple[str, ...]:
        top, colour = _TOP + number * _ROW, _OWN if bar.is_own else _PEER
        middle, end = top + _ROW / 2 - 2, _LEFT + bar.figure.median * scale
        low, high = _LEFT + bar.figure.low * scale, _LEFT + bar.figure.high * scale
        return (
            f'<text x="{_LEFT - 8}" y="{middle + 4:.0f}" text-anchor="end" fill="#222">{escape(bar.label)}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{bar.figure.median * scale:.1f}" height="{_ROW - 8}" fill="{colour}"/>',
            f'<line x1="{low:.1f}" y1="{middle:.1f}" x2="{high:.1f}" y2="{middle:.1f}" stroke="#222"/>',
            f'<text x="{max(end, high) + 6:.1f}" y="{middle + 4:.0f}" fill="#222">'
            f"{bar.figure.median:,.{self.digits}f}</text>",
        )
