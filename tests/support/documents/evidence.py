"""Look-up of the numbers that source comments name: stored results, published numbers, arithmetic, literals of code."""

import ast
import math
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pandas as pd

from documents.references import Item, Numbers
from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.published import read_published
from lockstep_bench.leaderboards.data.results import read_results

ROOT = Path(leaderboards.__file__).resolve().parents[1]
ROWS = ROOT / "leaderboards" / "results"
ARITHMETIC = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Call, ast.Name, ast.Load),
    *(ast.operator, ast.unaryop),
)
KEYS = ["suite", "preset", "protocol_hash", "dataset", "method", "split"]
ROUNDING = 1e-9  # relative, of a number that lies half-way between two printed ones


class NotFound(LookupError):
    """Raised if the number that a source comment names does not exist."""


def agrees(printed: str, exact: float) -> bool:
    """Return whether a number is printed correctly, that is, within half a unit of its last digit.

    Args:
        printed: the printed number, as in "2.73", "1,110", "2.1e7" or "−0.4"; "90.8 %" is 0.908.
        exact: the unrounded number.
    """
    match = re.fullmatch(r"([-−+]?)([\d,]*)(?:\.(\d+))?(?:e(\d+))?( ?%)?", printed.strip())
    if not match:
        raise ValueError(f"{printed!r} is no number")
    sign, whole, decimals, exponent, percent = match.groups()
    scale = 10.0 ** int(exponent or 0) / (100 if percent else 1)
    value = float(f"{whole.replace(',', '') or 0}.{decimals or 0}") * (-1 if sign in ("-", "−") else 1)
    half = 0.5 * 10.0 ** -len(decimals or "")
    return abs(value - exact / scale) <= half * (1 + ROUNDING)


@cache
def kept() -> pd.DataFrame:
    """Return the result rows that the repository contains (`leaderboards/results`) and that leaderboards use."""
    found = read_results(ROWS)
    # Boards show only times of idle devices; texts may quote any time that a row has.
    times = found.rows.drop_duplicates([*KEYS, "seed"])
    columns = [name for name in times if name.endswith("_seconds")]
    keys = [*KEYS, "seed"]
    return found.cells.drop(columns=columns).merge(times[[*keys, *columns]], on=keys, how="left")


def of_preset(rows: pd.DataFrame, preset: str) -> pd.DataFrame:
    """Return the result rows of a preset; `preset@hash` selects those of one of its protocols."""
    name, _, protocol = preset.partition("@")
    return rows[(rows["preset"] == name) & rows["protocol_hash"].str.startswith(protocol)]


def finished(numbers: Numbers, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the finished rows of the suite and preset that a comment names, with the columns that its values need."""
    suite, preset = numbers.where
    rows = rows[[name for name in (*KEYS, "status", numbers.metric) if name in rows]]
    return of_preset(rows[(rows["suite"] == suite) & (rows["status"] == "ok")], preset)


def problems_with(item: Item, numbers: Numbers, rows: pd.DataFrame) -> list[str]:
    """Return sentences on what is wrong with a value that a comment of the kind `rows` names; none if it is right."""
    suite, preset = numbers.where
    if numbers.metric not in rows:
        return [f"there is no metric {numbers.metric!r}"]
    board = finished(numbers, rows)
    board = board[board["dataset"].isin([name for name in set(board["dataset"]) if fnmatchcase(name, item.dataset)])]
    try:
        exact = _values(board, item.method, numbers.metric, numbers.statistic)
    except NotFound as problem:
        return [f"{item.dataset}: {problem} in {suite}, preset {preset}"]
    return [f"{item.dataset} {item.method}: {reason}" for reason in _differences(item.value, exact)]


def problems_with_published(item: Item, numbers: Numbers) -> list[str]:
    """Return sentences on what is wrong with a value that a comment of the kind `published` names; none if right."""
    table = read_published()
    sources = [source for source in table["source"].unique() if numbers.where[0].lower() in source.lower()]
    if len(sources) != 1:
        return [f"{numbers.where[0]!r} is part of {len(sources)} sources in published.csv"]
    found = table[
        (table["source"] == sources[0])
        & (table["table"] == numbers.where[1])
        & (table["metric"] == numbers.metric)
        & (table["statistic"] == numbers.statistic)
        & (table["dataset"] == item.dataset)
        & (table["method"] == item.method)
    ]
    if len(found) != 1:
        return [f"published.csv has {len(found)} rows for {item.dataset}, {item.method} in {numbers.where[1]}"]
    exact = [(float(found["value"].iloc[0]), float(found["stderr"].iloc[0]))]
    return [f"{item.dataset} {item.method}: {reason}" for reason in _differences(item.value, exact)]


def evaluated(expression: str) -> float:
    """Return the value of an arithmetic expression of numbers, operators and functions of the module `math`."""
    tree = ast.parse(expression, mode="eval")
    if strange := [node for node in ast.walk(tree) if not isinstance(node, ARITHMETIC)]:
        raise ValueError(f"{expression!r} has {type(strange[0]).__name__}, which is no arithmetic")
    functions: Mapping[str, object] = {name: value for name, value in vars(math).items() if not name.startswith("_")}
    return float(eval(compile(tree, "<text>", "eval"), {"__builtins__": {}}, functions))


def literals(path: Path) -> set[float]:
    """Return the numbers that occur as literals in a Python file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        float(node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    }


def _values(board: pd.DataFrame, method: str, metric: str, statistic: str) -> list[tuple[float, float]]:
    """Return statistics and standard errors, one for each data set and method that is meant."""
    if compared := re.fullmatch(r"(\S+) ([-/]) (\S+)", method):
        left, sign, right = compared.groups()
        return _compared(board, left, sign, right, metric, statistic)
    wanted, _, without = method.partition(" but ")
    names = [name for name in board["method"].unique() if matches(name, wanted) and not matches(name, without)]
    groups = board[board["method"].isin(names)].dropna(subset=metric).groupby(["dataset", "method"])
    if not len(groups):
        raise NotFound(f"no row has {metric} of {method!r}")
    if (groups["protocol_hash"].agg(lambda hashes: len(set(hashes))) > 1).any():
        raise NotFound(f"several protocols have {method!r}")
    values = groups[metric].agg(statistic)
    return list(zip(values, groups[metric].sem(), strict=True))


def _compared(
    board: pd.DataFrame, left: str, sign: str, right: str, metric: str, statistic: str
) -> list[tuple[float, float]]:
    """Return the paired difference or the ratio of two methods on each data set."""
    found = []
    for _, rows in board.dropna(subset=metric).groupby("dataset"):
        one, other = (rows[rows["method"] == name].set_index("split")[metric] for name in (left, right))
        if sign == "-" and len(paired := (one - other).dropna()):
            found.append((paired.agg(statistic), paired.sem()))
        elif sign == "/" and len(one) and len(other):
            found.append((one.agg(statistic) / other.agg(statistic), math.nan))
    if not found:
        raise NotFound(f"no data set has rows of both {left!r} and {right!r}")
    return found


def matches(name: str, pattern: str) -> bool:
    """Return whether a method's name matches one of the patterns that a text joins by +."""
    return any(fnmatchcase(name, part.strip()) for part in pattern.split("+"))


def _differences(printed: str, exact: list[tuple[float, float]]) -> list[str]:
    """Return how a printed number, number ± standard error, or range differs from exact ones."""
    if " to " in printed:
        low, high = printed.split(" to ")
        ends = min(value for value, _ in exact), max(value for value, _ in exact)
        return (
            [] if agrees(low, ends[0]) and agrees(high, ends[1]) else [f"{printed} is {ends[0]:.5g} to {ends[1]:.5g}"]
        )
    if len(exact) != 1:
        return [f"{printed} is one value of {len(exact)}; give a range, or name one"]
    ((value, stderr),) = exact
    mean, _, error = (part.strip() for part in printed.partition("±"))
    right = agrees(mean, value) and (not error or agrees(error, stderr))
    return [] if right else [f"{printed} is {value:.5g} ± {stderr:.3g}"]
