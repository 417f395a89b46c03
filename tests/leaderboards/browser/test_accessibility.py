"""axe, the automated accessibility check, on every kind of page: wide and narrow, light and dark, all details open."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from axe_playwright_python.sync_playwright import Axe

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.publishing import publish_to_folder
from lockstep_bench.shared.columns import CELLS

FURTHER = ["factors", "equal-seconds", "faithfulness", "data-audit", "dataset-energy", "replications"]
WIDTHS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("width", ["desktop", pytest.param("phone", marks=pytest.mark.slow)])
def test_pages_pass_axe_accessibility_checks(visit, kind, width):
    page = visit(kind, viewport=WIDTHS[width], color_scheme="light")
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")  # changes colours and nothing else
    assert violations(page, runOnly=["color-contrast"]) == []


@pytest.fixture(scope="module")
def further_site(tmp_path_factory, row):
    """The folder of a site with the pages that are tables and figures alone, and with all tables of papers."""
    rows = []
    for place, method in enumerate(("map", "vifa", "swag", "mfvi")):
        for dataset in ("energy", "wine", "yacht"):
            cell = {"dataset": dataset, "method": method, "split": 0, "task": "regression", "nmll": 1.0 + 0.1 * place}
            for seconds in (1, 10):
                budget = {"protocol": json.dumps({"budget_seconds": seconds}), "protocol_hash": f"{seconds:08}"}
                rows.append(cell | budget | {"preset": f"tuned-{seconds}s", "tune_seconds": 1.0, "fit_seconds": 0.1})
            usual = {"preset": "tuned", "protocol": "{}", "hparams": json.dumps({"noise_precision": 1.0})}
            variant = {"preset": "tuned-modified", "protocol": json.dumps({"hidden": "16,16"})}
            rows += [cell | usual, cell | usual | variant | {"protocol_hash": "cccccccc"}]
            distance = {"suite": "posterior", "dataset": f"{dataset}-linear", "preset": "quick"}
            rows.append(cell | distance | {"rel_cov": 0.1 * place, "total_variation": 0.2 * place})
        rows.append({"suite": "uci-gp", "dataset": "gp-yacht", "method": method, "task": "regression", "nmll": 1.0})
    out = tmp_path_factory.mktemp("further")
    (out / "cells").mkdir()
    pq.write_table(pa.Table.from_pylist([row(**one) for one in rows], schema=CELLS), out / "cells" / "all.parquet")
    publish_to_folder(read_results(out), out / "site")
    return out / "site"


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", FURTHER)
def test_pages_of_several_presets_pass_axe_checks(browser, further_site, name, width):
    context = browser.new_context(viewport=WIDTHS[width], color_scheme="light")
    page = context.new_page()
    page.goto(f"{further_site.as_uri()}/{name}.html")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, runOnly=["color-contrast"]) == []
    context.close()


def violations(page, **options):
    """Return the violations that axe finds, in short; `options` of `axe.run`."""
    found = Axe().run(page, options={"resultTypes": ["violations"]} | options).response["violations"]
    return [(one["id"], one["impact"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in found]
