"""Parts of a page that get further pages where the page would be too large to load at once.

A page opened from a file cannot load others in the background, so that a part is either in a page or behind a link.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from lockstep_bench.leaderboards.site import addresses
from lockstep_bench.leaderboards.wording.run_facts import Failure

Rendered = Callable[..., Markup]  # a macro of `parts.html`, given its name and its arguments

MOST = 800_000  # characters of a page, without its style, script and figures
MOST_FAILURES = 100
OF_NUMBER = 350  # characters of a number with its link and tooltip
MOST_LINKS = 2_000  # numbers of a table, beyond which it has neither links nor tooltips


class PagePart(NamedTuple):
    """A part of a page.

    Attributes:
        suite: name of its suite.
        preset: label of its preset.
        name: name of the method or metric that it is about; "" for all.
        html: the part.
        page: file name of the further page that has it; "" for a part that stays in its page.
    """

    suite: str
    preset: str
    name: str
    html: Markup
    page: str = ""

    @property
    def target(self) -> str:
        """Id of the element that stands for the part."""
        return addresses.fragment(self.suite, self.preset, self.name)


def placed(page: str, parts: Sequence[PagePart], rest: int) -> list[PagePart]:
    """Return the parts with the pages that they are on: the page itself if it can hold all, otherwise further pages.

    Args:
        page: file name of the page.
        parts: parts in their order on the page.
        rest: about how many characters stay in the page in any case.
    """
    if rest + sum(len(part.html) for part in parts) <= MOST:
        return list(parts)
    number, size, apart = 1, 0, []
    for part in parts:
        if size and size + len(part.html) > MOST:
            number, size = number + 1, 0
        size += len(part.html)
        apart.append(part._replace(page=addresses.further_page(page, number)))
    return apart


def first_failures(failures: Sequence[Failure]) -> list[Failure]:
    """Return as many of the failures as a page lists: `MOST_FAILURES`, or fewer with long errors."""
    shown: list[Failure] = []
    size = 0
    for failure in failures[:MOST_FAILURES]:
        size += len(failure.error)
        if shown and size > MOST // 4:
            break
        shown.append(failure)
    return shown


def further_pages(parts: Sequence[PagePart]) -> dict[str, list[tuple[str, str, list[PagePart]]]]:
    """Return the parts of each further page, by file name, as (suite, preset, parts) groups."""
    pages: dict[str, list[tuple[str, str, list[PagePart]]]] = {}
    for (page, suite, preset), some in groupby(parts, lambda part: (part.page, part.suite, part.preset)):
        if page:
            pages.setdefault(page, []).append((suite, preset, list(some)))
    return pages
