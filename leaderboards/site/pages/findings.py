"""The page of findings: `docs/findings.md` of a checkout, for a site of the results that the checkout keeps."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from lockstep_bench.leaderboards.site.content import Site

CHECKOUT = Path(__file__).resolve().parents[3]
KEPT, TEXT = CHECKOUT / "leaderboards" / "results", CHECKOUT / "docs" / "findings.md"

DOCUMENT = r'<a href="(?:\.\./)?(?!#)[\w/-]+\.md[^"]*">[^<]*</a>'


def has_findings(folders: Iterable[Path]) -> bool:
    """Return whether `docs/findings.md` is about the results: whether they are those kept in the repository."""
    return TEXT.is_file() and KEPT in {folder.resolve() for folder in folders}


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `findings.html`."""
    return {"text": as_html(TEXT.read_text(encoding="utf-8"))}


def answer() -> Markup:
    """Return the first paragraph below the title of `docs/findings.md` as HTML."""
    return as_html(TEXT.read_text(encoding="utf-8").split("\n\n")[1])


def as_html(markdown: str) -> Markup:
    """Return a text in Markdown as HTML, without comments, and with links only to its own headings.

    Links in brackets to other documents become the names of their files. Another link whose text is a title, such as
    "Claims", becomes italic. A number stays on one line with its error, its interval or its percent sign.
    """
    text = re.sub(r"^[ ]*<!--.*?-->\n?", "", markdown, flags=re.DOTALL | re.MULTILINE)
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    html = re.sub(
        r"<h([23])>(.*?)</h\1>", lambda found: f'<h{found[1]} id="{_anchor(found[2])}">{found[2]}</h{found[1]}>', html
    )
    html = re.sub(rf"\({DOCUMENT}(?:, {DOCUMENT})*\)", _files, html)
    html = re.sub(r'<a href="(?!#)[^"]*">([A-Z][^<]*)</a>', r"<em>\1</em>", html)
    html = re.sub(r'<a href="(?!#)[^"]*">(.*?)</a>', r"\1", html, flags=re.DOTALL)
    html = re.sub(r"(?<=[\d%]) (±|to) (?=[+−\d])", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", html)
    html = re.sub(r"(?<=\d)\s%", "\N{NO-BREAK SPACE}%", html)
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>')
    return Markup(html.replace("</table>", "</table></div>"))


def _files(links: re.Match[str]) -> str:
    files = re.findall(r'href="(?:\.\./)?([\w/-]+\.md)', links[0])
    return f"(see {' and '.join(f'<code>{file}</code>' for file in files)})"


def _anchor(heading: str) -> str:
    """Return the id that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", re.sub("<.*?>", "", heading)).strip().lower().replace(" ", "-")
