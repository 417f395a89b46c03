"""A figure together with the description and the caption that a page prints with it."""

from typing import NamedTuple

from markupsafe import Markup


class Plot(NamedTuple):
    """A figure with its description and its caption.

    Attributes:
        svg: the figure as SVG, without alternative text.
        description: main values of the figure in words, for screen readers.
        caption: how to read the figure.
    """

    svg: Markup
    description: str
    caption: str

    @property
    def has_arrows(self) -> bool:
        """Whether arrows in the figure mark values off its scale."""
        return "→" in self.svg or "←" in self.svg
