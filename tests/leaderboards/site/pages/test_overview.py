"""Overall ranking of the index: the suite and preset shown, and when none is."""

import re

import pytest

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.overview import overview


def run(n_datasets: int = 6, n_splits: int = 3, **changes) -> list[dict]:
    """Three methods; `bad` is behind everywhere, `map` and `vifa` take turns."""
    rows = []
    for number in range(n_datasets):
        for split in range(n_splits):
            turn = 0.1 * (-1) ** number
            for method, nmll, slope in (("vifa", 1.0 + turn, 0.02), ("map", 1.0, 0.03), ("bad", 3.0, 0.05)):
                cell = {"dataset": f"set-{number}", "method": method, "split": split}
                rows.append(cell | {"nmll": nmll + slope * split**2})
    return [row | changes for row in rows]


@pytest.fixture
def made(cells):
    def make(rows: list[dict]):
        frame = cells(*rows).assign(folder="")
        return overview(Site(Leaderboard((), frame, [], [], [], frame, frame.iloc[:0])))

    return make


def without(method: str, rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["method"] != method]


def test_overview_shows_preset_with_most_values(made):
    wider = [{**row, "method": f"{row['method']}-2"} for row in run(6, 2)]
    tuned = [row | {"preset": "tuned", "protocol_hash": "bbbbbbbb"} for row in [*wider, *run(6, 2)]]
    found = made([*run(), *tuned, *run(2, 40, suite="toy")])
    assert (found.suite, found.preset, found.evidence) == ("uci", "tuned", "6 data sets, 2 splits each")


def test_overview_prefers_equal_budget_among_similar_presets(made):
    tuned = run(6, 10, preset="tuned", protocol_hash="bbbbbbbb")
    found = made([*run(6, 10), *tuned[:-1]])
    assert (found.preset, found.why) == ("tuned", "Same tuning budget for all methods")
    found = made([*run(6, 10), *tuned[:-30]])
    assert (found.preset, found.why) == ("paper", "The suite and preset with most results")


def test_overview_shows_the_quick_preset_last(made):
    quick = run(8, 9, preset="quick", protocol_hash="bbbbbbbb")
    assert made([*run(), *quick]).preset == "paper"
    assert made([*run(3), *quick]).preset == "quick"


@pytest.mark.parametrize(("n_datasets", "n_splits"), [(3, 9), (9, 1)])
def test_few_data_sets_or_splits_give_no_overview(made, n_datasets, n_splits):
    assert made(run(n_datasets, n_splits)) is None


def test_two_methods_give_no_overview(made):
    assert made(without("bad", run())) is None


def test_overview_description_states_the_figures_values(made):
    found = made(run())
    assert found.plot.description.startswith("Mean ranks by NMLL over 6 data sets, 3 splits each, the best first: ")
    assert found.plot.description.endswith("The best, or could be the best: map, vifa.")
    assert "bad 3.0 (3 to 3)" in found.plot.description
    assert re.findall('<circle class="(ahead|behind)"', found.plot.svg) == ["ahead", "ahead", "behind"] * 2


def test_overview_without_reference_has_no_differences(made):
    rows = [row | {"method": row["method"].replace("map", "swag")} for row in run()]
    found = made(rows)
    assert found.plot.svg.count('class="field"') == 1
    assert "against" not in found.plot.svg


def test_overview_states_differing_numbers_of_splits(made):
    rows = [row for row in run(6, 4) if row["dataset"] != "set-0" or row["split"] < 2]
    assert made(rows).evidence == "6 data sets, 2 to 4 splits each"


def test_stated_number_of_splits_ignores_variants(made):
    few = [row | {"method": name} for name in ("vifa-k1", "vifa-k2") for row in run(6, 2) if row["method"] == "vifa"]
    assert made([*run(6, 4), *few]).evidence == "6 data sets, 4 splits each"
