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


def test_lines_of_commands_are_elements_and_their_hyphens_never_break(page):
    start = '<div class="language-bash highlight"><pre><span></span><code>'
    command = f'{start}run a-b<span class="w"> </span>--each c,d\n\nrun 1\n</code></pre></div>'
    assert page(command) == (
        f'{start}<span class="line">run <span class="whole">a-b</span><span class="w"> </span>'
        '<span class="whole">--each</span> c,<wbr>d</span>\n\n<span class="line">run 1</span>\n</code></pre></div>'
    )


def test_short_values_stay_beside_their_options(page):
    start = '<div class="language-text highlight"><pre><span></span><code>'
    assert page(f"{start}run --nthreads 1 --host 127.0.0.1\n</code></pre></div>") == (
        f'{start}<span class="line">run <span class="whole">--nthreads 1</span> '
        '<span class="whole">--host</span> 127.0.0.1</span>\n</code></pre></div>'
    )


def test_remarks_of_commands_are_apart_from_the_gap_before_them(page):
    start = '<div class="language-text highlight"><pre><span></span><code>'
    assert page(f"{start}run a   # first\n</code></pre></div>") == (
        f'{start}<span class="line">run a<span class="gap">   </span><span class="remark"># first</span></span>\n'
        "</code></pre></div>"
    )


def test_programs_are_left_alone(page):
    program = '<div class="language-python highlight"><pre><span></span><code>a - 1,b ± 2</code></pre></div>'
    assert page(program) == program


def test_numbers_and_intervals_of_tables_break_once(page):
    assert page("<td>2.51 ± 0.06</td>") == "<td>2.51 ±&nbsp;0.06</td>"
    assert page("<td>−9 % (−21 % to +4 %)</td>") == "<td>−9&nbsp;% (−21&nbsp;%&nbsp;to +4&nbsp;%)</td>"


def test_numbers_stay_beside_their_signs(page):
    assert page("<p>2.51 ± 0.06, 95 % of <code>5 % 2</code></p>") == (
        "<p>2.51&nbsp;±&nbsp;0.06, 95&nbsp;% of <code>5 % 2</code></p>"
    )
