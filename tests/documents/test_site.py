"""The documents as pages build without a warning, load nothing from elsewhere, and show what code and rows say."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FunctionType

import pandas as pd
import pytest
import yaml
from browsers import opened
from documents.evidence import kept

from lockstep_bench import methods
from lockstep_bench.datasets.tabular import uci

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in ROOT.glob("docs/methods/*.md") if path.name != "index.md")
CARDS = tomllib.loads((ROOT / "methods" / "catalogue" / "cards.toml").read_text(encoding="utf-8"))
# How far a page scrolls sideways, and the beginnings of the chosen tables and blocks of code that do.
SIDEWAYS = """([tables, code]) => [
    document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ...[...document.querySelectorAll(`.md-typeset__scrollwrap:has(${tables}), pre > code:has(${code})`)]
        .filter(part => part.scrollWidth > part.clientWidth).map(part => part.innerText.slice(0, 60)),
]"""
PARTS = ("Idea", "Update", "Assumptions", "Cost", "When to use it", "How it is tested", "Source")


@pytest.fixture(scope="module")
def generated():
    """The hook that computes parts of pages."""
    spec = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "hooks" / "generated.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of a site that was built strictly: a warning, as of a link that leads nowhere, is an error."""
    folder = tmp_path_factory.mktemp("documents") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return folder


def families_of(page: Path) -> list[str]:
    return yaml.safe_load(page.read_text(encoding="utf-8").split("---\n")[1])["families"]


def cells(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table, row by row without the heading."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.xdist_group("documents")
def test_pages_load_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"|<link[^>]* href="([^"]+)"', text)
        assert not [address for pair in loaded for address in pair if "//" in address], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


@pytest.mark.xdist_group("documents")
def test_all_formulas_become_mathml(site):
    for source in [*PAGES, ROOT / "docs/glossary.md"]:
        page = site / source.relative_to(ROOT / "docs").with_suffix(".html")
        text = page.read_text(encoding="utf-8")
        article = text[text.index("<article") : text.index("</article")]
        assert "<math" in article
        assert not re.findall(r"arithmatex|\$|\\[a-z]+", article), page


@pytest.mark.xdist_group("documents")
def test_lists_and_tables_are_as_long_as_in_markdown(site):
    # Python-Markdown ends a list at a part that is indented by fewer than four spaces, and GitHub does not.
    for source in [*ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]:
        text = re.sub(r"(?ms)^```.*?^```$", "", source.read_text(encoding="utf-8"))
        page = (site / source.with_suffix(".html").name).read_text(encoding="utf-8")
        article = page[page.index("<article") : page.index("</article")]
        assert article.count("<ol>") == len(re.findall(r"(?m)^1\. ", text)), source
        if "<!-- presets -->" not in text and "<!-- metrics -->" not in text and source.name != "api.md":
            rulers = re.findall(r"(?m)^ *\|(?::?-+:?\|)+$", text)
            assert article.count("<table") == len(rulers), source


@pytest.mark.xdist_group("documents")
def test_links_out_of_the_documents_lead_to_copies(site):
    page = (site / "adding-a-method.html").read_text(encoding="utf-8")
    (link,) = re.findall(r'href="(source/\S+langevin\.py)"', page)
    assert (site / link).read_text() == (ROOT / link.removeprefix("source/")).read_text()
    assert 'href="CONTRIBUTING.html#numbers"' in (site / "findings.html").read_text(encoding="utf-8")


@pytest.mark.xdist_group("documents")
def test_reference_documents_public_classes_and_functions(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    for name in ("bench.arrays", "datasets", "leaderboards", "methods.api"):
        module = importlib.import_module(f"lockstep_bench.{name}")
        public = [one for one in module.__all__ if isinstance(getattr(module, one), type | FunctionType)]
        assert public
        assert [one for one in public if f'id="lockstep_bench.{name}.{one}"' not in page] == [], name


@pytest.mark.xdist_group("documents")
def test_examples_of_docstrings_are_code(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    assert page.count('<div class="language-pycon highlight">') == 2
    assert "<blockquote>" not in page


@pytest.mark.xdist_group("documents")
def test_families_are_listed_in_the_order_of_the_navigation(site):
    page = (site / "methods" / "index.html").read_text(encoding="utf-8")
    table = re.search("<table.*?</table>", page, re.DOTALL)[0]
    navigation = re.findall(r"methods/([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert re.findall(r'<td[^>]*><a href="([\w-]+)\.html"', table) == navigation[1:]


# The widest tables of numbers scroll on a phone, and programs everywhere.
@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize(("width", "tables"), [(1280, "table"), (390, "table[data-rows]")])
def test_no_page_scrolls_sideways_and_no_command_is_cut(site, skip_unless_required, width, tables):
    sideways = {}
    with opened(skip_unless_required) as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):
            page.goto(path.as_uri())
            page.wait_for_function("document.querySelectorAll('table:not(.md-typeset__table *)').length == 0")
            sideways[path.name] = page.evaluate(SIDEWAYS, [tables, ".line"])
    assert {name: parts for name, parts in sideways.items() if parts != [0]} == {}


def test_each_family_of_methods_has_one_page():
    named = [family for page in PAGES for family in families_of(page)]
    assert sorted(named) == sorted(key for key, family in CARDS.items() if "methods" in family)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_theory_pages_have_all_parts_and_name_tests(page):
    text = page.read_text(encoding="utf-8")
    assert [part for part in PARTS if f"**{part}.**" not in text] == []
    assert "\n$$\n" in text
    assert text.endswith("## Methods\n\n<!-- methods -->\n")
    tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert tests
    assert [name for name in tests if not (ROOT / name).exists()] == []


def test_results_on_pages_are_means_of_kept_rows(generated):
    nine = [source.name for source in uci.sources()]
    rows = kept()
    rows = rows[(rows["suite"] == "uci") & (rows["status"] == "ok") & rows["dataset"].isin(nine)]
    for label, preset in generated.BOARDS.items():
        name, _, protocol = preset.partition("@")
        board = rows[(rows["preset"] == name) & rows["protocol_hash"].str.startswith(protocol)]
        table = board.pivot_table(index=["dataset", "split"], columns="method", values="nmll")
        for method in table:
            (shown,) = [one for one in generated.results()[method] if one.board == label]
            both = table[[method, "map"]].set_axis(["own", "map"], axis=1).dropna()
            wanted = [both.loc[dataset].mean() for dataset in both.index.unique("dataset")]
            assert (shown.sets, shown.splits) == (len(wanted), len(both))
            means = pd.DataFrame(wanted).mean()
            assert [shown.nmll, shown.reference] == pytest.approx(list(means))


def test_failed_splits_are_counted_beside_results(generated):
    text = generated.of_families(["directuq"])
    (line,) = [row for row in cells(text.partition("### Results")[2]) if row[0] == "`directuq-mean`"]
    assert line[2:4] == ["9 of 9", "164, 1 failed"]


def test_pages_show_ranges_and_caveats_of_every_method(generated):
    assert generated.spaces("mile", wide=False)["prior_precision"] == "0.01 to 10"
    assert generated.spaces("slang", wide=True)["lr"] == "0.001 to 0.1"
    for page in PAGES:
        text = generated.of_families(families_of(page))
        described = {row[0].strip("`"): row for row in cells(text.partition("### Search")[0])}
        assert set(described) == {name for key in families_of(page) for name in CARDS[key]["methods"]}
        for name, row in described.items():
            caveat = methods.get(name).spread_caveat
            assert not caveat or f"spread: {caveat}" in row[3]


def test_tables_of_methods_without_caveats_have_no_column_for_them(generated):
    described = {key: generated.of_families([key]).partition("### Search")[0] for key in ("inducing", "swag")}
    assert [("caveats" in text, {len(row) for row in cells(text)}) for text in described.values()] == [
        (False, {3}),
        (True, {4}),
    ]


def test_protocols_page_shows_every_preset(generated):
    text = generated.presets()
    for name, suite in generated.SUITES.items():
        assert f"- `{name}`: {suite.title}\n" in text
    tuned = next(part for part in text.split("\n### ") if part.startswith("`uci`"))
    rows = {row[0]: row[1:] for row in cells(tuned)}
    assert rows["`epochs`"] == ["120", "200", "150"]
    assert rows["`space`"] == ["paper", "wide", "paper"]


def test_make_documents_builds_what_the_workflow_publishes():
    make = (ROOT / "Makefile").read_text()
    workflow = (ROOT / ".github/workflows/leaderboard.yml").read_text()
    assert "-m mkdocs build" in make
    assert "-m mkdocs build --site-dir site/docs" in workflow
    assert shutil.which("mkdocs", path=str(Path(sys.executable).parent))
