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
    assert (
        "Methods that are nearer to the true posterior are better by covariance · NMLL; variation · NMLL" in page.words
    )
    assert "faithfulness.html" in site["index.html"].links


def test_site_without_distances_has_no_faithfulness_page(small_site):
    assert "faithfulness.html" not in small_site
