"""Examples in docstrings: lines of a Python session become a block of code on the page of the API."""

import re
from typing import Any

from griffe import Extension, Object

SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Examples(Extension):
    """Extension that puts fences around the sessions in docstrings, which Markdown reads as quotations."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change an object's docstring."""
        if obj.docstring:
            obj.docstring.value = SESSION.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
