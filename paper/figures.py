"""The figures of the paper, as PDF files with the width of its text."""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lockstep_bench.leaderboards.stats.ranking import Ranking
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from paper.comparisons import DESIGN, FARTHEST, LINEAR, OTHER_MODELS
from paper.evidence import Evidence, by_method
from paper.quoted import speeds

WIDTH = 6.5  # inches, of the paper's text
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555")  # Okabe and Ito's
TEXT_COLOURS = {"gp-": "#00664a", "r-": "#99336b"}  # of names of data sets, by their prefix; dark enough for text
SHOWN = ("sghmc", "mile", "deep-ensemble", "swag", "laplace", "mfvi")
MARKED = ("hmc-leapfrog", "vifa", "mfvi", "deep-ensemble", "sghmc", "laplace")  # in the order of the colours
METADATA = {"CreationDate": None, "Producer": None, "Creator": None}  # so that equal rows give equal files


def speed(evidence: Evidence) -> Figure:
    """Return the time of an update of one network against the size of its stack."""
    figure = Figure(figsize=(WIDTH * 0.6, 2.1), layout="constrained")
    axes = figure.subplots()
    for (method, points), colour in zip(speeds().items(), COLOURS, strict=False):
        axes.loglog(*zip(*points, strict=True), "o-", color=colour, label=method, markersize=3, linewidth=1)
    axes.set_xlabel("networks in the stack (1: alone, in eager PyTorch)")
    axes.set_ylabel("µs an update of one network")
    axes.set_xticks([1, 5, 30, 150, 600], ["1", "5", "30", "150", "600"])
    axes.minorticks_off()
    axes.legend(loc="upper right", ncols=2)
    return figure


def datasets(evidence: Evidence) -> Figure:
    """Return the differences to MAP on each data set of the three suites, sorted by that of SGHMC."""
    boards = {name: by_method(ranking) for name, ranking in evidence.on_each("all sets", "nmll").items()}
    order = sorted(boards, key=lambda name: boards[name]["sghmc"].difference)
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(order))
    for method, marker, colour in (("deep-ensemble", "x", COLOURS[1]), ("sghmc", "o", COLOURS[0])):
        values = [boards[name][method].difference for name in order]
        axes.plot(places, values, marker, color=colour, markersize=4, label=method)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_yscale("symlog", linthresh=0.05, linscale=0.4)
    ticks = (-2, -1, -0.5, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.5, 1, 2)
    axes.set_yticks(ticks, [f"{tick:+g}".replace("-", "−") if tick else "0" for tick in ticks])
    axes.minorticks_off()
    axes.set_xticks(places, [name.removesuffix("-grouped") for name in order], rotation=90, fontsize=6)
    for label in axes.get_xticklabels():
        prefix = next((prefix for prefix in TEXT_COLOURS if label.get_text().startswith(prefix)), "")
        label.set_color(TEXT_COLOURS.get(prefix, "black"))
    axes.set_ylabel("NMLL less that of map, nats")
    axes.legend(loc="upper left")
    return figure


def factors(evidence: Evidence) -> Figure:
    """Return the differences to MAP in the four combinations of network and noise."""
    figure = Figure(figsize=(WIDTH, 2.1), layout="constrained")
    panels = figure.subplots(1, len(DESIGN), sharex=True, sharey=True)
    for axes, name in zip(panels, DESIGN, strict=True):
        network, _, noise = name.rpartition("-")
        axes.set_title(f"{network} units,\n{noise} noise")
        _forest(axes, [evidence.ranking(name, "nmll")], SHOWN, (COLOURS[0],))
    figure.supxlabel("NMLL less that of map, nats", fontsize=8)
    return figure


def seconds(evidence: Evidence) -> Figure:
    """Return the differences to MAP with equal seconds."""
    figure = Figure(figsize=(WIDTH, 2.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (metric, title) in zip(panels, (("nmll", "NMLL"), ("nmll_dyadic", "joint NMLL")), strict=True):
        budgets = [evidence.ranking(name, metric) for name in ("one second", "ten seconds")]
        _forest(axes, budgets, SHOWN, COLOURS[:2])
        axes.set_xlabel(f"{title} less that of map, nats")
    handles = [panels[0].plot([], [], "o-", color=colour, markersize=4)[0] for colour in COLOURS[:2]]
    figure.legend(handles, ["1 second", "10 seconds"], loc="outside lower center", ncols=2)
    return figure


def faithfulness(evidence: Evidence) -> Figure:
    """Return NMLL against the distance to the true posterior, and the rank correlations of such pairs."""
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    tables = evidence.correlation("function_w2", "nmll").losses.values()
    losses = pd.concat([table.set_axis(["distance", "nmll"], axis=1) - [0, table.iloc[:, 1].min()] for table in tables])
    left.plot(losses["distance"], losses["nmll"], ".", color="#cccccc", markersize=3, label="other methods")
    for method, colour in zip(MARKED, COLOURS, strict=False):
        chosen = losses.loc[method]
        left.plot(chosen["distance"], chosen["nmll"], "o", color=colour, markersize=2.5, label=method)
    left.set_xscale("log")
    left.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    left.set_yscale("symlog", linthresh=0.01)
    left.set_ylim(-0.002, 4)
    left.set_yticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
    left.minorticks_off()
    left.set_xlabel("distance of the function, standard deviations")
    left.set_ylabel("NMLL above the lowest, nats")
    figure.legend(loc="outside lower left", ncols=4, fontsize=6, handletextpad=0.2, columnspacing=1)
    pairs = {
        "function, NMLL": evidence.correlation("function_w2", "nmll"),
        "without the farthest": evidence.correlation("function_w2", "nmll", without=(*OTHER_MODELS, *FARTHEST)),
        "function, joint NMLL": evidence.correlation("function_w2", "nmll_dyadic"),
        "function, RMSE": evidence.correlation("function_w2", "rmse"),
        "weights, NMLL": evidence.correlation("rel_cov", "nmll", LINEAR, ()),
    }
    for place, tau in enumerate(pairs.values()):
        for one in tau.by_dataset.values():
            right.plot(one.tau, place, "o", color="#bbbbbb", markersize=3)
        right.plot([tau.low, tau.high], [place, place], color=COLOURS[0], linewidth=1.2)
        right.plot(tau.mean, place, "o", color=COLOURS[0], markersize=4)
    right.axvline(0, color="black", linewidth=0.6)
    right.set_yticks(range(len(pairs)), list(pairs))
    right.set_ylim(len(pairs) - 0.5, -0.5)
    right.set_xlim(-1, 1)
    right.set_xlabel("Kendall's tau over methods")
    return figure


def _forest(axes: Axes, rankings: list[Ranking], shown: tuple[str, ...], colours: tuple[str, ...]) -> None:
    """Draw the differences of the shown methods with their intervals; a filled mark is a method that leads."""
    gap = 0.3
    for place, (ranking, colour) in enumerate(zip(rankings, colours, strict=True)):
        rows = by_method(ranking)
        for line, method in enumerate(shown):
            row = rows[method]
            height = line + gap * (place - (len(rankings) - 1) / 2)
            axes.plot([row.low, row.high], [height, height], color=colour, linewidth=1)
            face = colour if row.verdict in AHEAD else "white"
            axes.plot(row.difference, height, "o", color=colour, markerfacecolor=face, markersize=4)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(range(len(shown)), list(shown))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(-1.3, 1.3)


FIGURES: dict[str, Callable[[Evidence], Figure]] = {
    "speed": speed,
    "datasets": datasets,
    "factors": factors,
    "seconds": seconds,
    "faithfulness": faithfulness,
}


def draw(evidence: Evidence, folder: Path) -> None:
    """Write all figures into a folder."""
    with mpl.rc_context(
        {
            "font.family": "serif",
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "legend.fontsize": 7,
            "pdf.fonttype": 42,
        }
    ):
        for name, figure in FIGURES.items():
            figure(evidence).savefig(folder / f"{name}.pdf", metadata=METADATA)
