"""The pages of the site: index, suites, data sets, methods, power, replications. Each is one self-contained HTML file.

Imports the rest of `leaderboards.site`.
"""

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leaderboards.data.own import own_tables
from leaderboards.data.results import Results
from leaderboards.site import places
from leaderboards.site.content import Site
from leaderboards.site.pages import dataset, index, method, power, replications, suite
from leaderboards.stats.remarks import NO_BETTER, signs
from leaderboards.tables import places as printed
from leaderboards.wording.formats import counted, prose, visible
from methods import BASELINE, UNRANKED

TEMPLATES = Path(__file__).parents[1] / "templates"
MARK = b'<meta name="generator" content="lockstep-bench leaderboards">'  # by which a later build recognises its pages


def write_site(
    results: Results, html: Path, downloads: Sequence[str] = (), running: tuple[int, int] | None = None
) -> Path:
    """Write index.html and the pages it links to into a folder, each page atomically.

    Pages of an earlier build that this one does not have are removed. No other file is touched.

    Args:
        results: what `data.results.read_results` returns.
        html: the folder, which is made if need be.
        downloads: files of the folder that the index offers for download.
        running: finished and wanted cells of a run that goes on.

    Returns:
        The path of index.html.
    """
    with own_tables(results.folders):
        pages = render(Site(results), downloads, running)
    html.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        temporary = html / f".{name}.{os.getpid()}.tmp"
        temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, html / name)
    for path in html.glob("*.html"):
        if path.name not in pages and MARK in path.read_bytes()[:2000]:
            path.unlink()
    return html / "index.html"


def render(site: Site, downloads: Sequence[str] = (), running: tuple[int, int] | None = None) -> dict[str, str]:
    """Return file name and HTML of every page; the same results give the same bytes."""
    environment = _environment(site)
    pages = {
        places.INDEX: (
            "index.html",
            index.context(site)
            | {"downloads": downloads, "running": running and (*running, f"{datetime.now():%H:%M}")},
        )
    }
    pages |= {places.suite_page(name): ("suite.html", suite.context(site, name)) for name in site.suites}
    pages |= {places.dataset_page(name): ("dataset.html", dataset.context(site, name)) for name in site.datasets}
    pages |= {places.method_page(name): ("method.html", method.context(site, name)) for name in site.methods}
    if site.suites:
        pages[places.POWER] = ("power.html", power.context(site))
    if site.replications:
        pages[places.REPLICATIONS] = ("replications.html", replications.context(site))
    templates = {name: environment.get_template(name) for name, _ in pages.values()}
    return {name: templates[template].render(here=name, **context) for name, (template, context) in pages.items()}


def _environment(site: Site) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
    )
    environment.filters |= {"visible": visible, "prose": prose, "counted": counted, "signs": signs}
    style, script = (Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("style.css", "site.js"))
    environment.globals |= {
        "places": places,
        "printed": printed,
        "style": style,
        "script": script,
        "mark": Markup(MARK.decode()),
        "policy": (
            f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        "suites": site.suites,
        "replicated": bool(site.replications),
        "datasets_with_page": set(site.datasets),
        "methods_with_page": set(site.methods),
        "card": site.card,
        "BASELINE": BASELINE,
        "UNRANKED": UNRANKED,
        "unchecked": site.unchecked,
        "NO_BETTER": NO_BETTER,
    }
    return environment


def _printed(value: object) -> object:
    """Return what a template prints, with control and direction characters of texts spelled out (`visible`)."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    """Return the digest by which a content-security policy names an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
