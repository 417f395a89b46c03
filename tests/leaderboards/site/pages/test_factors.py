"""The page on factors: combinations by name, effects of each factor, and no page without a crossed design."""

import json

import pytest
from built_pages import Built

from lockstep_bench import leaderboards

LEVELS = {
    ("map", "50", "constant"): 3.0,
    ("map", "50", "predicted"): 4.0,
    ("mile", "50", "predicted"): 2.0,
    ("mile", "16-16", "predicted"): 1.5,
    ("vifa", "50", "constant"): 5.0,
}


def rows(combination: tuple[str, str, str], level: float) -> list[dict]:
    posterior, network, noise = combination
    changes = {} if network == "50" else {"hidden": network.replace("-", ",")}
    changes |= {} if noise == "constant" else {"likelihood": "heteroscedastic"}
    row = {
        "method": posterior,
        "preset": "tuned-modified" if changes else "tuned",
        "protocol": json.dumps({"epochs": 200} | changes),
        "protocol_hash": f"{len(changes)}{noise}"[:8],
        "task": "regression",
        "hparams": json.dumps({"noise_precision": 1.0} if noise == "constant" else {}),
    }
    return [
        row | {"dataset": name, "split": split, "nmll": level + split}
        for name in ("energy", "wine")
        for split in (0, 1)
    ]


@pytest.fixture(scope="module")
def crossed(shared_folder, tmp_path_factory):
    """The pages of a crossed design, built once."""
    out = shared_folder(*(row for names, level in LEVELS.items() for row in rows(names, level)))
    return Built(leaderboards.build(out, tmp_path_factory.mktemp("crossed")))


def test_factor_page_shows_effects_and_combination_scores(crossed):
    page = crossed["factors.html"]
    shown = [" ".join(row.split()) for row in page.rows]
    assert any(row.startswith("mile 50 · predicted −2") for row in shown)
    assert any(row.startswith("16-16 mile · predicted −0.5") for row in shown)
    assert any(row.startswith("predicted map · 50 +1") for row in shown)
    assert any(row.startswith("mile") and "2.5" in row and "2.0" in row for row in shown)
    assert not any(row.startswith("vifa") for row in shown)  # of the usual combination alone


def test_page_opens_with_the_effect_of_each_factor(crossed):
    words = crossed["factors.html"].words
    assert "Posterior, against map , by NMLL: no difference is shown." in words
    assert "Noise, against constant , by NMLL: no difference is shown." in words


def test_tooltips_name_whole_factor_combinations(crossed):
    assert 'title="mile · 16-16 · predicted, 2 splits"' in crossed.html["factors.html"]


@pytest.mark.parametrize("name", ["index.html", "suite-uci.html"])
def test_pages_link_to_an_existing_factor_page(crossed, name):
    assert "factors.html" in crossed[name].links


def test_single_factor_combination_has_no_page(built):
    site = built(*rows(("map", "50", "constant"), 1.0))
    assert "factors.html" not in site
    assert "factors.html" not in site["index.html"].links
