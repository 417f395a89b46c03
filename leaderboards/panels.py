"""Small multiples: a figure of one panel per method, all on the same axes."""

from collections.abc import Callable, Sequence
from math import ceil

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leaderboards.formats import shortened, visible
from leaderboards.svg import INK, MUTED, RULE, svg

WIDTH, FOOT, KEY = 7.6, 0.45, 0.28  # inches: of a figure, below the last row, of the line that explains its colours
COLUMNS, HEIGHT = 4, 1.75  # of panels: how many in a row, inches
LONGEST = 24  # characters of a title
MANY = 12  # methods; more of them get smaller panels
COLUMNS_OF_MANY, HEIGHT_OF_MANY = 5, 1.35


def panels(
    methods: Sequence[str],
    draw_panel: Callable[[Axes, str], None],
    labels: tuple[str, str],
    key: str,
    legend: Sequence[Artist] = (),
) -> str:
    """SVG of a panel per method, in the order given.

    Args:
        draw_panel: draws a method on its axes, whose limits it sets alike for all. (Axes that matplotlib shares would
            see to that in a time that grows with the square of their number.)
        labels: of the two axes.
        key: differs between the figures of a page.
        legend: labelled artists that say what the colours mean.
    """
    small = len(methods) > MANY
    most, panel_height = (COLUMNS_OF_MANY, HEIGHT_OF_MANY) if small else (COLUMNS, HEIGHT)
    columns = min(most, len(methods))
    rows = ceil(len(methods) / columns)
    head = KEY if legend else 0.0
    height = head + rows * panel_height + FOOT

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        figure.subplots_adjust(0.07, FOOT / height, 0.99, 1 - (head + 0.22) / height, 0.08, 0.22)
        if legend:
            figure.legend(
                handles=legend,
                loc="upper left",
                bbox_to_anchor=(0.06, 1.0),
                borderaxespad=0,
                ncols=len(legend),
                frameon=False,
                fontsize=8,
                labelcolor=MUTED,
                handlelength=1.6,
                columnspacing=1.8,
            )
        for number, axes in enumerate(grid.flat):
            if number >= len(methods):
                axes.remove()
                continue
            draw_panel(axes, methods[number])
            axes.set_facecolor("none")
            axes.set_title(shortened(visible(methods[number]), LONGEST), fontsize=7 if small else 8, color=INK, pad=3)
            below, first = number + columns >= len(methods), number % columns == 0
            axes.set(xlabel=labels[0] if below else "", ylabel=labels[1] if first else "")
            axes.tick_params(labelbottom=below, labelleft=first)
            dress(axes)

    return svg(draw, (WIDTH, height), key)


def ticks(axes: Axes, places: Sequence[float]) -> None:
    """Ticks of the horizontal axis, from one end to the other; labels at the ends stay inside, clear of neighbours."""
    axes.set_xlim(places[0], places[-1])
    axes.set_xticks(places)
    made = axes.xaxis.get_major_ticks()
    made[0].label1.set_horizontalalignment("left")
    made[-1].label1.set_horizontalalignment("right")


def dress(axes: Axes) -> None:
    """Faint grid and labels in the page's colours, no frame."""
    axes.tick_params("both", length=0, labelcolor=MUTED, labelsize=7)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=MUTED, fontsize=8)
    axes.grid(color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
