"""Texts from outside, such as error messages of methods, made printable and shortened before they are stored."""

import re
import unicodedata

LONGEST_WORD = 300  # characters
SPELLED_OUT = ("Cc", "Cf", "Co", "Cs")  # Unicode categories: control, format, private use, lone surrogate


def visible(text: object) -> str:
    r"""Return the text with invisible characters (control, direction, lone surrogates) spelled out, as in \u202e."""
    text = str(text)
    if text.isprintable() or text.replace("\n", "").isprintable():  # nearly always, and fast
        return text
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in SPELLED_OUT and c != "\n" else c for c in text)


def capped(text: str, most: int) -> str:
    """Return the text shortened to at most `most` characters: its beginning, how many were left out, and its end.

    Args:
        text: The text.
        most: Largest number of characters, at least 100.
    """
    if len(text) <= most:
        return text
    note = f" ... {len(text) - most} or more characters left out ... "
    kept = most - len(note)
    return text[: kept // 2] + note + text[len(text) - (kept - kept // 2) :]


def with_short_words(text: str) -> str:
    """Return a message in which very long words are shortened by `capped`, such as a mistyped long value."""
    return re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: capped(word[0], LONGEST_WORD), text)


def from_outside(text: str, most: int) -> str:
    """Return a text of unknown origin made fit to store and show: `visible`, and `capped` at `most` characters."""
    return capped(visible(capped(text, most)), most)
