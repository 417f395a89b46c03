"""Comments are read as their grammar says, and wrong numbers, names and commands are found."""

import math

import pandas as pd
import pytest
from documents import evidence
from documents.commands import found, problem_with
from documents.evidence import agrees, evaluated, problems_with, problems_with_published
from documents.references import InvalidReference, Item, kind, numbers


@pytest.fixture
def rows() -> pd.DataFrame:
    values = {"map": [1.0, 2.0, 3.0], "vifa": [2.5, 2.5, 4.0], "vifa-lr": [9.0, 9.0, 9.0]}
    return pd.DataFrame(
        [
            {"suite": "uci", "preset": "paper", "protocol_hash": "a", "dataset": "yacht", "method": method}
            | {"split": split, "status": "ok", "nmll": value}
            for method, column in values.items()
            for split, value in enumerate(column)
        ]
    )


def problems(rows: pd.DataFrame, text: str) -> list[str]:
    wanted = numbers(text)
    return [problem for item in wanted.items for problem in problems_with(item, wanted, rows)]


def test_reference_comments_to_result_rows_are_parsed():
    wanted = numbers("rows uci paper nmll median: yacht map 1.26 ± 0.04, a but b 0.6 to 1; boston a - b −0.1")
    assert wanted[:3] == (("uci", "paper"), "nmll", "median")
    assert wanted.items == (
        Item("yacht", "map", "1.26 ± 0.04"),
        Item("yacht", "a but b", "0.6 to 1"),
        Item("boston", "a - b", "−0.1"),
    )


def test_html_comments_without_a_source_are_ignored():
    assert [kind(comment) for comment in ("rows a b c: d", "a note", "from here")] == ["rows", "", "from"]


@pytest.mark.parametrize(
    "text", ["rows uci paper nmll", "rows uci paper: yacht map 1", "rows uci paper nmll: yacht 1.2"]
)
def test_malformed_reference_comments_are_refused(text):
    with pytest.raises(InvalidReference):
        numbers(text)


@pytest.mark.parametrize(
    "text",
    [
        "rows uci paper nmll: yacht map 2.0 ± 0.58, vifa 3.00",
        "rows uci paper nmll max: yacht map 3",
        "rows uci paper nmll: * vifa* 3 to 9, vifa* but vifa-lr 3.0, map+vifa-lr 2 to 9",
        "rows uci paper nmll: yacht vifa - map 1.00 ± 0.29",
        "rows uci paper nmll median: yacht vifa / map 1.25",
    ],
)
def test_correct_numbers_in_documents_are_accepted(rows, text):
    assert problems(rows, text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rows uci paper nmll: yacht map 2.1", "2.1 is 2 ± 0.577"),
        ("rows uci paper nmll: yacht map 2.0 ± 0.6, vifa 3.1", "3.1 is 3"),
        ("rows uci paper nmll: yacht swag 2.0", "no row has nmll of 'swag'"),
        ("rows uci tuned nmll: yacht map 2.0", "no row"),
        ("rows uci paper rmse: yacht map 2.0", "no metric 'rmse'"),
        ("rows uci paper nmll: yacht vifa* 3", "one value of 2"),
    ],
)
def test_wrong_numbers_and_names_in_documents_are_detected(rows, text, words):
    assert words in "; ".join(problems(rows, text))


@pytest.mark.parametrize(
    ("printed", "exact", "same"),
    [
        ("2.73", 2.7349, True),
        ("2.73", 2.7351, False),
        ("−0.4", -0.41, True),
        ("1,110", 1110.2, True),
        ("2.1e7", 2.13e7, True),
        ("90.8 %", 0.9084, True),
        ("191", 190.57, True),
    ],
)
def test_numbers_agree_up_to_their_last_printed_digit(printed, exact, same):
    assert agrees(printed, exact) is same


def test_published_numbers_in_documents_are_checked():
    wanted = numbers("published Fast and Scalable, Table 1, nmll: energy vifa 2.53 ± 0.02")
    (item,) = wanted.items
    assert problems_with_published(item, wanted) == []
    assert problems_with_published(item._replace(value="2.54"), wanted) != []
    assert "0 sources" in problems_with_published(item, wanted._replace(where=("Nobody", "Table 1")))[0]


def test_only_arithmetic_expressions_are_evaluated():
    assert evaluated("0.5 * log(2 * pi)") == pytest.approx(0.5 * math.log(2 * math.pi))
    with pytest.raises(ValueError, match="no arithmetic"):
        evaluated("().__class__")


def test_reference_rows_are_the_stored_results():
    assert {"uci", "posterior"} <= set(evidence.kept()["suite"])


def test_bare_options_are_read_as_run_all_options():
    assert found("--preset paper") == "python run_all.py --preset paper"
    assert found("python -m benchmarks.speed  # a note") == "python -m benchmarks.speed"
    assert found("pip install x") == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python run_all.py --suite uci --preset paper --datasets yacht --methods map,vifa --splits 0-4", ""),
        ("python -m leaderboards build nowhere --html site", ""),
        ("python -m benchmarks.speed --stacks 5", "No such option"),
        ("python run_all.py --preset papers", "preset 'papers' is unknown"),
        ("python run_all.py --datasets yatch", "'yatch' is not in suite uci"),
        ("python run_all.py --methods mapp", "'mapp' is unknown"),
        ("python run_all.py --set epoch=3", "setting 'epoch' is unknown"),
        ("python -m bench.nothing", "no command bench.nothing"),
    ],
)
def test_commands_in_documents_are_parsed_but_never_run(command, words):
    problem = problem_with(command)
    assert words in problem
    assert bool(problem) == bool(words)
