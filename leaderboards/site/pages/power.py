"""The page on statistical power: undecided comparisons, and how many splits or data sets would decide them."""

from math import inf, isnan, nan
from statistics import median
from typing import Any, NamedTuple

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.suite import boards_of, leading
from lockstep_bench.leaderboards.site.standings import Standing, Standings
from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.stats.verdicts import OPEN
from lockstep_bench.leaderboards.tables import ranking_numbers as printed
from lockstep_bench.leaderboards.wording.formats import counted, visible

FEWEST_METHODS = 2
BANDS = (20, 100)  # numbers of splits or data sets that sentences count up to
SETTLED, UNTESTED, NONE = "settled", "–", "none"


class Answer(NamedTuple):
    """The number of splits or data sets that would decide a comparison, as printed.

    Attributes:
        text: the number of splits or data sets; `NONE` if no number suffices; `SETTLED` or `UNTESTED`.
        hint: text of the tooltip.
        amount: the number, for sorting: 0 if the comparison is decided, NaN if it is not tested.
    """

    text: str
    hint: str
    amount: float


class PowerLine(NamedTuple):
    """One method's row: what would decide its place, and its difference to the reference over and on data sets."""

    change: Ranked
    for_place: Answer
    for_difference: Answer
    on_datasets: list[Answer]


class PowerSection(NamedTuple):
    """The section of one suite and preset, by its leading metric.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        title: title of the metric.
        standings: standings by the metric.
        datasets: names of the data sets, one per column.
        sentences: sentences on how many comparisons are undecided, and on what would decide them.
        lines: one per method, in the order of the standings.
    """

    suite: str
    preset: str
    title: str
    standings: Standings
    datasets: list[str]
    sentences: list[str]
    lines: list[PowerLine]


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `power.html`."""
    sections = [section(site, suite, preset) for suite in site.suites for preset in site.presets(suite)]
    sections = [one for one in sections if len(one.lines) >= FEWEST_METHODS]
    presets = dict.fromkeys(one.preset for one in sections)
    return {"sections": sections, "preset_options": [(preset, preset) for preset in presets]}


def section(site: Site, suite: str, preset: str) -> PowerSection:
    """Return the section of one suite and preset."""
    name = leading(boards_of(site, suite, preset))
    standings = site.standings(suite, preset, name)
    ranking, unit = standings.families, standings.unit
    noun = "data set" if len(ranking.datasets) > 1 else "split"
    answers = {
        dataset: {row.method: for_difference(row, unit) for row in of_set.all_rows}
        for dataset, of_set in standings.on_datasets.items()
    }
    tested = [dataset for dataset, of_set in answers.items() if any(not isnan(one.amount) for one in of_set.values())]
    not_run = Answer(UNTESTED, "not run", nan)
    lines = [
        PowerLine(
            standing.change,
            for_place(standing),
            for_difference(standing.change, unit, noun),
            [answers[dataset].get(method, not_run) for dataset in tested],
        )
        for method, standing in standings.by_method.items()
    ]
    return PowerSection(suite, preset, metric(name).title, standings, tested, sentences(standings, lines), lines)


def for_place(standing: Standing) -> Answer:
    """Return how many splits or data sets would distinguish a method from the leader, or the leader from the second."""
    row = standing.place
    if row is None:
        return Answer(UNTESTED, f"variant of {standing.representative}", nan)
    if row.verdict == "failed":
        return Answer(UNTESTED, row.verdict, nan)
    if row.verdict not in OPEN:
        return Answer(SETTLED, row.verdict, 0.0)
    return Answer(printed.needed(row.verdict_needed) or UNTESTED, row.verdict, row.verdict_needed)


def for_difference(row: Ranked, unit: str, noun: str = "split") -> Answer:
    """Return how many splits or data sets would make the difference to the reference significant."""
    if isnan(row.low):
        return Answer(UNTESTED, "no interval", nan)
    hint = f"difference {printed.difference(row, unit)}, 95 % interval {printed.interval(row, unit)}; "
    hint += f"80 % power for a difference of {printed.detectable(row, unit)}"
    if row.floor > 0:
        hint += f", of {printed.floor(row, unit)} with ever more splits"
    if row.low > 0 or row.high < 0:
        return Answer(SETTLED, hint, 0.0)
    return Answer(f"{printed.needed(row.needed)}", f"{hint}; {noun}s needed", row.needed)


def sentences(standings: Standings, lines: list[PowerLine]) -> list[str]:
    """Return sentences on how many comparisons are undecided, and on how much data would decide them."""
    ranking, reference = standings.families, visible(standings.reference)
    n_datasets = len(ranking.datasets)
    said = []
    if n_datasets > 1 and ranking.rows:
        size = median(row.verdict_detectable for row in ranking.rows)
        power = (
            f"The median pair is distinguished with 80 % power if it differs by {printed.size(size, ranking.unit)}"
            f"{' nats' if ranking.unit == 'nats' else ''}."
            if size < inf
            else "No difference is distinguished, however large."
        )
        of_places = _counts([line.for_place for line in lines[: len(ranking.rows)]], "data set")
        said.append(f"Places of one method of each family over {n_datasets} data sets: {of_places} {power}")
    if reference and n_datasets > 1:
        others = [line.for_difference for line in lines if line.change.method != standings.reference]
        said.append(f"Differences to {reference} over {n_datasets} data sets: {_counts(others, 'data set')}")
    if reference:
        others = [one for line in lines if line.change.method != standings.reference for one in line.on_datasets]
        said.append(f"Differences to {reference} on single data sets: {_counts(others, 'split')}")
    return said


def _counts(answers: list[Answer], noun: str) -> str:
    """Return a text on how many comparisons are decided, need more splits or data sets, or cannot be decided."""
    tested = [one.amount for one in answers if not isnan(one.amount)]
    if not tested:
        return "none could be tested."
    n_settled = sum(amount == 0 for amount in tested)
    parts = [f"{n_settled} of {len(tested)} settled"]
    below = 0
    for most in BANDS:
        n = sum(below < amount <= most for amount in tested)
        parts += [f"{n} would be settled by up to {most} {noun}s"] if n else []
        below = most
    more = sum(below < amount < inf for amount in tested)
    parts += [f"{more} by more than {below}"] if more else []
    if n_never := sum(amount == inf for amount in tested):
        why = ", only by other data sets" if noun == "split" else ""
        parts.append(f"{n_never} by no number of {noun}s{why}")
    if len(answers) > len(tested):
        parts.append(f"{counted(len(answers) - len(tested), 'comparison')} could not be tested")
    return "; ".join(parts) + "."
