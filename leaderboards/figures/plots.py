"""A figure together with the texts that a page prints with it."""

from typing import NamedTuple

from markupsafe import Markup


class Plot(NamedTuple):
    """A figure and its texts.

    Attributes:
        svg: the figure, without text alternatives.
        description: main values of the figure in words, for screen readers.
        caption: how to read the figure.
    """

    svg: Markup
    description: str
    caption: str
