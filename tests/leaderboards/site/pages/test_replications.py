"""The page of replications, and that its rows are on no other page."""

import re

import pytest

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.replications import ledger
from lockstep_bench.leaderboards.site import addresses, content
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages import render, replications
from lockstep_bench.shared.papers.entries import read

VIFA = "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning"
ENTRIES = f"""
paper = "{VIFA}"

[[entry]]
name = "vifa-table-1"
table = "Table 1"
title = "Scores <b>on UCI</b>"
protocol = "20 splits of `uci`."
departures = "Five splits."

[[entry.run]]
suite = "uci"
preset = "paper"
methods = ["vifa", "vifa-lr", "only-replicated"]
datasets = ["energy", "yacht"]
splits = "0-4"

[[entry.claim]]
text = "The network is better than the linear model (section 4)."
metric = "nmll"
left = "vifa"
relation = "below"
right = "vifa-lr"

[[entry]]
name = "vifa-table-2"
table = "Table 2"
title = "Retinopathy"
protocol = "5 splits."
unavailable = "40 hours of a GPU."

[[entry]]
name = "vifa-table-10"
table = "Table 10"
title = "Logistic posteriors"
protocol = "One split."

[[entry.run]]
suite = "posterior"
preset = "paper"
methods = ["vifa-k5"]
datasets = ["a1a-logistic"]
"""
DISPUTE = """
[[dispute]]
name = "vifa-energy"
title = "NMLL <b>of VIFA</b>"
about = "Tuned with `paper`."
printed = {value = -2.4, by = "An issue", source = "https://example.org/issue"}
command = "python run_all.py"

[[dispute.reading]]
label = "a log-likelihood"
suite = "uci"
preset = "PRESET"
dataset = "energy"
method = "vifa"
metric = "nmll"

[[dispute.reading]]
label = "its negative"
suite = "uci"
preset = "PRESET"
dataset = "energy"
method = "vifa"
metric = "nmll"
negated = true
"""
WIGGLE = (-0.02, -0.01, 0.0, 0.01, 0.02)


@pytest.fixture
def site(cells, tmp_path, monkeypatch):
    """Return the site of rows, with the entries above."""
    (tmp_path / "made-up.toml").write_text(ENTRIES)
    made = read([tmp_path / "made-up.toml"])
    monkeypatch.setattr(content, "entries", lambda: made)

    def make(*rows: dict) -> Site:
        frame = cells(*rows).assign(folder="", rechecked=None, total_seconds=float("nan"))
        return Site(Leaderboard((), frame, [], [], [], frame, frame.iloc[:0]))

    return make


def run(method: str, nmll: float, preset: str = "vifa-table-1", dataset: str = "energy") -> list[dict]:
    cell = {"method": method, "preset": preset, "dataset": dataset}
    return [cell | {"split": split, "nmll": nmll + wiggle, "rmse": 2.9 + wiggle} for split, wiggle in enumerate(WIGGLE)]


@pytest.fixture
def pages(site):
    """Pages of two methods that were run for Table 1, one of them for nothing else, and of one of another preset."""
    failed = {"preset": "vifa-table-1", "method": "only-replicated", "status": "failed", "error": "boom"}
    return render(site(*run("vifa", 2.53), *run("vifa-lr", 9.0), failed, *run("vifa", 2.4, "paper")))


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html.partition("</head>")[2]))


def test_replication_page_shows_verdicts_of_numbers_and_claims(pages):
    said = words(pages[addresses.REPLICATIONS])
    assert "3 tables and figures of 1 paper: 1 run here, 1 not run yet, 1 out of reach." in said
    assert "differs in 2 of 4" in said  # vifa-lr: published NMLL 2.57, RMSE 3.07
    assert "holds" in said
    assert "python run_all.py --suite papers --preset vifa-table-1" in said
    assert "40 hours of a GPU." in said
    assert "<b>on UCI</b>" not in pages[addresses.REPLICATIONS]


def test_each_entry_is_a_folded_line_with_its_verdict(pages):
    """Only what a line says is read before it is opened."""
    html = pages[addresses.REPLICATIONS]
    folded = re.findall(r'<details id="([^"]*)" class="entry">\s*<summary>(.*?)</summary>', html, re.DOTALL)
    lines = {name: words("</head>" + summary) for name, summary in folded}
    assert list(lines) == ["vifa-table-1", "vifa-table-2", "vifa-table-10"]
    assert "Table 1" in lines["vifa-table-1"]
    assert "numbers: differs in 2 of 4" in lines["vifa-table-1"]
    assert "claims: 1 holds" in lines["vifa-table-1"]
    assert "not run here" in lines["vifa-table-2"]


def test_replication_page_counts_claims_by_verdict(pages):
    """On both pages that count claims, the counts of all verdicts add up to the number of claims."""
    for page in (addresses.INDEX, addresses.REPLICATIONS):
        counts = re.search(r"(\d+) claims? without a number: ([^.]*)\.", words(pages[page]))
        assert sum(int(part.split()[0]) for part in counts[2].split(", ")) == int(counts[1])


def test_replication_page_states_missing_results(pages):
    said = words(pages[addresses.REPLICATIONS])
    assert "not complete: 1 of 5; 1 failed (energy only-replicated)" in said
    assert "not run (yacht vifa, yacht vifa-lr, yacht only-replicated)" in said
    assert "boom" in said


def test_links_of_the_replication_page_resolve(pages):
    for name, html in pages.items():
        targets = [link.partition("#") for link in re.findall(r'href="([^"]*)"', html)]
        assert {page or name for page, _, _ in targets} <= pages.keys()
        for page, _, place in targets:
            assert not place or f'id="{place}"' in pages[page or name]
    assert addresses.REPLICATIONS in pages[addresses.INDEX]


def test_replication_results_appear_on_no_other_page(pages):
    assert addresses.method_page("vifa") in pages
    assert addresses.method_page("vifa-lr") not in pages
    others = [html for name, html in pages.items() if name != addresses.REPLICATIONS]
    assert not any("vifa-table-1" in html or "boom" in html for html in others)


def test_site_can_contain_only_replications(site):
    pages = render(site(*run("vifa", 2.53)))
    assert set(pages) == {addresses.INDEX, addresses.REPLICATIONS}
    assert "No cell" not in words(pages[addresses.INDEX])


def test_replications_are_listed_before_they_are_run(site):
    said = words(render(site())[addresses.REPLICATIONS])
    assert "0 run here, 2 not run yet, 1 out of reach" in said


def test_site_without_replications_omits_their_page(site, monkeypatch):
    monkeypatch.setattr(content, "entries", lambda: ())
    pages = render(site(*run("vifa", 2.4, "paper")))
    assert not any("replications" in name or addresses.REPLICATIONS in html for name, html in pages.items())


@pytest.mark.parametrize("preset", ["paper", "vifa-table-1"])
def test_disputed_numbers_stand_on_the_replication_page(site, monkeypatch, preset):
    monkeypatch.setattr(replications, "disputes", lambda: ledger.read(DISPUTE.replace("PRESET", preset)))
    html = render(site(*run("vifa", 2.53), *run("vifa", 2.4, "paper")))[addresses.REPLICATIONS]
    said = words(html)
    assert "Disputed numbers" in said
    assert "explained: its negative" in said
    assert '<a href="https://example.org/issue"' in html
    assert "<b>of VIFA</b>" not in html
    assert re.search(r'<span class="whole">[^<(]+ ± [^<(]+</span> <span class="whole">\(\d+ splits?\)</span>', html)


def test_disputed_numbers_without_rows_are_left_out(site, monkeypatch):
    monkeypatch.setattr(replications, "disputes", lambda: ledger.read(DISPUTE))
    assert "Disputed numbers" not in words(render(site(*run("vifa", 2.53)))[addresses.REPLICATIONS])
