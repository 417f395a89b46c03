"""Small multiples with axes: a panel per method, all on the same scale, as many side by side as the page is wide.

They are written by hand because a plotting library takes a tenth of a second for each panel, and a page may have
hundreds. Colours come from the page's style sheet, by the kinds "ours", "theirs", "ink" and "muted".
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape

from leaderboards.wording.formats import shortened, visible

SIDE, HEIGHT = 124, 88  # of the field of a panel, in units of its own
LEFT, TOP, FOOT = 22, 15, 13  # round it, for numbers and the title
LONGEST = 22  # characters of a title
FAR = 4.0  # fields beyond an end, to which lines that leave the field are drawn


class Scale(NamedTuple):
    """What the field shows: values (left, right) and (bottom, top)."""

    x: tuple[float, float]
    y: tuple[float, float]

    def points(self, x: np.ndarray, y: np.ndarray) -> list[str]:
        """Where the points x, y (N,) are in the field, without those that are no numbers."""
        x, y = (np.asarray(values, float) for values in (x, y))
        known = ~(np.isnan(x) | np.isnan(y))
        shares = [(v[known] - low) / (high - low) for v, (low, high) in ((x, self.x), (y, self.y))]
        across, up = ((np.clip(share, -FAR, 1 + FAR) + 0.0).tolist() for share in shares)  # not -0.0, but 0.0
        return [f"{SIDE * a:.1f} {HEIGHT * (1 - u):.1f}" for a, u in zip(across, up, strict=True)]

    def line(self, x: np.ndarray, y: np.ndarray, kind: str) -> str:
        """SVG of a line; `kind` is one of the kinds above, and "dashed", "dotted" or "thin" beside it."""
        return f'<path class="line {kind}" d="M{"L".join(self.points(x, y))}"/>'

    def area(self, x: np.ndarray, y: np.ndarray, kind: str) -> str:
        """SVG of the area inside the line."""
        return f'<path class="area {kind}" d="M{"L".join(self.points(x, y))}z"/>'

    def band(self, x: np.ndarray, low: np.ndarray, high: np.ndarray, kind: str) -> str:
        """SVG of the area between two lines over the same x (N,)."""
        x, low, high = (np.asarray(values, float) for values in (x, low, high))
        return self.area(np.append(x, x[::-1]), np.append(low, high[::-1]), kind)

    def dots(self, x: np.ndarray, y: np.ndarray, kind: str) -> str:
        """SVG of points, as one path: lines of no length with round ends."""
        return f'<path class="points {kind}" d="M{"h0M".join(self.points(x, y))}h0"/>'


def panels(
    methods: Sequence[str],
    draw_panel: Callable[[str], Sequence[str]],
    scale: Scale,
    ticks: tuple[Sequence[float], Sequence[float]],
    labels: tuple[str, str],
    legend: Sequence[tuple[str, str]] = (),
) -> Markup:
    """A panel per method, in the order given.

    Args:
        draw_panel: SVG of a method, made by `scale`.
        ticks: the numbers below and to the left of a panel.
        labels: of the two axes.
        legend: what marks mean: ("line ours dashed", "by entropy").
    """
    frame = _frame(scale, ticks)
    drawn = "".join(_panel(method, "".join(draw_panel(method)), frame) for method in methods)
    axes = "; ".join(
        f"{where}: {escape(label)}" for where, label in (("upwards", labels[1]), ("to the right", labels[0])) if label
    )
    key = "".join(_legend_entry(kind, text) for kind, text in legend)
    told = f'<p class="legend">{key}<span class="axes">{axes}</span></p>'
    return Markup(f'{told}<div class="sparks panels">{drawn}</div>')


def _panel(title: str, marks: str, frame: str) -> str:
    size = f"0 0 {LEFT + SIDE} {TOP + HEIGHT + FOOT}"
    name = escape(shortened(visible(title), LONGEST))
    return (
        f'<svg viewBox="{size}" aria-hidden="true" focusable="false">'
        f'<text x="{LEFT}" y="{TOP - 4}">{name}</text>{frame}'
        f'<svg x="{LEFT}" y="{TOP}" width="{SIDE}" height="{HEIGHT}">{marks}</svg></svg>'
    )


def _frame(scale: Scale, ticks: tuple[Sequence[float], Sequence[float]]) -> str:
    across = [SIDE * (tick - scale.x[0]) / (scale.x[1] - scale.x[0]) for tick in ticks[0]]
    parts = [f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{HEIGHT}"/>']
    for place, (at, tick) in enumerate(zip(across, ticks[0], strict=True)):
        anchor = "start" if place == 0 and at < 1 else "end" if at > SIDE - 1 else "middle"
        parts.append(
            f'<text class="tick {anchor}" x="{LEFT + at:.1f}" y="{TOP + HEIGHT + 10}">{tick:g}</text>'.replace("-", "−")
        )
    for tick in ticks[1]:
        up = TOP + HEIGHT * (1 - (tick - scale.y[0]) / (scale.y[1] - scale.y[0]))
        low = min(max(up + 3, TOP + 7), TOP + HEIGHT)
        parts.append(f'<text class="tick end" x="{LEFT - 3}" y="{low:.1f}">{tick:g}</text>'.replace("-", "−"))
    return "".join(parts)


def note(text: str, up: float) -> str:
    """SVG of words at the right of a panel, `up` (0 to 1) of its height above its bottom."""
    return f'<text class="note" x="{SIDE - 4}" y="{HEIGHT * (1 - up):.1f}">{escape(text)}</text>'


def _legend_entry(kind: str, text: str) -> str:
    mark = "M0 4h18v6h-18z" if kind.startswith("area") else "M9 7h0" if kind.startswith("points") else "M0 7h18"
    drawn = f'<svg viewBox="0 0 18 14" aria-hidden="true" focusable="false"><path class="{kind}" d="{mark}"/></svg>'
    return f"<span>{drawn}<span>{escape(text)}</span></span>"
