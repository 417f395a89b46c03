"""The page on faithfulness shows the correlation of distances with scores."""

import pytest
from built_pages import Built

from lockstep_bench import leaderboards

METHODS = ("map", "vifa", "swag", "mfvi")


@pytest.fixture(scope="module")
def out(shared_folder):
    """Four methods on three sets, in the same order by distance and by score, but for a swapped pair on the last."""
    rows = []
    for dataset, scores in {"toy": (4, 3, 2, 1), "yacht-net": (4, 3, 2, 1), "energy-linear": (4, 3, 1, 2)}.items():
        for place, (method, nmll) in enumerate(zip(METHODS, scores, strict=True)):
            row = {"suite": "posterior", "dataset": dataset, "method": method, "nmll": float(nmll)}
            rows.append(row | {"total_variation": 0.4 - 0.1 * place, "rel_cov": 1 - 0.2 * place})
    return shared_folder(*rows)


def test_page_has_the_correlations_and_their_mean(out, tmp_path):
    site = Built(leaderboards.build(out, tmp_path / "site"))
    page = site["faithfulness.html"]
    (row,) = (row for row in page.rows if row.strip().startswith("Covariance, relative distance NMLL"))
    assert row.split()[4:] == ["0.89", "0.41", "to", "1.00", "0.67", "1.00", "1.00"]
    assert "have better scores: the 95 % intervals of all 2 correlations, each for itself, lie above 0" in page.words
    assert "correlate RESULTS --suite posterior --preset paper --metrics rel_cov,nmll prints a line" in page.words
    assert "faithfulness.html" in site["index.html"].links


def test_functions_of_networks_have_distances_too(shared_folder, tmp_path):
    rows = [
        {"suite": "function-posterior", "dataset": name, "method": method, "nmll": 4.0 - place, "function_w2": distance}
        | {"total_variation": 0.1}
        for name in ("ref-gap-17", "ref-power-50")
        for place, (method, distance) in enumerate(zip(METHODS, (1.0, 2.0, 3.0, 4.0), strict=True))
    ]
    page = Built(leaderboards.build(shared_folder(*rows), tmp_path / "site"))["faithfulness.html"]
    (row,) = (row for row in page.rows if row.strip().startswith("Function W₂ / sd NMLL"))
    assert row.split()[5:] == ["−1.00", "−1.00", "to", "−1.00", "−1.00", "−1.00"]
    assert "worse by function · NMLL" in page.words
    assert "--suite function-posterior --preset paper --metrics function_w2,nmll" in page.words


def test_site_without_distances_has_no_faithfulness_page(small_site):
    assert "faithfulness.html" not in small_site
