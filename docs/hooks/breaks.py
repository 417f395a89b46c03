"""Line breaks in the code and the numbers of a page.

Browsers break a line after every hyphen, so that `--splits` becomes `-` and `-splits`, and anywhere in long paths. Here
options of commands stay whole, and so do short words of code in a line. Long ones break after a slash, a colon or an
underscore. In tables a number stays beside its sign `±`, and an interval breaks after its `to` alone.
"""

import html
import re
from typing import Any

# Code inside a line: the code of a block follows `<pre>` or an empty span.
CODE = re.compile(r"(?<!<pre>)(?<!<span></span>)<code>([^<]*)</code>")
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
COMMANDS = re.compile(r"(<pre>(?:<span></span>)?<code>)([^<]*)</code>")
OPTION = re.compile(r"(?<!\S)--[\w-]+")
INTERVAL = re.compile(r"\([+−]?[\d.]+(?: %)? to [+−]?[\d.]+(?: %)?\)")
LONGEST_WHOLE = 30  # characters


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with places for line breaks in code, and few inside numbers of tables."""
    inline = CODE.sub(lambda code: f"<code>{_code(code[1])}</code>", content)
    whole = COMMANDS.sub(lambda block: f"{block[1]}{OPTION.sub(_whole, block[2])}</code>", inline)
    return CELL.sub(lambda cell: _number(cell[0]), whole)


def _code(text: str) -> str:
    # In a table of Markdown, a bar in code has a backslash before it.
    return " ".join(map(_word, text.replace(r"\|", "|").split(" ")))


def _word(text: str) -> str:
    if len(html.unescape(text)) > LONGEST_WHOLE:
        return re.sub(r"([/_,]|::)(?=\w)", r"\1<wbr>", text)
    return re.sub(".*-.*", _whole, text)


def _whole(found: re.Match[str]) -> str:
    return f'<span class="whole">{found[0]}</span>'


def _number(cell: str) -> str:
    return INTERVAL.sub(lambda found: re.sub(" (?=%|to)", "&nbsp;", found[0]), cell).replace(" ± ", " ±&nbsp;")
