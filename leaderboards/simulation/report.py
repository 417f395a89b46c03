"""The table that `python -m leaderboards simulate` prints."""

from math import isnan

from lockstep_bench.leaderboards.simulation.promises import Kept

HEADINGS = {
    "scenario": "scenario",
    "false_over_sets": "false verdict over sets",
    "false_on_sets": "sets with a false verdict",
    "difference_over_sets": "interval over sets covers",
    "difference_on_sets": "interval on a set covers",
    "rank_sets": "all ranks covered",
    "found_over_sets": "worse, found over sets",
    "found_on_sets": "worse, found on a set",
    "leader_probability": "P(best) of the leader",
    "leader_right": "leader is the best",
}


def heading() -> str:
    """Return the heading (two lines) of the Markdown table that has one row per scenario."""
    return f"{_row(list(HEADINGS.values()))}\n{_row(['---', *['---:'] * (len(HEADINGS) - 1)])}"


def line(kept: Kept) -> str:
    """Return the row of a scenario in the Markdown table, with its rates in per cent."""
    return _row([kept.scenario, *(_percent(value) for value in kept[1:])])


def _row(texts: list[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _percent(value: float) -> str:
    return "" if isnan(value) else f"{100 * value:.1f}"
