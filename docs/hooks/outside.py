"""Links of documents to files outside `docs`, which readers of the site can open too.

Markdown files of the repository's root become pages, all other files are copied below `source/`. Of links to folders
the text is left. A link to the README leads to the page `index.md`.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LINK = re.compile(r"(?P<text>!?\[[^\[\]]*\])\((?P<target>[^)\s]+)\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add pages of the root's documents, and copies of all other files that documents link to."""
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    texts = [(file.src_uri, Path(file.abs_src_path or "").read_text("utf-8")) for file in files.documentation_pages()]
    linked = {target for uri, text in texts for match in LINK.finditer(text) if (target := _outside(match, uri))}
    for path in sorted(linked):
        if path.is_file() and path.suffix != ".md" and ROOT / "docs" not in path.parents:
            uri = f"source/{path.relative_to(ROOT).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text with its links to files outside `docs` rewritten to those of the site."""
    return LINK.sub(lambda match: _rewritten(match, page.file.src_uri), markdown)


def _place(uri: str) -> Path:
    """Return the path of a page's source in the repository."""
    return ROOT / uri if uri in PAGES else ROOT / "docs" / uri


def _outside(match: re.Match[str], uri: str) -> Path | None:
    """Return the path that a link leads to if it lies outside `docs`, or belongs to a page that does; else None."""
    file = match["target"].partition("#")[0]
    if not file or "://" in file or file.startswith(("mailto:", "/")):
        return None
    path = (_place(uri).parent / file).resolve()
    return path if uri in PAGES or ROOT / "docs" not in path.parents else None


def _rewritten(match: re.Match[str], uri: str) -> str:
    path = _outside(match, uri)
    if path is None or not path.exists():
        return match[0]
    anchor = match["target"].partition("#")[2]
    if path.is_dir():
        return match["text"][1:-1]
    inside = path.relative_to(ROOT).as_posix()
    if path.name == "README.md":
        inside, anchor = "index.md", ""
    elif ROOT / "docs" in path.parents:
        inside = path.relative_to(ROOT / "docs").as_posix()
    elif inside not in PAGES:
        inside = f"source/{inside}"
    target = "../" * uri.count("/") + inside + (f"#{anchor}" if anchor else "")
    return f"{match['text']}({target})"
