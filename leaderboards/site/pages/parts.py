"""Division of large pages: parts of a page are moved to continuation pages if the page would load slowly.

A page that is opened as a file cannot load other files in the background. A part is therefore either in the page itself
or behind a link.
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
    """A part of a page, such as a table or the details of a method.

    Attributes:
        suite: name of its suite.
        preset: label of its preset.
        name: name of the method or metric that the part is about; "" for all.
        html: HTML of the part.
        page: file name of the continuation page that has the part; "" if it stays in the page itself.
    """

    suite: str
    preset: str
    name: str
    html: Markup
    page: str = ""

    @property
    def folded(self) -> bool:
        """True for details that a reader opens, which stand beside each other."""
        return self.html.lstrip().startswith("<details")

    @property
    def target(self) -> str:
        """Id of the part's HTML element."""
        return addresses.fragment(self.suite, self.preset, self.name)


def placed(page: str, parts: Sequence[PagePart], rest: int) -> list[PagePart]:
    """Assign parts to pages, and return them with `page` set: all stay in the page itself if it can hold them.

    Args:
        page: file name of the page.
        parts: parts in the order of the page.
        rest: approximate number of characters that stay in the page in any case.
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
    """Return the first failures, as many as a page lists: `MOST_FAILURES`, or fewer if their errors are long."""
    shown: list[Failure] = []
    size = 0
    for failure in failures[:MOST_FAILURES]:
        size += len(failure.error)
        if shown and size > MOST // 4:
            break
        shown.append(failure)
    return shown


def further_pages(parts: Sequence[PagePart]) -> dict[str, list[tuple[str, str, list[PagePart]]]]:
    """Return the parts of each continuation page, by file name, as groups (suite, preset, parts)."""
    pages: dict[str, list[tuple[str, str, list[PagePart]]]] = {}
    for (page, suite, preset), some in groupby(parts, lambda part: (part.page, part.suite, part.preset)):
        if page:
            pages.setdefault(page, []).append((suite, preset, list(some)))
    return pages
