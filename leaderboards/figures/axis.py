"""Horizontal axes of figures that are as wide as the page.

Horizontal positions are percentages of the width, so that text keeps its size when the page is resized.
"""

from bisect import bisect_left
from math import floor, log10
from typing import NamedTuple

from markupsafe import escape

from lockstep_bench.leaderboards.wording.formats import number, shortened

NARROW = ' class="narrow"'
LONG = 30  # characters; longer labels are in smaller type on narrow screens
FOOT = 44  # pixels below the last row, for tick labels and the axis title


class Axis(NamedTuple):
    """A linear axis.

    Attributes:
        low: value at the left end.
        high: value at the right end.
    """

    low: float
    high: float

    def at(self, value: float) -> str:
        """Return the horizontal position of a value in percent; values beyond an end are moved to it."""
        inside = min(max(value, self.low), self.high)
        return f"{100 * (inside - self.low) / (self.high - self.low):.2f}%"

    def holds(self, value: float) -> bool:
        """Return True for a value between the two ends; False for NaN."""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> list[float]:
        """Return multiples of 1, 2 or 5 times a power of ten: two at least, and with at most `most` intervals if so.

        They are those of matplotlib's `MaxNLocator`, whose import takes longer than all figures of a page.
        """
        rough = (self.high - self.low) / most
        scale = 10.0 ** floor(log10(rough))
        steps = [factor * scale for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10)]
        ticks: list[float] = []
        for step in reversed(steps[: bisect_left(steps, rough) + 1]):
            first = self.low // step * step
            multiples = (place * step + first for place in range(int((self.high - first) / step) + 2))
            ticks = [value for value in multiples if self.holds(value)]
            if len(ticks) > 1:
                break
        return ticks

    def ruled(self, bottom: float, title: str, most: int = 6, zero: float | None = None) -> list[str]:
        """Return the SVG elements of the grid lines, the tick labels and the axis title.

        Args:
            bottom: height of the plotting area in pixels, from its top to the axis.
            title: title of the axis.
            most: largest allowed number of intervals between ticks.
            zero: value at which a stronger line is drawn, with or without a tick; None for no stronger line.
        """
        ticks = self.ticks(most)
        decimals = max((len(f"{v:.6f}".rstrip("0").partition(".")[2]) for v in ticks), default=0)
        parts = [f'<line class="rule" x1="{self.at(v)}" x2="{self.at(v)}" y1="0" y2="{bottom}"/>' for v in ticks]
        if zero is not None and self.holds(zero):
            parts.append(f'<line class="zero" x1="{self.at(zero)}" x2="{self.at(zero)}" y1="0" y2="{bottom}"/>')
        for value in ticks:
            parts.append(f'<text class="tick" x="{self.at(value)}" y="{bottom + 16}">{number(value, decimals)}</text>')
        return [*parts, f'<text class="tick" x="50%" y="{bottom + 36}">{escape(title)}</text>']


def names(labels: list[str], line: float, longest: int) -> str:
    """Return SVG of the row labels, to be placed to the left of the plotting area that `field` returns.

    Args:
        labels: one per row.
        line: height of a row in pixels.
        longest: largest number of characters; longer labels are shortened.
    """
    shown = [shortened(label, longest) for label in labels]
    width = 6.7 * max(map(len, shown), default=0) + 12
    heights = [line * (place + 0.5) + 4 for place in range(len(shown))]
    texts = [
        f'<text{NARROW if len(label) > LONG else ""} x="0" y="{y:.1f}">{escape(label)}</text>'
        for y, label in zip(heights, shown, strict=True)
    ]
    size = f'width="{width:.0f}" height="{line * len(shown) + FOOT:.0f}"'
    return f'<svg class="names" {size} aria-hidden="true" focusable="false">{"".join(texts)}</svg>'


def field(parts: list[str], bottom: float) -> str:
    """Return SVG of a plotting area that contains the given elements, with room below for tick labels and axis title.

    Args:
        parts: SVG elements, whose horizontal positions are those of an `Axis`.
        bottom: height in pixels, without the room below (`FOOT`).
    """
    opening = f'<svg class="field" height="{bottom + FOOT:.0f}" aria-hidden="true" focusable="false">'
    return "".join([opening, *parts, "</svg>"])
