"""What a page needs to know of a figure."""

from typing import NamedTuple

from markupsafe import Markup


class Plot(NamedTuple):
    """A figure, what it shows in words, and how to read it."""

    svg: Markup
    description: str
    caption: str
