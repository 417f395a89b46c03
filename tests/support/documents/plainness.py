"""Turns of phrase that make prose hard to read, counted in documents and in the templates of pages."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from documents.texts import blocks

LONG = 35  # words of a long sentence

PATTERNS = {
    "clauses that begin with 'what'": re.compile(r"\bwhat\b(?![^.:;]*\?)", re.IGNORECASE),
    "'that of', 'those of', 'the one', 'less that'": re.compile(
        r"\b(that of|those of|the one|the ones|less that)\b", re.IGNORECASE
    ),
    "'ahead', 'is behind'": re.compile(r"\bahead\b|\b(is|are|be|far) behind\b", re.IGNORECASE),
    "'than some other', 'worse than none'": re.compile(r"\b(than some other( one)?|worse than none)\b", re.IGNORECASE),
}
SENTENCE = "sentences of 35 words or more"

# The end of a sentence: a stop or colon before a capital letter, a digit or code, but not in "eq. 3" or "et al. 2015".
END = re.compile(
    r"(?<!\beqs)(?<!\beq)(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bsec)(?<!\bcf)[.?!:][)*\"”]*\s+(?=[†‡§]|[\W_]*[A-Z0-9`]|a1a)"
)
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s", re.MULTILINE)


def counts(texts: Iterable[str]) -> dict[str, int]:
    """Return how often each turn of phrase occurs in paragraphs, by its name."""
    found = dict.fromkeys((SENTENCE, *PATTERNS), 0)
    for text in texts:
        found[SENTENCE] += sum(len(sentence.split()) >= LONG for sentence in sentences(text))
        for name, pattern in PATTERNS.items():
            found[name] += len(pattern.findall(text))
    return found


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph; a list item begins a new one."""
    return [" ".join(part.split()) for item in ITEM.split(text) for part in END.split(item) if part.strip()]


def of_document(path: Path) -> Iterator[str]:
    """Yield the paragraphs of a Markdown file without code, headings and comments; of a table, each cell."""
    fenced = False
    for block in blocks(path):
        inside = fenced or block.text.lstrip().startswith(("```", "$$"))
        fenced ^= block.text.count("```") % 2 == 1
        if block.is_code or inside:
            continue
        for text in (cell for row in block.rows for cell in row) if block.rows else (block.text,):
            yield re.sub(r"`[^`]*`", "X", text)


def of_template(path: Path) -> Iterator[str]:
    """Yield the text between the tags of a template that hold paragraphs; an expression counts as one word."""
    text = re.sub(r"\{#.*?#\}|<(script|style|pre)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL)
    text = re.sub(r"<code\b.*?</code>", "X", text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "X", text, flags=re.DOTALL)
    for part in re.split(
        r"</?(?:p|li|td|th|dd|dt|h\d|summary|figcaption|caption|div|section|option|button)\b[^>]*>", text
    ):
        yield " ".join(re.sub(r"<[^>]*>", "", part).split())
