"""The table that `python -m leaderboards simulate` prints."""

from math import isnan

from leaderboards.simulation.promises import Kept

HEADINGS = {
    "scenario": "scenario",
    "false_over_sets": "false verdict over sets",
    "false_on_sets": "false verdict on a set",
    "difference_over_sets": "interval over sets covers",
    "difference_on_sets": "interval on a set covers",
    "rank_sets": "all ranks covered",
    "found_over_sets": "worse, found over sets",
    "found_on_sets": "worse, found on a set",
    "leader_probability": "P(best) of the leader",
    "leader_right": "leader is the best",
}


def as_markdown(kept: list[Kept]) -> str:
    """Return a Markdown table, a row per scenario, in per cent."""
    lines = [list(HEADINGS.values()), ["---", *["---:"] * (len(HEADINGS) - 1)]]
    lines += [[row.scenario, *(_percent(value) for value in row[1:])] for row in kept]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _percent(value: float) -> str:
    return "" if isnan(value) else f"{100 * value:.1f}"
