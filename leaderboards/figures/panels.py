"""Small multiples with axes: one panel per method, all on the same scale, wrapped to the width of the page.

The SVG is written directly, because a plotting library takes a tenth of a second per panel and a page may have
hundreds. A mark's `kind` is its CSS class: a colour ("ours", "theirs", "ink" or "muted") and, for lines, optionally
"dashed", "dotted" or "thin".
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

from lockstep_bench.leaderboards.figures.sparks import titled
from lockstep_bench.leaderboards.wording.formats import visible

SIDE, HEIGHT = 124, 88  # size of the plotting area of a panel, in units of its viewBox
LEFT, TOP, FOOT = 28, 15, 13  # margins of the plotting area, for tick labels and the title
LONGEST, LONGEST_NARROW = 22, 30  # largest numbers of characters of a title, in the usual size and in the small one
FAR = 4.0  # lines are drawn at most this many widths or heights beyond the plotting area


class PanelScale(NamedTuple):
    """Scale of a panel: the values at the ends of its axes. Methods return SVG marks at given values.

    Attributes:
        x: values at the left and the right end.
        y: values at the bottom and the top.
    """

    x: tuple[float, float]
    y: tuple[float, float]

    def points(self, x: npt.ArrayLike, y: npt.ArrayLike) -> list[str]:
        """Return the SVG coordinates "x y" of points x, y (N,); points with a NaN are left out."""
        xs, ys = np.asarray(x, float), np.asarray(y, float)
        known = ~(np.isnan(xs) | np.isnan(ys))
        shares = [(v[known] - low) / (high - low) for v, (low, high) in ((xs, self.x), (ys, self.y))]
        across, up = ((np.clip(share, -FAR, 1 + FAR) + 0.0).tolist() for share in shares)  # adding 0.0 removes -0.0
        return [f"{SIDE * a:.1f} {HEIGHT * (1 - u):.1f}" for a, u in zip(across, up, strict=True)]

    def line(self, x: npt.ArrayLike, y: npt.ArrayLike, kind: str) -> str:
        """Return SVG of the line through points x, y (N,)."""
        return f'<path class="line {kind}" d="M{"L".join(self.points(x, y))}"/>'

    def area(self, x: npt.ArrayLike, y: npt.ArrayLike, kind: str) -> str:
        """Return SVG of the polygon with corners x, y (N,)."""
        return f'<path class="area {kind}" d="M{"L".join(self.points(x, y))}z"/>'

    def band(self, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, kind: str) -> str:
        """Return SVG of the area between the lines `low` and `high` (N,), both over x (N,)."""
        xs, highs = np.asarray(x, float), np.asarray(high, float)
        return self.area(np.append(xs, xs[::-1]), np.append(np.asarray(low, float), highs[::-1]), kind)

    def dots(self, x: npt.ArrayLike, y: npt.ArrayLike, kind: str) -> str:
        """Return SVG of points x, y (N,), as one path of zero-length lines with round ends."""
        return f'<path class="points {kind}" d="M{"h0M".join(self.points(x, y))}h0"/>'


def panels(
    methods: Sequence[str],
    draw_panel: Callable[[str], Sequence[str]],
    scale: PanelScale,
    ticks: tuple[Sequence[float], Sequence[float]],
    labels: tuple[str, str],
    legend: Sequence[tuple[str, str]] = (),
) -> Markup:
    """Return HTML of one panel per method, with a legend above.

    Args:
        methods: names, in reading order.
        draw_panel: function that returns the SVG elements of a method, placed by `scale`.
        scale: scale of all panels.
        ticks: values with a label on the horizontal and on the vertical axis.
        labels: titles of the horizontal and of the vertical axis; "" for none.
        legend: pairs of CSS classes and meaning, as in ("line ours dashed", "by entropy").
    """
    frame = _frame(scale, ticks)
    drawn = "".join(_panel(method, "".join(draw_panel(method)), frame) for method in methods)
    axes = "; ".join(
        f"{where}: {escape(label)}" for where, label in (("upwards", labels[1]), ("to the right", labels[0])) if label
    )
    key = "".join(_legend_entry(kind, text) for kind, text in legend)
    explained = f'<p class="legend">{key}<span class="axes">{axes}</span></p>'
    return Markup(f'{explained}<div class="sparks panels">{drawn}</div>')


def _panel(title: str, marks: str, frame: str) -> str:
    size = f"0 0 {LEFT + SIDE} {TOP + HEIGHT + FOOT}"
    return (
        f'<svg viewBox="{size}" aria-hidden="true" focusable="false">'
        f"{titled(visible(title), LEFT, TOP - 4, LONGEST, LONGEST_NARROW)}{frame}"
        f'<svg x="{LEFT}" y="{TOP}" width="{SIDE}" height="{HEIGHT}">{marks}</svg></svg>'
    )


def _frame(scale: PanelScale, ticks: tuple[Sequence[float], Sequence[float]]) -> str:
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
    """Return SVG of a text at the right edge of a panel, at the relative height `up`: 0 is the bottom, 1 the top."""
    return f'<text class="note" x="{SIDE - 4}" y="{HEIGHT * (1 - up):.1f}">{escape(text)}</text>'


def _legend_entry(kind: str, text: str) -> str:
    mark = "M0 4h18v6h-18z" if kind.startswith("area") else "M9 7h0" if kind.startswith("points") else "M0 7h18"
    drawn = f'<svg viewBox="0 0 18 14" aria-hidden="true" focusable="false"><path class="{kind}" d="{mark}"/></svg>'
    return f"<span>{drawn}<span>{escape(text)}</span></span>"
