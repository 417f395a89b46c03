"""A real browser, and a site made of results that are as hostile as results can be.

Each test opens pages of its own, and at its end none of them may have logged an error, opened a dialog or asked for
anything but files of the site. Without a browser the tests are skipped, or fail if REQUIRE_BROWSER is 1.
"""

import json
import threading
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browsers import opened

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.publishing import publish_to_folder
from lockstep_bench.leaderboards.replications import ledger
from lockstep_bench.leaderboards.site import content
from lockstep_bench.leaderboards.site.pages import replications
from lockstep_bench.leaderboards.site.serving import server
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.papers.entries import Entry, entries

EVIL_METHOD = "<script>window.hacked=1</script>\"'\N{RIGHT-TO-LEFT OVERRIDE}evil"
DISPUTE = """
[[dispute]]
name = "vifa-energy"
title = "The negative log-likelihood of VIFA on the energy data"
about = "Tuned with `paper`."
printed = {value = -2.4, by = "An issue", source = "https://example.org/issue"}
command = "python run_all.py"

[[dispute.reading]]
label = "its negative"
suite = "uci"
preset = "vifa-table-1"
dataset = "energy"
method = "vifa"
metric = "nmll"
negated = true
"""
EVIL_ERROR = "</pre><img src=x onerror='window.hacked=1'>\n<script>window.hacked=1</script>\N{RIGHT-TO-LEFT OVERRIDE}"


@pytest.fixture(scope="module")
def browser(skip_unless_required):
    """One browser for the tests of a file."""
    with opened(skip_unless_required) as browser:
        yield browser


def entries_of_a_paper() -> list[Entry]:
    """Return the tables and figures of the VIFA paper, and the entries whose results they are compared with."""
    results = {entry.rows for entry in entries() if entry.name.startswith("vifa-")}
    return [entry for entry in entries() if entry.name.startswith("vifa-") or entry.name in results]


@pytest.fixture(scope="session")
def site(tmp_path_factory, row):
    """The folder of a site of two suites: four methods on two data sets, one of them hostile, and two on a third.

    On three more data sets there is a little, so that the first page has its picture, and on two with gaps, for its
    column of these. Some rows were run for a table of a paper, whose tables and figures are the only ones on the page
    of replications.
    """
    rows, random = [], np.random.default_rng(1)
    for split in range(8):
        for dataset, hard in (("energy", random.normal()), ("wine", random.normal())):
            for method, level in (("vifa", 2.5), ("mfvi", 9.5), ("map", 13.0), (EVIL_METHOD, 30.0)):
                value = level + 0.1 * hard + 0.01 * random.normal()
                cell = {"dataset": dataset, "method": method, "split": split, "task": "regression"}
                cell |= {"nmll": value, "rmse": 40 - value, "coverage_90": 0.9, "fit_seconds": 1.5}
                cell |= {"tune_seconds": 10.0, "exclusive": True}
                cell |= {"hparams": json.dumps({"lr": 0.01 * (1 + split), "prior_precision": 2.0})}
                if method == EVIL_METHOD and split in (2, 5):
                    cell |= {"status": "failed", "error": EVIL_ERROR, "log": EVIL_ERROR}
                    cell |= dict.fromkeys(("nmll", "rmse", "coverage_90", "hparams"))
                rows.append(cell)
        for method, nmll in (("vifa", 0.3), ("map", 0.4)):
            cell = {"suite": "classification", "dataset": "digits-ood", "task": "multiclass", "method": method}
            cell |= {"split": split, "preset": "quick", "protocol_hash": "bbbbbbbb", "nmll": nmll + 0.01 * split}
            rows.append(cell | {"accuracy": 0.9, "brier": 0.2, "ece": 0.05, "ood_auroc": 0.8, "entropy": 0.5})
        for dataset in ("kin8nm", "power", "yacht"):
            for method, nmll in (("vifa", 0.3), ("mfvi", 0.4), ("map", 0.5)):
                cell = {"dataset": dataset, "method": method, "split": split, "task": "regression"}
                rows.append(cell | {"nmll": nmll + 0.01 * random.normal()})
    for dataset in ("energy-gap", "yacht-gap"):
        for method, nmll in (("vifa", 0.7), ("mfvi", 0.9), ("map", 0.5)):
            for split in range(3):
                cell = {"suite": "uci-gap", "dataset": dataset, "method": method, "split": split, "task": "regression"}
                rows.append(cell | {"nmll": nmll + 0.01 * random.normal()})
    for dataset in ("energy", "yacht", "boston"):
        for method in ("vifa", "vifa-lr", EVIL_METHOD):
            for split in range(3):
                scores = {"nmll": 2.5 + 0.1 * random.normal(), "rmse": 3.0 + 0.1 * random.normal()}
                cell = {"preset": "vifa-table-1", "dataset": dataset, "method": method, "split": split}
                failed = {"status": "failed", "error": EVIL_ERROR} if method == EVIL_METHOD else scores
                rows.append(cell | failed)
    out = tmp_path_factory.mktemp("run")
    (out / "cells").mkdir()
    pq.write_table(pa.Table.from_pylist([row(**one) for one in rows], schema=CELLS), out / "cells" / "all.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "entries", entries_of_a_paper)
        patch.setattr(replications, "disputes", lambda: ledger.read(DISPUTE))
        publish_to_folder(read_results(out), out / "site")
    return out / "site"


@pytest.fixture(params=["file", pytest.param("serve", marks=pytest.mark.slow)])
def base(request, site):
    """URL of the site's folder, with the last slash: as files, and in the slow tests as `serve` shows it, too.

    Tests of what depends on the address (links, downloads, what the browser stores) are for both.
    """
    if request.param == "file":
        yield f"{site.as_uri()}/"
        return
    with server(site, 0) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}/"
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def visit(browser, base):
    """Open the page `name` of the site in a context of its own, with the options of `Browser.new_context`."""
    contexts, wrong = [], []

    def open_page(name="index.html", **options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
        context.on("weberror", lambda error: wrong.append(str(error.error)))
        context.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        context.on("request", lambda request: None if inside(request.url, base) else wrong.append(request.url))
        page = context.new_page()
        page.goto(base + name)
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("window.hacked") is None
        context.close()
    assert wrong == []


def inside(url, base):
    """Return True if the address is that of a file of the site."""
    return unquote(url).startswith(unquote(base)) and ".." not in Path(url).parts


@pytest.fixture(params=["index", "suite", "dataset", "method", "power", "replications"])
def kind(request, site):
    """The name of one page of each kind."""
    return {
        "index": "index.html",
        "suite": "suite-uci.html",
        "dataset": "dataset-energy.html",
        "power": "power.html",
        "replications": "replications.html",
        "method": next(path.name for path in site.glob("method-*.html") if path.name.startswith("method-vifa")),
    }[request.param]
