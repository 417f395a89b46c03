"""The page on faithfulness: do methods that are closer to the true posterior have better predictive scores?"""

from typing import Any, NamedTuple

from lockstep_bench.leaderboards.figures.forest import ForestColumn, ForestEstimate, forest
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.stats.rank_correlation import RankCorrelation, rank_correlation, sentence
from lockstep_bench.leaderboards.wording.formats import joined

# Metrics with the names that a figure's labels have room for.
DISTANCES = {"rel_cov": "covariance", "function_w2": "function", "total_variation": "variation"}
SCORES = {"nmll": "NMLL", "nmll_joint_10": "NMLL of ten", "nmll_dyadic": "NMLL, dyadic", "energy_score": "energy score"}


class Pair(NamedTuple):
    """The rank correlation, over methods, between a distance from the true posterior and a score."""

    distance: str
    score: str
    found: RankCorrelation

    @property
    def sentence(self) -> str:
        """The correlation in words."""
        return sentence(self.found, (self.distance, self.score))


class FaithfulnessSection(NamedTuple):
    """The section of one suite and preset.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        pairs: correlations, one for each pair of a distance and a score.
        datasets: names of the data sets on which some correlation is known.
        answer: whether any correlation is shown to differ from 0, in a sentence; "" for a single data set.
        plot: figure of all correlations; None for a single data set, whose correlations the table has.
        notes: sentences on what was left out, each after the correlations that it is about.
    """

    suite: str
    preset: str
    pairs: list[Pair]
    datasets: list[str]
    answer: str
    plot: Plot | None
    notes: list[str]


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `faithfulness.html`."""
    sections = [section(site, suite, preset) for suite, preset in site.compared_with_truth]
    return {"sections": [one for one in sections if one.pairs]}


def section(site: Site, suite: str, preset: str) -> FaithfulnessSection:
    """Return the section of a suite and preset; its `pairs` are empty if no data set has enough methods."""
    pairs = []
    for distance in DISTANCES:
        for score in SCORES:
            found = rank_correlation(site.cells, suite, preset, (distance, score))
            if found.by_dataset:
                pairs.append(Pair(distance, score, found))
    datasets = list(dict.fromkeys(name for pair in pairs for name in pair.found.by_dataset))
    about: dict[str, list[str]] = {}
    for pair in pairs:
        for note in pair.found.notes:
            about.setdefault(note, []).append(_label(pair))
    notes = [
        f"{'; '.join(labels) if len(labels) < len(pairs) else 'all'}: {note[:1].lower()}{note[1:]}"
        for note, labels in about.items()
    ]
    several = len(datasets) > 1
    return FaithfulnessSection(
        suite, preset, pairs, datasets, _answer(pairs) if several else "", _plot(pairs) if several else None, notes
    )


def _label(pair: Pair) -> str:
    return f"{DISTANCES[pair.distance]} · {SCORES[pair.score]}"


def _answer(pairs: list[Pair]) -> str:
    """Return for which correlations the interval excludes 0."""
    better = [_label(pair) for pair in pairs if pair.found.low > 0]
    worse = [_label(pair) for pair in pairs if pair.found.high < 0]
    if not (better or worse):
        return (
            f"Not shown: the 95 % intervals of all {len(pairs)} correlations include 0, so methods that are nearer "
            "have neither better nor worse scores for certain."
        )
    if len(better) == len(pairs):
        return (
            f"Methods that are nearer to the true posterior have better scores: the 95 % intervals of all {len(pairs)} "
            "correlations, each for itself, lie above 0."
        )
    said = [f"better by {'; '.join(better)}" if better else "", f"worse by {'; '.join(worse)}" if worse else ""]
    return f"Methods that are nearer to the true posterior are {joined(said)} (95 % intervals, each for itself)."


def _plot(pairs: list[Pair]) -> Plot:
    estimates = [
        ForestEstimate(
            pair.found.mean, pair.found.low, pair.found.high, tuple(one.tau for one in pair.found.by_dataset.values())
        )
        for pair in pairs
    ]
    column = ForestColumn("Kendall's tau", estimates, 0.0, (-1.0, 1.0))
    return Plot(
        forest([_label(pair) for pair in pairs], [pair.found.low > 0 for pair in pairs], [column]),
        " ".join(pair.sentence for pair in pairs),
        "Correlation, over methods, of the distance from the true posterior with a score: the mean over data sets with "
        "its 95 % interval, and each data set as a faint dot. Above 0, methods that are nearer have better scores. "
        "Coloured: the interval lies above 0.",
    )
