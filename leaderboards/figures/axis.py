"""A horizontal axis of a figure that is as wide as its page: places are percentages, so that text keeps its size."""

from typing import NamedTuple

from markupsafe import escape
from matplotlib.ticker import MaxNLocator

from leaderboards.wording.formats import number, shortened

FOOT = 44  # pixels below the last line, for numbers and a title


class Axis(NamedTuple):
    """Values from `low`, at the left end, to `high`."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """Where `value` is, kept between the ends."""
        inside = min(max(value, self.low), self.high)
        return f"{100 * (inside - self.low) / (self.high - self.low):.2f}%"

    def holds(self, value: float) -> bool:
        """Whether `value` is a number between the ends."""
        return self.low <= value <= self.high

    def ruled(self, bottom: float, title: str, most: int = 6, zero: float | None = None) -> list[str]:
        """SVG of at most `most` + 1 rules from the top to `bottom` pixels, their numbers, and `title` below.

        The rule at `zero` is a stronger one, whether it has a number or not.
        """
        places = [v for v in MaxNLocator(most).tick_values(self.low, self.high) if self.holds(v)]
        decimals = max((len(f"{v:.6f}".rstrip("0").partition(".")[2]) for v in places), default=0)
        parts = [f'<line class="rule" x1="{self.at(v)}" x2="{self.at(v)}" y1="0" y2="{bottom}"/>' for v in places]
        if zero is not None and self.holds(zero):
            parts.append(f'<line class="zero" x1="{self.at(zero)}" x2="{self.at(zero)}" y1="0" y2="{bottom}"/>')
        for value in places:
            parts.append(f'<text class="tick" x="{self.at(value)}" y="{bottom + 16}">{number(value, decimals)}</text>')
        return [*parts, f'<text class="tick" x="50%" y="{bottom + 36}">{escape(title)}</text>']


def names(labels: list[str], line: float, longest: int, head: float = 0) -> str:
    """SVG of a name per line of `line` pixels, `head` from the top, beside which a field of values may stand."""
    shown = [shortened(label, longest) for label in labels]
    width = 6.7 * max(map(len, shown), default=0) + 12
    heights = [head + line * (place + 0.5) + 4 for place in range(len(shown))]
    texts = [f'<text x="0" y="{y:.1f}">{escape(label)}</text>' for y, label in zip(heights, shown, strict=True)]
    size = f'width="{width:.0f}" height="{head + line * len(shown) + FOOT:.0f}"'
    return f'<svg class="names" {size} aria-hidden="true" focusable="false">{"".join(texts)}</svg>'


def field(parts: list[str], bottom: float) -> str:
    """SVG of `parts`, whose places are those of an `Axis`; `bottom` pixels high, and below them the foot."""
    opening = f'<svg class="field" height="{bottom + FOOT:.0f}" aria-hidden="true" focusable="false">'
    return "".join([opening, *parts, "</svg>"])
