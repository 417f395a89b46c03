"""Parsed HTML pages of a built site."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}


class Page(HTMLParser):
    """Parser of one HTML page that collects its text, attributes and ids; it fails if tags do not close in order."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.tags, self.text, self.ids, self.links = [], [], [], [], []
        self.tables = []  # of each table its column headings
        self.rows = []  # of each row its cells' words
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.rows.append("")
        if tag == "a":
            self.links.append(attrs["href"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if "tr" in self.open:
            self.rows[-1] += f" {data.strip()}".replace("\N{NO-BREAK SPACE}", " ")
        if "thead" in self.open and data.strip():
            self.tables[-1].append(data.strip())

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


class Built(dict):
    """The pages of a built site, parsed, by file name."""

    def __init__(self, index):
        super().__init__({path.name: Page(path.read_text(encoding="utf-8")) for path in index.parent.glob("*.html")})
        self.html = {path.name: path.read_text(encoding="utf-8") for path in index.parent.glob("*.html")}

    @property
    def index(self) -> Page:
        return self["index.html"]
