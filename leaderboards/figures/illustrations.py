"""Figures of one data set and preset, other than the dot plot, from detail tables stored beside the results."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.data.details import any_of, details, gathered
from lockstep_bench.leaderboards.figures import calibration, classifiers
from lockstep_bench.leaderboards.figures.learning import learning
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.figures.reference import bands, contours, curves, principal_axes
from lockstep_bench.leaderboards.figures.regrets import regrets
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.wording.formats import visible
from lockstep_bench.shared.schema import SHIFT_FAMILIES


def illustrations(cells: pd.DataFrame, methods: list[str], key: str) -> tuple[list[Plot], list[str]]:
    """Return the figures of one data set under one preset, and a sentence for each figure that has no data.

    Args:
        cells: result rows of this data set and preset.
        methods: names of the methods, in the order of the panels.
        key: prefix for the ids of HTML elements, unique within a page.
    """
    places = np.flatnonzero(cells["status"] == "ok")
    if not len(places):
        return [], []
    panels = pd.Index(methods).get_indexer(pd.Index(cells["method"]))[places]
    finished = cells.iloc[places[np.argsort(panels, kind="stable")]]
    makers: list[Callable[[pd.DataFrame], Plot | None]] = [
        *(_posteriors, _bands, partial(_curves, key), _regrets, _simple_regrets, _learning),
        *(_reliability, _confidence, _selective),
        *(partial(_shifted, family) for family in SHIFT_FAMILIES),
    ]
    plots = [plot for make in makers if (plot := make(finished))]
    coverage = calibration.coverage(finished)
    from_predictions, missing = calibration.of_predictions(
        finished, with_reliability=not any_of("reliability", finished)
    )
    return [*filter(None, [coverage]), *from_predictions, *plots], missing


def _posteriors(cells: pd.DataFrame) -> Plot | None:
    tables = details("posteriors", cells)
    if not tables:
        return None
    if len(next(iter(tables.values()))["mean"][0]) == 2:
        return Plot(
            contours(tables),
            f"Posterior of two weights by {_named(tables)}, over the reference posterior",
            "The reference posterior (grey, 1 and 2 standard deviations) and each method's Gaussian (lines) on its "
            "first split. A cross alone is a point estimate; an empty panel, a posterior outside the axes.",
        )
    return Plot(
        principal_axes(tables),
        f"Posterior along the principal axes of the reference posterior by {_named(tables)}",
        "Each method's mean ± 2 standard deviations (lines) along the reference posterior's principal axes (grey), "
        "the widest first, in units of the reference's standard deviation, on its first split. Shorter than grey is "
        "overconfident, longer underconfident.",
    )


def _bands(cells: pd.DataFrame) -> Plot | None:
    tables = details("bands", cells)
    if not tables:
        return None
    return Plot(
        bands(tables, _training_points(cells)),
        f"Function and its uncertainty by {_named(tables)}, with those of the reference",
        "Each method's function, mean ± 2 standard deviations without the noise, on its first split; dotted: the "
        "reference's ± 2 standard deviations (NUTS); dots: training points.",
    )


def _curves(key: str, cells: pd.DataFrame) -> Plot | None:
    title = metric("rel_cov").title
    return _of_runs(
        "curves",
        cells,
        lambda runs: Markup(curves(runs, "rel_cov", title, key)),
        f"{title} against the number of vectors,",
        "Mean over splits ± standard error, as the stream grows.",
    )


def _regrets(cells: pd.DataFrame) -> Plot | None:
    return _of_runs(
        "regrets",
        cells,
        regrets,
        "Regret against the number of rounds",
        "Regret: expected reward of the best actions or rows minus that of the chosen ones, summed "
        "over the rounds so far; mean over splits ± standard error. Dotted: uniformly random actions.",
    )


def _simple_regrets(cells: pd.DataFrame) -> Plot | None:
    return _of_runs(
        "simple_regrets",
        cells,
        lambda runs: regrets(runs, "simple regret"),
        "Simple regret against the number of chosen rows",
        "Simple regret: largest target of the pool minus the largest one found, over the standard deviation of the "
        "targets; mean over splits ± standard error. Dotted: the expectation for random rows.",
    )


def _learning(cells: pd.DataFrame) -> Plot | None:
    return _of_runs(
        "learning",
        cells,
        learning,
        "RMSE against the number of training rows",
        "Active learning: RMSE at test points, over the standard deviation of the targets, with training rows that are "
        "chosen by BALD (mean over splits ± standard error), by variance, or at random.",
    )


def _reliability(cells: pd.DataFrame) -> Plot | None:
    return _of_runs(
        "reliability",
        cells,
        lambda runs: classifiers.reliability(runs, calibration.ece_in_words(cells)),
        "Accuracy against confidence",
        "Reliability: accuracy against confidence, the largest class probability, in bins of equal width over all "
        "splits. On the dashed diagonal, confidence equals accuracy. ECE is the mean over splits; in brackets, that of "
        "a calibrated model with the same predictions.",
    )


def _confidence(cells: pd.DataFrame) -> Plot | None:
    return _of_runs(
        "confidence",
        cells,
        classifiers.confidence,
        "Fraction of points above a confidence",
        "Count-confidence curves: the fraction of points whose largest class probability exceeds a threshold, mean "
        "over splits. Predictions on out-of-distribution points (near and far sets) should not be confident: the "
        "further their curves lie below that of the test points, the better.",
    )


def _selective(cells: pd.DataFrame) -> Plot | None:
    return _of_runs(
        "selective",
        cells,
        classifiers.selective,
        "Accuracy on the most certain points",
        "Selective prediction: accuracy on the share of test points that a method is most certain of, mean over splits "
        "± standard error. A line that rises to the right means that uncertainty predicts errors.",
    )


def _shifted(family: str, cells: pd.DataFrame) -> Plot | None:
    runs = gathered("shifts", cells)
    if runs is None or family not in set(runs["family"]):
        return None
    n_shifts = runs.loc[runs["family"] == family, "shift"].nunique()
    over = f"{n_shifts} {family}s and all splits; the band holds the middle half of them" if n_shifts > 1 else "splits"
    return Plot(
        classifiers.shifts(runs, family),
        f"Accuracy and ECE under {family} by {_named(dict.fromkeys(runs['method']))}",
        f"Test images under {family}: accuracy (high is good) and calibration error (low is good) against "
        f"{SHIFT_FAMILIES[family]}, 0 for the images as they are. Mean over {over}.",
    )


def _of_runs(
    table: str, cells: pd.DataFrame, draw: Callable[[pd.DataFrame], Markup], said: str, caption: str
) -> Plot | None:
    """Return the figure of the rows of a detail table of all cells; None if there are none."""
    runs = gathered(table, cells)
    if runs is None:
        return None
    return Plot(draw(runs), f"{said} by {_named(dict.fromkeys(runs['method']))}", caption)


def _training_points(cells: pd.DataFrame) -> tuple[np.ndarray, np.ndarray] | None:
    """Return inputs and targets of the first split's training points; None if the data set cannot be loaded."""
    try:
        from lockstep_bench import datasets

        loaded = datasets.load(cells["dataset"].iloc[0])
        split = loaded.splits[cells["split"].min()]
        return loaded.x[split.train, 0], loaded.y[split.train]
    except Exception:  # a plug-in may raise anything, and a figure must not depend on it
        return None


def _named(methods: Iterable[str]) -> str:
    return ", ".join(map(visible, methods))
