"""Search for blocks of a document with decimal numbers whose source is not named."""

import re
from collections.abc import Sequence

from documents.commands import found
from documents.references import kind
from documents.texts import DECIMAL, Block

TEST = re.compile(r"tests/[\w/]+\.py(::\w+)?")


def stands_behind_all(block: Block) -> bool:
    """Return whether a block names one source for all of its numbers: a command, a replication, a test or a table."""
    named = any(kind(comment) in ("from", "replication") or _is_table(comment) for comment in block.comments)
    return named or any(found(code) or TEST.fullmatch(code) for code in block.code)


def claimed(block: Block) -> set[str]:
    """Return the decimal numbers of a block that its comments name one by one."""
    sources = [comment for comment in block.comments if kind(comment)]
    return {number for comment in sources for number in DECIMAL.findall(comment)}


def uncovered(blocks: Sequence[Block]) -> list[tuple[Block, list[str]]]:
    """Return the blocks with decimal numbers for which no source is named, each with these numbers.

    A comment or a command covers its own block. A table or a piece of code is covered by the block before it, which
    introduces it. A comment directly below a heading, without other text in its block, covers everything under that
    heading.
    """
    sections = {block.headings for block in blocks if not block.text.strip() and stands_behind_all(block)}
    lacking = []
    for place, block in enumerate(blocks):
        sources = [block]
        if place and (block.rows or block.is_code) and blocks[place - 1].headings == block.headings:
            sources.append(blocks[place - 1])
        under = any(block.headings[: len(section)] == section for section in sections)
        if under or any(stands_behind_all(source) for source in sources):
            continue
        known = set().union(*(claimed(source) for source in sources))
        if numbers := [number for number in block.decimals if number not in known]:
            lacking.append((block, numbers))
    return lacking


def _is_table(comment: str) -> bool:
    return kind(comment) in ("rows", "published") and bool(re.search(r": table\b", comment))
