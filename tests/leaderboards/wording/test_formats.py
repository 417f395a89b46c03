"""Numbers and strangers' text on the page."""

import re
from math import inf, nan

import pytest

from lockstep_bench.leaderboards.wording.formats import (
    as_printed,
    decimals_for,
    difference_in_words,
    listed,
    not_nothing,
    number,
    prose,
    shortened,
    three_digits,
    unbroken_options,
)
from lockstep_bench.leaderboards.wording.run_facts import protocol_in_words, ranges


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (2.5349, 2, "2.53"),
        (-5.7, 1, "−5.7"),
        (-0.001, 2, "0.00"),
        (inf, 2, "∞"),
        (-inf, 2, "−∞"),
        (nan, 2, "–"),
        (2.13e7, 2, "2.13 × 10⁷"),
        (-1e300, 0, "−1.00 × 10³⁰⁰"),
    ],
)
def test_numbers_are_formatted_with_given_decimals(value, decimals, text):
    assert number(value, decimals) == text


@pytest.mark.parametrize(
    ("value", "stderr", "shown"),
    [
        (2.4789, 0.0581, "2.479 ± 0.058"),
        (4.6123, 2.2249, "4.6 ± 2.2"),
        (1110.4, 1109.3, "1100 ± 1100"),
        (0.97, 0.0, "0.970 ± 0.000"),
        (inf, nan, "∞ ± –"),
        (1234.0, nan, "1234 ± –"),
        (2.5, 1e-12, "2.50 ± 0.00"),
        (0.0, 0.012, "0.000 ± 0.012"),
    ],
)
def test_numbers_show_two_digits_of_their_standard_error(value, stderr, shown):
    decimals = decimals_for(value, stderr)
    assert f"{number(value, decimals)} ± {number(stderr, decimals)}" == shown


@pytest.mark.parametrize(
    ("value", "unit", "reach", "text"),
    [
        (-0.1774, "nats", 0.177, "−0.18"),
        (0.70149, "nats", nan, "+0.701"),
        (0.1234, "relative", 0.05, "+12.3 %"),
        (0.0, "", nan, "0"),
        (-0.9999, "relative", 4e4, "−100 %"),
    ],
)
def test_differences_show_two_digits_of_their_interval(value, unit, reach, text):
    assert difference_in_words(value, unit, reach) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(7.04e-11, "7.04 × 10⁻¹¹"), (0.0061, "0.00610"), (0.0, "0"), (2304.0, "2304"), (3.68e6, "3.68 × 10⁶")],
)
def test_areas_of_any_size_have_three_digits(value, text):
    assert three_digits(value) == text


def test_published_numbers_keep_their_digits():
    assert as_printed(2.9, 0.06) == ("2.90", "0.06")
    assert as_printed(0.08, nan) == ("0.08", "")
    assert as_printed(5352853.0, nan) == ("5.35 × 10⁶", "")


def test_prose_formats_backticks_as_code_and_escapes_html():
    assert prose("run `a <b>` & go") == "run <code>a &lt;b&gt;</code> &amp; go"


def test_options_of_commands_do_not_break():
    html = "a --b <pre><code>--all run_all.py --suite uci --max-rows=5 x--y</code></pre> <code>--a</code> and --c"
    whole = [option.partition("</span>")[0] for option in unbroken_options(html).split('<span class="whole">')[1:]]
    assert whole == ["--all", "--suite", "--max-rows", "--a"]
    assert re.sub('<span class="whole">|</span>', "", unbroken_options(html)) == html


def test_splits_are_listed_as_ranges():
    assert ranges([0, 1, 4, 5, 6, 9]) == "0, 1, 4–6, 9"


def test_protocol_is_described_in_words():
    said = protocol_in_words('{"trials": 30, "folds": 5, "epochs": 120, "max_minibatches": null, "novelty": 2}')
    assert said == "30 trials, 5-fold cross-validation, 120 epochs, novelty 2"
    assert protocol_in_words("not json") == "not json"
    untuned = protocol_in_words('{"trials": 1, "folds": 5, "epochs": 10, "sampler": "centre", "network": "lenet5"}')
    assert untuned == "no tuning: the middle of each range, 10 epochs, network lenet5"
    assert protocol_in_words('{"epochs": 1, "samples": 1}') == "1 epoch, 1 sample per test prediction"
    assert protocol_in_words('{"epochs": 21, "samples": 1001}') == "21 epochs, 1,001 samples per test prediction"


def test_long_texts_end_in_an_ellipsis():
    assert shortened("deep-ensemble", 13) == "deep-ensemble"
    assert shortened("deep-ensemble", 8) == "deep-en…"


@pytest.mark.parametrize(
    ("value", "text"), [(0.00049, "<0.001"), (0.0006, "0.001"), (0.0, "0.000"), (-0.0001, "0.000"), (1.5, "1.500")]
)
def test_small_nonzero_numbers_are_not_printed_as_zero(value, text):
    assert not_nothing(value, 3) == text


@pytest.mark.parametrize(
    ("most", "separator", "text"),
    [(3, ", ", "a, b, c"), (2, ", ", "a, b and 1 more"), (1, "; ", "a and 2 more"), (2, "; ", "a; b and 1 more")],
)
def test_shortened_lists_give_the_number_left_out(most, separator, text):
    assert listed(["a", "b", "c"], most, separator) == text
