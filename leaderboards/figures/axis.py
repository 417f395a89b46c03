"""Horizontal axes of figures that are as wide as the page.

Horizontal positions are percentages of the width, so that text keeps its size when the page is resized.
"""

from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from markupsafe import escape

from lockstep_bench.leaderboards.wording.formats import number, shortened

NARROW = ' class="narrow"'
LONG = 30  # characters; longer labels are in smaller type on narrow screens
STEPS = (10, 5, 2, 1, 0.5, 0.2, 0.1)  # between ticks, times a power of ten
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
        """Return round values on the axis, at least two of them, with at most `most` intervals over the whole axis.

        They are those of `matplotlib.ticker.MaxNLocator(most, steps=[1, 2, 5, 10])`, whose import takes 0.08
        seconds.
        """
        width = (self.high - self.low) / most
        if not (isfinite(width) and width > 0):
            return []
        exponent = floor(log10(width))
        widest = max(place for place, digits in enumerate(STEPS) if digits * 10.0**exponent >= width)
        values: list[float] = []
        for digits in STEPS[widest:]:
            step = digits * 10.0**exponent
            places = range(floor(self.low / step), ceil(self.high / step) + 1)
            values = [value for place in places if self.holds(value := round(place * step, 1 - exponent))]
            if len(values) > 1:
                break
        return values

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
