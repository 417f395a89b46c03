"""Marks, remarks and figures of pages are the verdicts of `rank`."""

import json
import re

import numpy as np
import pytest
from built_pages import Built

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.stats import rank, rank_on_datasets
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.methods import UNRANKED


def test_single_split_is_not_tested(built):
    of = [(dataset, method) for dataset in ("energy", "yacht") for method in ("map", "vifa")]
    rows = [{"dataset": d, "method": method, "nmll": 1.0} for d, method in of]
    site = built(*rows)
    assert "Too few splits to test differences" in site["dataset-energy.html"].words
    assert "≈" not in site["dataset-energy.html"].words
    assert "Could be best" not in site["suite-uci.html"].words
    assert 'class="ahead"' not in site.html["suite-uci.html"]
    assert "There are too few common splits for a comparison with map" in site["method-vifa.html"].words


@pytest.fixture(scope="module")
def ranked_site(shared_folder, tmp_path_factory):
    """The pages of four methods with every verdict, and their cells."""
    rng = np.random.default_rng(0)
    levels = {"map": 1.0, "vifa": 0.2, "swag": 0.2, "slang": 1.1}
    rows = [
        {"dataset": d, "method": method, "split": split, "nmll": (nmll := level + 0.1 * rng.normal()), "rmse": nmll**2}
        for d in ("energy", "wine", "yacht")
        for method, level in (levels | {"swag": 3.0 if d == "yacht" else 0.2}).items()
        for split in range(6)
        if (d, method) != ("wine", "slang")
    ]
    rows[3] |= {"status": "failed", "nmll": None, "rmse": None}
    out = shared_folder(*rows)
    return Built(leaderboards.build(out, tmp_path_factory.mktemp("ranked"))), read_results(out).cells


def test_page_marks_equal_the_computed_verdicts(ranked_site):
    """Every cell with a mark or a class has the verdict of `rank_on_datasets`, and there are no other marks."""
    site, cells = ranked_site
    verdicts = {
        (dataset, row.method, metric): row.verdict
        for metric in ("nmll", "rmse")
        for dataset, ranking in rank_on_datasets(cells, "uci", "paper", metric, families=False).items()
        for row in ranking.rows
    }
    assert {"best", "could be best", "worse", "failed"} == set(verdicts.values())
    marks = {"best": "★", "could be best": "≈"}
    cell = r'<td class="([\w-]*)" data-method="(\w+)" data-metric="(\w+)"[^>]*>\s*(?:<span class="mark" [^>]*>(.))?'
    n_marks, shown = 0, set()
    for name, html in site.html.items():
        n_marks += html.count('class="mark"')
        for found in re.finditer(cell + r'.*?<a href="(?:dataset-(\w+).html)?#', html, re.DOTALL):
            style, method, metric, mark, dataset = found.groups()
            place = dataset or name.removeprefix("dataset-").removesuffix(".html"), method, metric
            assert (style, mark) == (verdicts[place].replace(" ", "-"), marks.get(verdicts[place])), place
            shown.add(place)
            n_marks -= mark is not None
    assert shown == set(verdicts)
    assert n_marks == 2  # in the legend of the index


def test_remarks_are_printed_beside_numbers_with_legend(built):
    levels = {"constant": 2.0, "map": 2.5, "swag": 1.0, "vifa": 1.5}
    improving = {"vifa": json.dumps({"still_improving": 1.0})}
    site = built(
        *(
            {"dataset": name, "method": method, "split": split, "nmll": level + 0.1 * split, "fit_seconds": 1.0}
            | {"diagnostics": improving.get(method)}
            for name in ("energy", "wine")
            for method, level in levels.items()
            for split in range(2)
        )
    )
    page = site["dataset-wine.html"]
    (of_map,) = [row for row in page.rows if row.split()[:1] == ["map"]]
    assert "no better than predicting the mean" in of_map
    assert "†" in of_map
    (of_vifa,) = [row for row in page.rows if row.split()[:1] == ["vifa"]]
    assert "‡ , still improving" in of_vifa
    (of_swag,) = [row for row in page.rows if row.split()[:1] == ["swag"]]
    assert not {"†", "‡"} & set(of_swag)
    assert any("predicting the training mean" in row for row in page.rows if row.split()[0] == "constant")
    for name in ("dataset-wine.html", "suite-uci.html", "method-vifa.html"):
        assert "‡ still improving: on more than half of the splits" in site[name].words, name


def test_baselines_have_numbers_but_no_rank(built):
    lines = (*UNRANKED, "sghmc-noiseless(chains=1)")
    levels = dict.fromkeys(lines, 0.5) | {"map": 2.5, "swag": 1.0}
    site = built(
        *(
            {"dataset": dataset, "method": method, "split": split, "nmll": level + 0.1 * split}
            for dataset in ("energy", "wine")
            for method, level in levels.items()
            for split in range(2)
        )
    )
    for name in lines:
        (line,) = [row for row in site["suite-uci.html"].rows if row.split()[:1] == [name]]
        assert "not ranked" in line
        assert "0.55" in line
        assert "%" not in line  # no win rate
    swag = next(row for row in site["suite-uci.html"].rows if row.split()[:1] == ["swag"])
    assert swag.split()[1] == "1.0"  # the mean rank


def test_figure_colours_follow_the_verdicts(ranked_site):
    site, cells = ranked_site
    expected = ["ahead" if row.verdict in AHEAD else "behind" for row in rank(cells, "uci", "paper", "nmll").rows]
    figure = re.search(r'aria-label="Ranks by NMLL.*?</figure>', site.html["suite-uci.html"], re.DOTALL)[0]
    assert re.findall('<circle class="(ahead|behind)"', figure) == expected


def test_power_page_agrees_with_rank_on_decided_ranks(ranked_site):
    """A row has the numbers that decide the rank, the difference over data sets, and the one on each of them."""
    site, cells = ranked_site
    places = {row.method: row for row in rank(cells, "uci", "paper", "nmll", families=False).rows}
    on_datasets = rank_on_datasets(cells, "uci", "paper", "nmll", families=False)
    tested = [of_set for of_set in on_datasets.values() if any(row.low < row.high for row in of_set.rows)]
    rows = re.findall(r'<tr class="item" data-method="(\w+)">(.*?)</tr>', site.html["power.html"], re.DOTALL)
    assert [method for method, _ in rows] == list(places)
    for method, html in rows:
        place, *differences = re.findall(r"<td[^>]*title[^>]*>([^<]*)</td>", html)
        assert (place == "settled") == (places[method].verdict in ("best", "worse")), method
        compared = [places[method], *({row.method: row for row in of.rows}.get(method) for of in tested)]
        for answer, row in zip(differences, compared, strict=True):
            assert (answer == "settled") == (row is not None and (row.low > 0 or row.high < 0)), method
    assert "none" in {answer for _, html in rows for answer in re.findall(r">([^<]*)</td>", html)}
