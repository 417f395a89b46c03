"""Division of Markdown files into blocks (paragraphs, tables, indented code) under headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
CODE_SPAN = re.compile(r"`([^`]+)`")

# What looks like a decimal number and is none: places in papers, versions, and addresses of links.
NO_NUMBERS = re.compile(
    r"`[^`]*`|\]\([^)]*\)|https?://\S+|\b\d+\.\d+\.\d+\b"
    r"|(?i:sections?|tables?|figures?|equations?|eqs?\.|chapters?|appendix|algorithms?)\s+[A-Z]?\d*\.\d+"
    r"(?:(?:,| and| to|,? or)\s+[A-Z]?\d*\.\d+)*|(?i:python|gcc|torch)\s+[\d.]+|[\d.]+ GHz"
)
DECIMAL = re.compile(r"(?<![\w.])\d[\d,]*\.\d+|(?<![\w.,])\.\d+")


@dataclass(frozen=True)
class Block:
    """A block of a Markdown file: a part between blank lines.

    Attributes:
        headings: headings of the block, the nearest last.
        text: text of the block without HTML comments.
        comments: contents of its comments, in order; a block of only comments adds them to the block before it.
        is_code: whether it is indented code.
    """

    headings: tuple[str, ...]
    text: str
    comments: tuple[str, ...] = ()
    is_code: bool = False

    @property
    def rows(self) -> list[list[str]]:
        """Entries of a table, row by row with the heading first, without the ruling line; empty for other blocks."""
        lines = [line for line in self.text.splitlines() if line.lstrip().startswith("|")]
        cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        return [row for row in cells if not all(re.fullmatch(r":?-*:?", cell) for cell in row)]

    @property
    def decimals(self) -> list[str]:
        """Decimal numbers that occur in the text of the block, as they are printed."""
        return DECIMAL.findall(NO_NUMBERS.sub(" ", self.text))

    @property
    def code(self) -> list[str]:
        """Code spans, or commands of indented code, each on one line; of alternatives in a table, only the first."""
        lines = self.text.replace("\\\n", " ").splitlines()
        found = lines if self.is_code else (re.sub(r"\\\|[^ ]*", "", span) for span in CODE_SPAN.findall(self.text))
        return [" ".join(part.split()) for part in found]


def blocks(path: Path) -> list[Block]:
    """Return the blocks (paragraphs, tables, indented code) of a Markdown file."""
    found: list[Block] = []
    headings: tuple[str, ...] = ()
    for part in _parts(path.read_text(encoding="utf-8")):
        if heading := re.fullmatch(r"(#+) (.+)", part.strip()):
            level = len(heading[1])
            headings = (*headings[: level - 1], *("",) * (level - 1 - len(headings)), heading[2])
            continue
        is_code = all(line.startswith("    ") for line in part.splitlines())  # whose comments are examples
        comments = tuple(" ".join(comment.split()) for comment in COMMENT.findall("" if is_code else part))
        text = part if is_code else COMMENT.sub("", part)
        if not text.strip() and found and found[-1].headings == headings:
            found[-1] = Block(headings, found[-1].text, (*found[-1].comments, *comments), found[-1].is_code)
        else:
            found.append(Block(headings, text, comments, is_code))
    return found


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between blank lines; a heading is a part of its own."""
    text = COMMENT.sub(lambda match: match[0].replace("\n\n", "\n"), text)
    for part in re.split(r"\n[ \t]*\n", text.strip("\n")):
        while heading := re.match(r"#+ .+(?:\n|$)", part):
            yield heading[0].strip()
            part = part[heading.end() :]
        if part.strip():
            yield part.strip("\n")
