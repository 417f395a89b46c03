"""Pages break lines of code at slashes and underscores, never after the hyphens of options, and keep numbers whole."""

import importlib.util
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / "docs" / "hooks" / "breaks.py"


@pytest.fixture(scope="module")
def page():
    """The hook's function from the HTML of a page to that with line breaks."""
    spec = importlib.util.spec_from_file_location("breaks", HOOK)
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook.on_page_content


def test_options_and_names_of_methods_stay_on_one_line(page):
    assert page("<code>rank --each</code>") == '<code>rank <span class="whole">--each</span></code>'
    assert page("<code>map</code>") == "<code>map</code>"


def test_long_paths_break_between_their_words(page):
    broken = page("<code>tests/faults/test_faults.py::test_a_disk</code>")
    assert broken == "<code>tests/<wbr>faults/<wbr>test_<wbr>faults.py::<wbr>test_<wbr>a_<wbr>disk</code>"


def test_escaped_bars_of_tables_are_shown_as_bars(page):
    assert page(r"<td><code>paper\|tuned</code></td>") == "<td><code>paper|tuned</code></td>"


@pytest.mark.parametrize("start", ["<pre><code>", "<pre><span></span><code>"])
def test_options_of_commands_stay_whole_and_programs_are_left_alone(page, start):
    command, program = f"{start}run a-b --each\n</code></pre>", f'{start}<span class="n">a</span> - 1</code></pre>'
    assert page(command) == f'{start}run a-b <span class="whole">--each</span>\n</code></pre>'
    assert page(program) == program


def test_numbers_and_intervals_of_tables_break_once(page):
    assert page("<td>2.51 ± 0.06</td>") == "<td>2.51 ±&nbsp;0.06</td>"
    assert page("<td>−9 % (−21 % to +4 %)</td>") == "<td>−9 % (−21&nbsp;%&nbsp;to +4&nbsp;%)</td>"
    assert page("<p>2.51 ± 0.06</p>") == "<p>2.51 ± 0.06</p>"
