"""The page on equal seconds shows scores, verdicts and measured seconds at each budget."""

import json
import re

import pytest
from built_pages import Built

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.equal_seconds import context, measured

SETS = ("boston", "concrete", "energy", "wine", "yacht", "power")


@pytest.fixture(scope="module")
def out(shared_folder):
    """Two methods on three splits of six sets at 1 and 10 seconds; `vifa` is 0.5 nats ahead with ten."""
    rows = []
    for place, dataset in enumerate(SETS):
        for budget, gain in ((1, 0.1), (10, 0.5)):
            for split in range(3):
                for method in ("map", "vifa"):
                    nmll = 2 + place + 0.01 * split - gain * (method == "vifa") * (1 + 0.01 * split)
                    protocol = {"epochs": 2000, "budget_seconds": budget, "trials": 5 + place, "max_minibatches": 100}
                    row = {"dataset": dataset, "method": method, "split": split, "preset": f"tuned-{budget}s"}
                    row |= {"protocol": json.dumps(protocol), "protocol_hash": f"{budget:08}", "nmll": nmll}
                    row |= {"tune_seconds": 0.75 * budget, "fit_seconds": 0.05 * budget, "exclusive": method == "vifa"}
                    rows.append(row)
    return shared_folder(*rows)


@pytest.fixture(scope="module")
def section(out):
    (found,) = context(Site(read_results(out)))["sections"]
    return found


def test_plotted_seconds_are_measured_or_the_budget(out):
    site = Site(read_results(out))
    points = measured(site, site.budgeted[0], "nmll").set_index(["budget", "dataset", "method"])
    assert points.loc[(10, "yacht", "vifa"), "seconds"] == pytest.approx(8.0)
    assert points.loc[(10, "yacht", "map"), "seconds"] == 10
    assert points.loc[(1, "boston", "map"), "score"] == pytest.approx(2.01)


def test_differences_are_to_the_reference_at_equal_budget(section):
    found = {seconds: section.standing(seconds, "vifa").change.difference for seconds in (1, 10)}
    assert found == pytest.approx({1: -0.101, 10: -0.505})
    assert section.spent == pytest.approx({(1, "vifa"): 0.8, (10, "vifa"): 8.0})


def test_figures_cover_each_data_set_and_all_together(section):
    assert len(section.plots) == len(SETS)
    assert "NMLL minus map's" in section.overall.caption
    assert "vifa −0.51" in section.overall.description or "vifa −0.50" in section.overall.description


def test_a_method_that_has_not_finished_all_sets_is_drawn(shared_folder):
    """As in the page of a run that goes on, which stopped being built when such a method had no standing."""
    rows = []
    finished = ["map", "swag", "vifa", "mfvi", "laplace", "deep-ensemble"]
    for dataset, methods in (("concrete", [*finished, "mile", "sghmc"]), ("wine", finished)):
        for place, method in enumerate(methods):
            protocol = json.dumps({"epochs": 2000, "budget_seconds": 10, "trials": 5, "max_minibatches": 100})
            row = {"dataset": dataset, "method": method, "split": 0, "preset": "tuned-10s", "protocol": protocol}
            row |= {"protocol_hash": "00000010", "tune_seconds": 7.5, "fit_seconds": 0.5, "exclusive": True}
            rows.append(row | {"nmll": 2.0 + place})
    (found,) = context(Site(read_results(shared_folder(*rows))))["sections"]
    assert found.standing(10, "mile") is None
    assert found.methods == [*finished, "mile", "sghmc"]
    assert "mile 8.00" in next(plot.caption + plot.description for plot in found.plots if "concrete" in plot.caption)


def test_sentences_name_the_best_method_at_each_budget(section):
    assert section.sentences[0] == "With 1 and 10 seconds, `vifa` is the best by NMLL over 6 data sets."
    assert "excludes 0 for 1 of 1 (better: `vifa`" in section.sentences[1]


def test_index_links_equal_time_page_with_verdicts(out, tmp_path):
    site = Built(leaderboards.build(out, tmp_path / "site"))
    (row,) = (row for row in site["equal-seconds.html"].rows if row.split()[0] == "vifa")
    assert re.search(r"−0\.10.* best  0\.800  −0\.5[01].* best  8\.00 *$", row)
    assert "equal-seconds.html" in site["index.html"].links


def test_site_without_time_budgets_has_no_equal_time_page(small_site):
    assert "equal-seconds.html" not in small_site
