"""The tables at the end of a run: the best first, and where to look next."""

import io
from math import nan
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from lockstep_bench.bench.console import outcome
from lockstep_bench.bench.experiment.available import Missing
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

SIGNS = {"no better than predicting the mean": "†", "still improving": "‡"}


class Finished:
    out = Path("results")

    def statuses(self, wanted):
        return dict.fromkeys(wanted, "ok")


@pytest.fixture
def shown(monkeypatch):
    """Return a function that shows the means {data set: {method: mean}}, and returns what is printed.

    Medians are below the means of "map" by 10, and above all others; the worst splits are 90.
    """

    def show(means, width=100, preset="quick", missing=(), failed=(), remark="", by_median=False):
        console = Console(file=io.StringIO(), width=width, highlight=False)
        monkeypatch.setattr(outcome, "out", console)
        monkeypatch.setattr("lockstep_bench.bench.console.display.out", console)
        pairs = [(dataset, method, mean) for dataset, by in means.items() for method, mean in by.items()]
        rows = pd.DataFrame(
            [
                {
                    "suite": "uci",
                    "dataset": dataset,
                    "method": method,
                    "preset": preset,
                    "metric": "nmll",
                    "mean": mean,
                    "stderr": 0.1,
                    "median": mean - 10 if method == "map" else mean + 10,
                    "worst": 90.0,
                    "by_median": by_median,
                    "n": 2,
                    "n_failed": int(method in failed),
                    "remark": remark,
                }
                for dataset, method, mean in pairs
            ]
        )
        wanted = [Cell("uci", dataset, method, 0, preset, Protocol(), 0) for dataset, method, _ in pairs]
        outcome.show_outcome(rows, wanted, Finished(), missing, Path("page.html"), SIGNS)
        return console.file.getvalue()

    return show


def order(text: str, *names: str) -> list[str]:
    """Return the names in the order in which lines begin with them."""
    first_words = [words[0] for line in text.splitlines() if (words := line.split())]
    return [word for word in first_words if word in names]


def test_methods_are_ordered_by_mean_rank(shown):
    text = shown({"yacht": {"map": 3.0, "vifa": 1.0, "swag": 2.0}, "wine": {"map": 0.3, "vifa": 0.2, "swag": 0.1}})
    assert order(text, "map", "vifa", "swag") in (["vifa", "swag", "map"], ["swag", "vifa", "map"])
    assert order(text, "map", "vifa", "swag")[-1] == "map"


def test_scores_on_gaps_are_median_and_worst_split_instead_of_mean(shown):
    text = shown({"yacht": {"map": 3.0, "vifa": 1.0}, "wine": {"map": 3.0, "vifa": 4.0}}, by_median=True)
    assert "median and worst over splits" in text
    assert order(text, "map", "vifa") == ["map", "vifa"]
    assert text.count("-7.00, 90.00*") == 2


def test_lowest_mean_on_each_data_set_is_marked(shown):
    text = shown({"yacht": {"map": 3.0, "vifa": 1.0}, "wine": {"map": 0.3, "vifa": 0.4}})
    assert "1.00±0.10*" in text
    assert "0.30±0.10*" in text
    assert text.count("*") == 3  # and the one that is explained


def test_baselines_such_as_constant_come_last_and_unranked(shown):
    text = shown({"yacht": {"constant": 0.5, "gp": 0.4, "map": 3.0, "vifa": 1.0}})
    assert order(text, "constant", "gp", "map", "vifa")[:2] == ["vifa", "map"]
    assert "1.00±0.10*" in text
    assert "0.40±0.10*" not in text
    assert "lower is better; * the lowest, baselines apart:" in text


def test_lowest_number_is_explained_only_where_one_is_marked(shown):
    assert "lower is better:" in shown({"yacht": {"constant": 0.5, "map": 0.4}})
    assert "lower is better; * the lowest:" in shown({"yacht": {"vifa": 0.5, "map": 0.4}})


def test_failed_methods_rank_last(shown):
    text = shown({"yacht": {"map": nan, "vifa": 1.0, "swag": 2.0}}, failed=("map",))
    assert order(text, "map", "vifa", "swag") == ["vifa", "swag", "map"]
    assert "(1 failed)" in text


def test_many_data_sets_are_summarised_per_method(shown):
    names = [f"set-{number:02d}" for number in range(30)]
    text = shown({name: {"map": 2.0, "vifa": 1.0} for name in names}, remark="still improving")
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert lines["vifa"] == ["1.0", "30", "30"]
    assert lines["map"] == ["2.0", "30"]
    assert "set-07" not in text


def test_run_prints_next_steps(shown):
    text = shown({"yacht": {"map": 3.0, "vifa": 1.0}})
    assert "python -m leaderboards rank results --suite uci --preset quick --metric nmll" in text
    assert "--preset tuned" in text
    assert "Page: page.html" in text
    assert "--preset tuned" not in shown({"yacht": {"map": 3.0, "vifa": 1.0}}, preset="tuned").replace(
        "--suite uci --preset tuned", ""
    )


def test_missing_data_sets_are_named_again_at_the_end(shown):
    text = shown({"yacht": {"map": 3.0}}, missing=[Missing("boston", "no files", "fetch them")])
    assert "Without boston: not available, see above" in text
