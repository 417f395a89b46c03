"""Line breaks in the code and the numbers of a page.

Browsers break a line after every hyphen, so that `--splits` becomes `-` and `-splits`, and anywhere in long paths. Here
options of commands stay whole, those with a value of up to four characters beside it, and so do short words of code in
a line. Long ones break after a slash, a colon or an underscore, and lists in commands after a comma. A number stays
beside its signs `±` and `%`, and an interval of a table breaks after its `to` alone. Lines of commands, and remarks at
their ends, are elements that `assets/docs.css` wraps.
"""

import html
import re
from typing import Any

# Code inside a line: the code of a block follows `<pre>` or an empty span.
CODE = re.compile(r"(?<!<pre>)(?<!<span></span>)<code>([^<]*)</code>")
# The text between tags (the second group), apart from cells of tables and code of both kinds.
PROSE = re.compile(r"<(code|td)[ >].*?</\1>|<[^>]*>|([^<]+)", re.DOTALL)
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
COMMANDS = re.compile(r'(<div class="language-(?:bash|text) highlight">.*?<code>)(.*?)(?=</code>)', re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[\w-]+ \w{1,4}(?!\S)")  # with a short value
HYPHENATED = re.compile(r"(?<![\w-])[\w-]*-[\w-]+")
REMARK = re.compile(r"(?<=\S)( {2,})(# .*)")
INTERVAL = re.compile(r"\([+−]?[\d.]+(?: %)? to [+−]?[\d.]+(?: %)?\)")
SIGN = re.compile(r"(?<=±) (?=\d)|(?<=\d) (?=%)")
LONGEST_WHOLE = 30  # characters


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with places for line breaks in code, and few inside numbers."""
    content = CODE.sub(lambda code: f"<code>{_code(code[1])}</code>", content)
    content = COMMANDS.sub(lambda block: block[1] + "\n".join(map(_line, block[2].split("\n"))), content)
    content = CELL.sub(lambda cell: SIGN.sub("&nbsp;", INTERVAL.sub(_interval, cell[0])), content)
    return PROSE.sub(lambda part: _signed(part[0]) if part[2] else part[0], content)


def _code(text: str) -> str:
    # In a table of Markdown, a bar in code has a backslash before it.
    return " ".join(map(_word, text.replace(r"\|", "|").split(" ")))


def _word(text: str) -> str:
    if len(html.unescape(text)) > LONGEST_WHOLE:
        return re.sub(r"([/_,]|::)(?=\w)", r"\1<wbr>", text)
    return re.sub(".*-.*", _whole, text)


def _line(text: str) -> str:
    if not text:
        return text
    words = re.sub(f"{OPTION.pattern}|{HYPHENATED.pattern}", _whole, re.sub(r",(?=\w)", ",<wbr>", text))
    remarked = REMARK.sub(r'<span class="gap">\1</span><span class="remark">\2</span>', words)
    return f'<span class="line">{remarked}</span>'


def _whole(found: re.Match[str]) -> str:
    return f'<span class="whole">{found[0]}</span>'


def _interval(found: re.Match[str]) -> str:
    return found[0].replace(" to", "&nbsp;to")


def _signed(text: str) -> str:
    return re.sub(" (?=±)", "&nbsp;", SIGN.sub("&nbsp;", text))
