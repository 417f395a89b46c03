"""A reader's questions, from the first page: each is answered after at most two clicks, by what `rank` prints."""

import pytest

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.stats.ranking import rank, rank_on_datasets

pytestmark = pytest.mark.parametrize("base", ["file"], indirect=True)


@pytest.fixture(scope="module")
def cells(site):
    """The rows of the site."""
    return read_results(site / "results").cells


def follow(page, name, within="main"):
    """Click on the first link of this name."""
    page.locator(within).get_by_role("link", name=name, exact=True).first.click()


def numbers(text):
    """Return the numbers of a cell of the page, such as "+0.10 −0.02 to +0.22"."""
    return [float(part) for part in text.replace("−", "-").split() if part != "to"]


def compared(page):
    """Return the text of each row's first difference on the page Compare, by its heading."""
    rows = page.locator("#compared tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in rows}


def test_compare_shows_the_interval_that_rank_computes(visit, cells):
    page = visit("compare.html?methods=map,vifa")
    options = {"methods": ["map", "vifa"], "reference": "map"}
    over = next(row for row in rank(cells, "uci", "paper", "nmll", **options).rows if row.method == "vifa")
    each = rank_on_datasets(cells, "uci", "paper", "nmll", **options)
    by_name = {name: next(row for row in one.rows if row.method == "vifa") for name, one in each.items()}
    shown = compared(page)
    assert numbers(shown.pop(f"Over {len(each)} data sets")) == pytest.approx(
        [over.difference, over.low, over.high], rel=0.1
    )
    assert set(shown) == set(by_name)
    for name, row in by_name.items():
        assert numbers(shown[name]) == pytest.approx([row.difference, row.low, row.high], rel=0.1)


def test_two_methods_are_compared_on_all_sets_after_two_clicks(visit):
    page = visit()
    follow(page, "vifa")
    follow(page, "mfvi")
    page.wait_for_url("**/compare.html*")
    assert "mfvi" in page.locator("#compared-answer").inner_text()
    assert {"energy", "wine", "kin8nm", "power", "yacht"} < set(compared(page))


def test_best_by_rmse_on_a_data_set_after_one_click(visit):
    page = visit()
    follow(page, "energy")
    assert "RMSE" in page.locator("p.verdict").first.inner_text()
    page.locator("[data-filter=metric]").select_option("rmse")
    first = page.locator("table[data-board] >> nth=0 >> tbody tr[data-method]:not(.published)").first
    assert first.get_attribute("data-method").startswith("<script>")  # its RMSE is 40 - 30


def test_command_behind_a_number_after_two_clicks(visit):
    page = visit()
    ranking = page.locator("#ranking").inner_text()
    assert "python -m leaderboards rank RESULTS --suite uci --preset paper --metric nmll" in ranking
    follow(page, "energy")
    page.locator("td[data-method=vifa][data-metric=nmll] a").first.click()
    command = page.locator("details.cell[data-method=vifa] pre").first
    assert "python run_all.py --suite uci --datasets energy --methods vifa" in command.inner_text()


def in_ranking(page, method, column):
    """Return a method's number in the table of the overall ranking."""
    table = page.locator("#ranking table.verdict")
    place = table.locator("thead th").all_inner_texts().index(column)
    return table.locator("tbody tr").filter(has_text=method).first.locator("th, td").nth(place).inner_text()


def test_total_cost_of_a_method_is_on_the_first_page(visit):
    assert float(in_ranking(visit(), "vifa", "Tuning + fit, s")) == 10 + 1.5


def test_total_cost_of_all_splits_after_one_click(visit, site):
    rows = read_results(site / "results").rows
    used = rows[(rows["suite"] == "uci") & (rows["preset"] == "paper") & (rows["method"] == "vifa")]
    page = visit()
    follow(page, "vifa")
    total = page.locator("table.cost").first.locator("tbody tr").last.locator("td").last.inner_text()
    assert float(total.partition(" ")[0]) == pytest.approx((used["tune_seconds"] + used["fit_seconds"]).sum(), rel=0.01)


def test_best_method_in_gaps_is_on_the_first_page(visit):
    page = visit()
    assert in_ranking(page, "map", "In gaps, nats") == "0"
    assert numbers(in_ranking(page, "vifa", "In gaps, nats")) == pytest.approx([0.7 - 0.5], abs=0.02)
    assert numbers(in_ranking(page, "mfvi", "In gaps, nats")) == pytest.approx([0.9 - 0.5], abs=0.02)


@pytest.mark.parametrize("width", [390, 1280])
def test_comparison_fits_the_width_of_the_screen(visit, width):
    page = visit("compare.html?methods=map,vifa", viewport={"width": width, "height": 844})
    place = page.locator(".scroll:has(#compared)")
    assert place.evaluate("one => one.scrollWidth - one.clientWidth") <= 0


def test_words_of_the_ledger_are_not_broken_on_phones(visit):
    page = visit("replications.html", viewport={"width": 390, "height": 844})
    widths = page.locator("table.ledger tbody th").evaluate_all("all => all.map(one => one.clientWidth)")
    assert widths
    assert min(widths) > 160
