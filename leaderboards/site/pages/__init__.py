"""The pages of the site: index, suites, data sets, methods and others. Each is one self-contained HTML file.

Imports the rest of `leaderboards.site`.
"""

import base64
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lockstep_bench.leaderboards.data.own import own_tables
from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site import addresses, markup
from lockstep_bench.leaderboards.site.compiled import Compiled
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.kept import Kept
from lockstep_bench.leaderboards.site.pages import (
    audit,
    compare,
    dataset,
    equal_seconds,
    factors,
    faithfulness,
    findings,
    index,
    method,
    power,
    replications,
    suite,
)
from lockstep_bench.leaderboards.site.pages.parts import MOST_LINKS, PagePart, first_failures, further_pages
from lockstep_bench.leaderboards.stats.remarks import NO_BETTER, signs
from lockstep_bench.leaderboards.stats.remembered import remembering
from lockstep_bench.leaderboards.tables import ranking_numbers as printed
from lockstep_bench.leaderboards.wording.formats import counted, prose, unbroken_options, visible, without_backticks
from lockstep_bench.methods import BASELINE, is_ranked

TEMPLATES = Path(__file__).parents[1] / "templates"
COMPILED = Compiled()
MARK = b'<meta name="generator" content="lockstep-bench leaderboards">'  # by which a later build recognises its pages


class WrittenSite(NamedTuple):
    """The path of a site's index.html, and the summary that it shows, by `stats.summary.summarise`."""

    page: Path
    summary: pd.DataFrame


def write_site(
    results: Leaderboard,
    html: Path,
    downloads: Sequence[str] = (),
    running: tuple[int, int] | None = None,
    kept: Kept | None = None,
) -> WrittenSite:
    """Write index.html and all other pages into a folder, each page atomically.

    Pages of an earlier build that no longer exist are removed. Other files stay, and symbolic links are not followed.
    The folder's pages are the same with and without `kept`.

    Args:
        results: result of `data.results.read_results`.
        html: the folder, which is created if it is missing.
        downloads: files of the folder that the index offers for download.
        running: numbers of finished and of all cells of a run that is still in progress; None if no run is.
        kept: what the last build of this folder kept, to be used and replaced; None to compute everything.

    Raises:
        OSError: A page cannot be written, for example because a folder is in its place. Then no page is changed.
    """
    html.mkdir(parents=True, exist_ok=True)
    _require_no_folder(html / addresses.INDEX)  # before the work
    written, unchanged = [], []
    if kept:
        COMPILED.read(kept.code)
    with (
        TemporaryDirectory(prefix=".", suffix=".tmp", dir=html) as fresh,
        own_tables(results.folders),
        remembering(kept.rows if kept else {}) as rows,
    ):
        site = Site(results, kept.summaries if kept else None)
        for name, text in _pages(site, downloads, running, kept):
            _require_no_folder(html / name)
            if text is None:
                unchanged.append(name)
            else:
                Path(fresh, name).write_text(text, encoding="utf-8", newline="\n")
                written.append(name)
        for name in written:
            os.replace(Path(fresh, name), html / name)
    for path in html.glob("*.html"):
        if path.name not in {*written, *unchanged} and _is_page(path):
            path.unlink()
    if kept:
        kept.write(rows, site.kept_summaries)
        COMPILED.write(kept.code)
    return WrittenSite(html / addresses.INDEX, site.summary)


def _require_no_folder(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(errno.EISDIR, f"'{path}' is a folder, not a page")


def _is_page(path: Path) -> bool:
    """Return whether an earlier build wrote the file. Links do not count; pipes, which could block, are not read."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK in file.read(2000)


def render(site: Site, downloads: Sequence[str] = (), running: tuple[int, int] | None = None) -> dict[str, str]:
    """Return the HTML of every page, by file name; the same results give the same bytes."""
    return {name: text for name, text in _pages(site, downloads, running, None) if text is not None}


class _Templates:
    """The templates, with what all pages of a site have in common."""

    def __init__(self, site: Site, shared: dict[str, object]) -> None:
        self._environment = _environment(site, shared)
        self._macros = self._environment.get_template("parts.html").module
        self._links = {"datasets_with_page": set(site.datasets), "methods_with_page": set(site.methods)}

    def rendered(self, macro: str, *arguments: object, **options: object) -> Markup:
        return Markup(getattr(self._macros, macro)(*arguments, **options))

    def made(self, name: str, template: str, context: dict[str, Any], linked: bool = True) -> tuple[str, str]:
        """Return file name and HTML of a page; `linked` if it links to data sets and methods by their names."""
        links = self._links if linked else {}
        html = self._environment.get_template(template).render(here=name, **links, **context)
        return name, unbroken_options(html)

    def further(self, back: str, about: str, parts: Sequence[PagePart]) -> Iterator[tuple[str, str]]:
        for name, groups in further_pages(parts).items():
            yield self.made(name, "further.html", {"about": about, "back": back, "groups": groups}, linked=False)


def _pages(
    site: Site, downloads: Sequence[str], running: tuple[int, int] | None, kept: Kept | None
) -> Iterator[tuple[str, str | None]]:
    """Yield file name and HTML of every page, one at a time: those of 100,000 rows take 100 MB.

    The HTML is None if the page in the folder stays (`kept`).
    """
    shared = _shared(site)
    templates = _Templates(site, shared)
    time = running and (*running, f"{datetime.now():%H:%M}")
    context = index.context(site) | {"downloads": downloads, "running": time}
    yield templates.made(addresses.INDEX, "index.html", context)
    for name in site.suites:
        context, page = suite.context(site, name), addresses.suite_page(name)
        context["sections"] = suite.with_parts(name, context["sections"], templates.rendered)
        yield templates.made(page, "suite.html", context)
        yield from templates.further(page, name, [part for section in context["sections"] for part in section.parts])
    for name in site.datasets:
        key = dataset.depends_on(site, name, shared) if kept else ""
        yield from _unless_kept(kept, key, partial(_of_dataset, site, name, templates))
    for name in site.methods:
        key = method.depends_on(site, name, shared) if kept else ""
        yield from _unless_kept(kept, key, partial(_of_method, site, name, templates))
    yield from _single_pages(site, templates)


def _unless_kept(
    kept: Kept | None, key: str, make: Callable[[], Iterator[tuple[str, str]]]
) -> Iterator[tuple[str, str | None]]:
    """Yield the pages that `make` returns, or their names alone if they were made from what has the digest `key`."""
    if unchanged := kept.unchanged(key) if kept else []:
        yield from ((page, None) for page in unchanged)
        return
    pages = dict(make())
    if kept and key:
        kept.add(key, pages)
    yield from pages.items()


def _of_method(site: Site, name: str, templates: _Templates) -> Iterator[tuple[str, str]]:
    yield templates.made(addresses.method_page(name), "method.html", method.context(site, name))


def _of_dataset(site: Site, name: str, templates: _Templates) -> Iterator[tuple[str, str]]:
    context, page = dataset.context(site, name), addresses.dataset_page(name)
    context["sections"] = dataset.with_parts(name, context["sections"], templates.rendered)
    yield templates.made(page, "dataset.html", context, linked=False)
    yield from templates.further(page, name, [part for section in context["sections"] for part in section.all_parts])


def _single_pages(site: Site, templates: _Templates) -> Iterator[tuple[str, str]]:
    single = {
        "power": (site.suites, addresses.POWER, power.context),
        "factors": (site.designs, addresses.FACTORS, factors.context),
        "faithfulness": (site.compared_with_truth, addresses.FAITHFULNESS, faithfulness.context),
        "equal_seconds": (site.budgeted, addresses.EQUAL_SECONDS, equal_seconds.context),
        "audit": (site.audited, addresses.AUDIT, audit.context),
        "replications": (site.replications, addresses.REPLICATIONS, replications.context),
        "compare": (site.exchangeable, addresses.COMPARE, compare.context),
        "findings": (findings.has_findings(site.results.folders), addresses.FINDINGS, findings.context),
    }
    for template, (wanted, page, context_of) in single.items():
        if wanted:
            yield templates.made(page, f"{template}.html", context_of(site))


def _shared(site: Site) -> dict[str, object]:
    """Return the variables that depend on the results and that all templates get."""
    return {
        "suites": site.suites,
        "replicated": bool(site.replications),
        "budgeted": bool(site.budgeted),
        "crossed": bool(site.designs),
        "truthful": bool(site.compared_with_truth),
        "audited": bool(site.audited),
        "comparable": bool(site.exchangeable),
        "found": findings.has_findings(site.results.folders),
        "unchecked": site.unchecked,
        "documents": os.environ.get("DOCUMENTS", ""),  # where the documentation is that is published beside the pages
    }


def _environment(site: Site, shared: dict[str, object]) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
        bytecode_cache=COMPILED,
    )
    environment.filters |= {
        "visible": visible,
        "prose": prose,
        "counted": counted,
        "signs": signs,
        "without_backticks": without_backticks,
        "first_failures": first_failures,
    }
    style, script = (Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("style.css", "site.js"))
    environment.globals |= shared
    environment.globals |= {
        "addresses": addresses,
        "markup": markup,
        "metric": metric,
        "MOST_LINKS": MOST_LINKS,
        "printed": printed,
        "style": style,
        "script": script,
        "mark": Markup(MARK.decode()),
        "policy": (
            f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        "card": site.card,
        "changes": site.changes,
        "BASELINE": BASELINE,
        "is_ranked": is_ranked,
        "NO_BETTER": NO_BETTER,
    }
    return environment


def _printed(value: object) -> object:
    """Return what a template prints, with control and direction characters of texts spelled out (`visible`)."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    """Return the digest by which a content-security policy names an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
