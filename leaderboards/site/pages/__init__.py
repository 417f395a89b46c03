"""The pages of the site: index, suites, data sets, methods and others. Each is one self-contained HTML file.

Imports the rest of `leaderboards.site`.
"""

import base64
import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from lockstep_bench.leaderboards.data.own import own_tables
from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site import addresses, markup
from lockstep_bench.leaderboards.site.content import Site
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
from lockstep_bench.leaderboards.tables import ranking_numbers as printed
from lockstep_bench.leaderboards.wording.formats import counted, prose, visible
from lockstep_bench.methods import BASELINE, UNRANKED

TEMPLATES = Path(__file__).parents[1] / "templates"
MARK = b'<meta name="generator" content="lockstep-bench leaderboards">'  # by which a later build recognises its pages


class _Compiled(BytecodeCache):
    """Cache of compiled templates for later builds in the same process."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := self._code.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key] = bucket.bytecode_to_string()


COMPILED = _Compiled()


def write_site(
    results: Leaderboard, html: Path, downloads: Sequence[str] = (), running: tuple[int, int] | None = None
) -> Path:
    """Write index.html and all other pages into a folder, each page atomically.

    Pages of an earlier build that no longer exist are removed. Other files stay, and symbolic links are not followed.

    Args:
        results: result of `data.results.read_results`.
        html: the folder, which is created if it is missing.
        downloads: files of the folder that the index offers for download.
        running: numbers of finished and of all cells of a run that is still in progress; None if no run is.

    Returns:
        The path of index.html.

    Raises:
        OSError: A page cannot be written, for example because a folder is in its place. Then no page is changed.
    """
    html.mkdir(parents=True, exist_ok=True)
    _require_no_folder(html / addresses.INDEX)  # before the work
    written = []
    with TemporaryDirectory(prefix=".", suffix=".tmp", dir=html) as fresh, own_tables(results.folders):
        for name, text in _pages(Site(results), downloads, running):
            _require_no_folder(html / name)
            Path(fresh, name).write_text(text, encoding="utf-8", newline="\n")
            written.append(name)
        for name in written:
            os.replace(Path(fresh, name), html / name)
    for path in html.glob("*.html"):
        if path.name not in written and _is_page(path):
            path.unlink()
    return html / addresses.INDEX


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
    return dict(_pages(site, downloads, running))


def _pages(site: Site, downloads: Sequence[str], running: tuple[int, int] | None) -> Iterator[tuple[str, str]]:
    """Yield file name and HTML of every page, one at a time: those of 100,000 rows take 100 MB."""
    environment = _environment(site)
    macros = environment.get_template("parts.html").module

    def rendered(macro: str, *arguments: object, **options: object) -> Markup:
        return Markup(getattr(macros, macro)(*arguments, **options))

    def made(name: str, template: str, context: dict[str, Any]) -> tuple[str, str]:
        return name, environment.get_template(template).render(here=name, **context)

    def further(back: str, about: str, parts: Sequence[PagePart]) -> Iterator[tuple[str, str]]:
        for name, groups in further_pages(parts).items():
            yield made(name, "further.html", {"about": about, "back": back, "groups": groups})

    time = running and (*running, f"{datetime.now():%H:%M}")
    yield made(addresses.INDEX, "index.html", index.context(site) | {"downloads": downloads, "running": time})
    for name in site.suites:
        context, page = suite.context(site, name), addresses.suite_page(name)
        context["sections"] = suite.with_parts(name, context["sections"], rendered)
        yield made(page, "suite.html", context)
        yield from further(page, name, [part for section in context["sections"] for part in section.parts])
    for name in site.datasets:
        context, page = dataset.context(site, name), addresses.dataset_page(name)
        context["sections"] = dataset.with_parts(name, context["sections"], rendered)
        yield made(page, "dataset.html", context)
        yield from further(page, name, [part for section in context["sections"] for part in section.all_parts])
    for name in site.methods:
        yield made(addresses.method_page(name), "method.html", method.context(site, name))
    single = {
        "power": (site.suites, addresses.POWER, power.context),
        "factors": (site.designs, addresses.FACTORS, factors.context),
        "faithfulness": (site.compared_with_truth, addresses.FAITHFULNESS, faithfulness.context),
        "equal_seconds": (site.budgeted, addresses.EQUAL_SECONDS, equal_seconds.context),
        "audit": (site.audited, addresses.AUDIT, audit.context),
        "replications": (site.replications, addresses.REPLICATIONS, replications.context),
        "compare": (compare.suite_and_preset(site), addresses.COMPARE, compare.context),
        "findings": (findings.has_findings(site.results.folders), addresses.FINDINGS, findings.context),
    }
    for template, (wanted, page, context_of) in single.items():
        if wanted:
            yield made(page, f"{template}.html", context_of(site))


def _environment(site: Site) -> Environment:
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
        "first_failures": first_failures,
    }
    style, script = (Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("style.css", "site.js"))
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
        "suites": site.suites,
        "replicated": bool(site.replications),
        "budgeted": bool(site.budgeted),
        "crossed": bool(site.designs),
        "comparable": bool(compare.suite_and_preset(site)),
        "found": findings.has_findings(site.results.folders),
        "truthful": bool(site.compared_with_truth),
        "audited": bool(site.audited),
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
