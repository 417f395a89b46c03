"""The overall ranking on the index: mean ranks with their uncertainty, for the suite and preset with most results."""

from typing import NamedTuple

from lockstep_bench.leaderboards.figures.forest import ForestColumn, ForestEstimate, forest
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.metrics import Metric, metric
from lockstep_bench.leaderboards.site.content import EQUAL_BUDGET, Site, is_quick
from lockstep_bench.leaderboards.site.pages import answers
from lockstep_bench.leaderboards.site.pages.suite import boards_of, leading
from lockstep_bench.leaderboards.site.pages.verdict import Verdict, estimate, verdict
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.leaderboards.wording.formats import counted, number, visible

FEWEST_METHODS, FEWEST_DATASETS, FEWEST_SPLITS = 3, 4, 2  # for a comparison over data sets
NEARLY = 0.9  # share of the largest number of values that counts as nearly as many


class Overview(NamedTuple):
    """The overall ranking.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        metric: the leading metric.
        standings: standings of the methods by that metric.
        evidence: amount of data behind the ranking, as in "18 data sets, 20 splits each".
        answer: which methods could be the best by the main metrics, in plain words.
        verdict: the verdict, in two sentences and a table.
        plot: forest plot of one method of each family.
    """

    suite: str
    preset: str
    metric: Metric
    standings: Standings
    evidence: str
    answer: str
    verdict: Verdict
    plot: Plot

    @property
    def why(self) -> str:
        """Reason for showing this suite and preset."""
        same_budget = self.preset == EQUAL_BUDGET
        return "Same tuning budget for all methods" if same_budget else "The suite and preset with most results"


def overview(site: Site) -> Overview | None:
    """Return the ranking in the suite and preset with the most results, by its leading metric; None if none suffices.

    At least 3 methods on 4 data sets with 2 splits each are required. Among presets with nearly as many results,
    `tuned` is preferred, because it gives all methods the same budget and wide search ranges. The preset `quick` is
    used only if no other preset has enough results.
    """
    candidates = []
    for suite in site.suites:
        for preset in site.presets(suite):
            lead = leading(boards_of(site, suite, preset))
            standings = site.standings(suite, preset, lead)
            rankings = [ranking for ranking in standings.on_datasets.values() if ranking.rows]
            splits = [ranking.rows[0].n_splits for ranking in rankings]
            enough = len(standings.by_method) >= FEWEST_METHODS and len(splits) >= FEWEST_DATASETS
            if enough and min(splits) >= FEWEST_SPLITS:
                n_values = sum(row.n_splits - row.n_failed for ranking in rankings for row in ranking.all_rows)
                candidates.append(_Candidate(n_values, suite, preset, lead, standings))
    candidates = [entry for entry in candidates if not is_quick(entry.preset)] or candidates
    most = max((entry.n_values for entry in candidates), default=0)
    near = [entry for entry in candidates if entry.n_values >= NEARLY * most]
    chosen = max(near, key=lambda entry: (entry.preset == EQUAL_BUDGET, entry.n_values), default=None)
    return _overview(site, chosen) if chosen else None


class _Candidate(NamedTuple):
    n_values: int
    suite: str
    preset: str
    metric: str
    standings: Standings


def _overview(site: Site, chosen: _Candidate) -> Overview:
    _, suite, preset, name, standings = chosen
    lead = metric(name)
    shared = standings.table.tried[[row.method for row in standings.families.rows]].all(axis=1)
    splits = shared.groupby(level="dataset").sum()[standings.families.datasets].tolist()
    of_each = f"{splits[0]} splits each" if len(set(splits)) == 1 else f"{min(splits)} to {max(splits)} splits each"
    evidence = f"{counted(len(splits), 'data set')}, {of_each}"
    ranking = standings.families
    rows = ranking.rows
    columns = [ForestColumn("mean rank", [ForestEstimate(row.mean_rank, row.rank_low, row.rank_high) for row in rows])]
    changes = ""
    if standings.reference:
        reference = visible(standings.reference)
        unit = {"relative": ", relative", "": ""}.get(standings.unit, f", {standings.unit}")
        estimates = [estimate(row, standings.reference) for row in rows]
        columns.append(ForestColumn(f"against {reference}{unit}", estimates, 0.0))
        changes = (
            f" Right: {lead.phrase} against {reference}, mean over data sets, with its 95 % interval; "
            f"{standings.better}, and triangles mark values off the scale."
        )
    marked = [row.verdict in AHEAD for row in rows]
    open_places = [visible(row.method) for row, is_marked in zip(rows, marked, strict=True) if is_marked]
    plot = Plot(
        forest([visible(row.method) for row in rows], marked, columns),
        f"Mean ranks by {lead.phrase} over {evidence}, the best first: "
        + ", ".join(f"{visible(row.method)} {_span(row)}" for row in rows)
        + f". The best, or could be the best: {', '.join(open_places) or 'no method for certain'}.",
        " ".join(
            [
                f"Mean rank by {lead.phrase} over the data sets (1 is best), with its confidence set (95 % for all "
                "methods together). Coloured: the best, or could be the best (significantly better than another "
                f"method, while no method is significantly better).{changes}",
                *ranking.notes,
            ]
        ),
    )
    said = verdict(site, suite, preset, standings, evidence)
    plain = answers.over_datasets(site, suite, preset, [name, *answers.ANSWERED])
    plain = f"{plain} {answers.reference_beaten(site, suite, preset, [name, *answers.ANSWERED])}".strip()
    return Overview(suite, preset, lead, standings, evidence, plain, said, plot)


def _span(row: Ranked) -> str:
    return f"{number(row.mean_rank, 1)} ({row.rank_low} to {row.rank_high})"
