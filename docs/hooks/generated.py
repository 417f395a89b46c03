"""Parts of documents that are computed when the site is built, so that they cannot differ from code and results.

A comment of one word on a line of its own stands where the part comes:

- `methods`: the methods of the families that the page's front matter names, with their caveats, search ranges and
  results; from `methods/catalogue/cards.toml`, the methods themselves and `leaderboards/results`.
- `families`: all such pages, with their families and methods.
- `presets`: the protocols of all suites.
- `metrics`: what each metric means.
"""

import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

from lockstep_bench import methods
from lockstep_bench.bench.experiment.suites import SUITES, Suite
from lockstep_bench.bench.experiment.tasks import task_of
from lockstep_bench.datasets.tabular import uci
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.metrics import MEASURED, metric
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
from lockstep_bench.methods.catalogue.rows import Row, families, rows
from lockstep_bench.shared.protocol import Protocol

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS.parent / "leaderboards" / "results"
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)

# Boards of the suite `uci` whose results are shown: network and noise -> preset.
BOARDS = {"50, constant": "tuned", "16-16, predicted": "tuned-modified@e2ad98c1"}
REFERENCE = "map"
SETS = tuple(source.name for source in uci.sources())
CAVEATS = {"spread_caveat": "spread", "mean_caveat": "mean", "limits": "limits"}


class Result(NamedTuple):
    """Results of a method on one board.

    Attributes:
        board: key of `BOARDS`.
        method: name of the method.
        sets: number of data sets.
        splits: number of splits on all sets.
        failed: number of further splits, on which the method failed.
        nmll: mean over sets of the mean over splits, nats.
        reference: the same of `REFERENCE` on the same splits.
    """

    board: str
    method: str
    sets: int
    splits: int
    failed: int
    nmll: float
    reference: float


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return a page's text with the parts that are computed."""
    parts = {"families": lambda: all_families(str(config["nav"])), "metrics": metrics, "presets": presets}
    parts["methods"] = lambda: of_families(page.meta["families"])
    return re.sub(rf"(?m)^<!-- ({'|'.join(parts)}) -->$", lambda match: parts[match[1]](), markdown)


def of_families(keys: list[str]) -> str:
    """Return tables of the methods of some families, of their search ranges and of their results."""
    chosen = [row for key in keys for row in rows().values() if row.family == key]
    return "\n\n".join([_described(chosen), _ranges(chosen), _results([row.name for row in chosen])])


def all_families(navigation: str) -> str:
    """Return a table of the pages about families of methods, in the order of the navigation."""
    lines = []
    for path in sorted((DOCS / "methods").glob("*.md"), key=lambda path: navigation.find(f"methods/{path.name}")):
        text = path.read_text(encoding="utf-8")
        if front := FRONT_MATTER.match(text):
            keys = yaml.safe_load(front[1])["families"]
            (title,) = re.findall(r"^# (.+)$", text, re.MULTILINE)
            names = ", ".join(f"`{row.name}`" for row in rows().values() if row.family in keys)
            lines.append([f"[{title}]({path.name})", " · ".join(families()[key]["title"] for key in keys), names])
    return _table(["page", "families", "methods"], lines)


def presets() -> str:
    """Return a table of the settings of a protocol, and tables of the presets; suites with the same share one."""
    sharing: dict[str, list[str]] = {}
    for suite in SUITES.values():
        sharing.setdefault(_presets_of(suite), []).append(f"- `{suite.name}`: {suite.title}")
    parts = [f"### {_headings(suites)}\n\n{chr(10).join(suites)}\n\n{table}" for table, suites in sharing.items()]
    return "\n\n".join([_settings(), "## Presets of each suite", *parts])


def metrics() -> str:
    """Return a table of the metrics, without those that are others on a part of the test points or on other points."""
    names = [name for name in MEASURED if not re.search("_retain|ood_|^corrupted_|^elsewhere_", name)]
    every = {name: metric(name) for name in names}
    lines = [[f"`{name}`", _cell(one.title), _goal(one.goal), _cell(one.meaning)] for name, one in every.items()]
    return _table(["column", "title", "better", "meaning"], lines)


def spaces(name: str, wide: bool) -> dict[str, str]:
    """Return the ranges of a method's own hyper-parameters on a regression, in words, name -> range.

    Args:
        name: name of the method.
        wide: whether to return the ranges of the preset `tuned`, or those of its paper.
    """
    task = task_of("uci", "yacht")
    method = methods.get(name).suited_to(task)
    space = method.wide_space(task) if wide else method.search_space(task)
    of_noise = task.likelihood.search_space()
    return {key: _range(value) for key, value in space.items() if key not in of_noise}


@cache
def results() -> dict[str, list[Result]]:
    """Return the results of all methods on the boards, name of the method -> one entry per board with rows."""
    cells = with_labelled_presets(read_results(RESULTS).cells)
    cells = cells[(cells["suite"] == "uci") & cells["dataset"].isin(SETS)]
    found: dict[str, list[Result]] = {}
    for board_name, preset in BOARDS.items():
        board = cells[cells["preset"] == preset]
        finished = board[board["status"] == "ok"].groupby(["method", "dataset", "split"])["nmll"].mean()
        for method, values in finished.groupby("method"):
            both = pd.DataFrame({"own": values.droplevel("method"), "map": finished[REFERENCE]}).dropna()
            means = both.groupby("dataset").mean()
            failed = int(((board["method"] == method) & (board["status"] != "ok")).sum())
            entry = Result(board_name, str(method), len(means), len(both), failed, *means.mean()[["own", "map"]])
            found.setdefault(str(method), []).append(entry)
    return found


def _described(chosen: list[Row]) -> str:
    lines = []
    for row in chosen:
        card = methods.card(row.name)
        caveats = [f"{word}: {row.facts[fact]}" for fact, word in CAVEATS.items() if fact in row.facts]
        lines.append([f"`{row.name}`", _cell(card.variant), _cell(card.paper), _cell("; ".join(caveats))])
    columns = ["method", "what it is", "paper", "caveats and limits"]
    return _table(columns, lines) if any(line[-1] for line in lines) else _table(columns[:-1], [x[:-1] for x in lines])


def _ranges(chosen: list[Row]) -> str:
    """Return a table of search ranges; methods with the same ranges share its lines."""
    sharing: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for row in chosen:
        usual, wide = spaces(row.name, wide=False), spaces(row.name, wide=True)
        sharing.setdefault(tuple((key, usual[key], wide[key]) for key in usual), []).append(f"`{row.name}`")
    lines = [[", ".join(names), f"`{key}`", *ends] for space, names in sharing.items() for key, *ends in space]
    nothing = ", ".join(name for space, names in sharing.items() if not space for name in names)
    said = f"Nothing is tuned for {nothing}." if nothing else ""
    if not lines:
        return f"### Search ranges\n\n{said}"
    intro = (
        "What is tuned on a regression, beside the noise. The preset `tuned` searches the wide ranges, `quick` and "
        f"`paper` the others. {said}"
    )
    table = _table(["methods", "hyper-parameter", "range", "wide range"], lines)
    return f"### Search ranges\n\n{intro}\n\n{table}"


def _results(names: list[str]) -> str:
    found = [result for name in names for result in results().get(name, ())]
    lacking = ", ".join(f"`{name}`" for name in names if name not in results())
    without = f"No kept rows on these sets and presets: {lacking}." if lacking else ""
    if not found:
        return f"### Results\n\n{without}"
    intro = (
        "Mean NMLL in nats over the nine UCI regressions, lower is better, from kept rows of the preset `tuned`: with "
        "one hidden layer of 50 units and constant noise, or two of 16 and predicted noise. `map` is on the same sets "
        "and splits. A difference is no verdict: `leaderboards rank` has intervals ([Statistics](../statistics.md))."
    )
    lines = [
        [
            *(f"`{one.method}`", one.board, f"{one.sets} of {len(SETS)}", _splits(one)),
            *map(_number, (f"{one.nmll:.2f}", f"{one.reference:.2f}", f"{one.nmll - one.reference:+.2f}")),
        ]
        for one in found
    ]
    table = _table(["method", "network, noise", "sets", "splits", "NMLL", "`map`", "difference"], lines)
    return f"### Results\n\n{intro}\n\n{table}\n\n{without}"


def _splits(result: Result) -> str:
    return f"{result.splits}, {result.failed} failed" if result.failed else f"{result.splits}"


def _number(text: str) -> str:
    return text.replace("-", "−").replace("+0.00", "0.00").replace("−0.00", "0.00")


def _goal(goal: str | float | None) -> str:
    return {"low": "lower", "high": "higher", None: ""}.get(goal, f"near {goal}")


def _settings() -> str:
    """Return a table of all settings of a protocol."""
    lines = []
    for field in fields(Protocol):
        one = field.metadata["setting"]
        lines.append([f"`{field.name}`", _cell(one.words.format("…")), _value(one.default), ", ".join(one.choices)])
    return _table(["setting", "in words", "default", "choices"], lines)


def _presets_of(suite: Suite) -> str:
    """Return a table of the settings by preset that a suite's presets change."""
    names = [field.name for field in fields(Protocol)]
    changed = [name for name in names if {getattr(one, name) for one in suite.presets.values()} != {_default(name)}]
    lines = [["splits of a set", *(str(suite.splits.get(preset) or "all") for preset in suite.presets)]]
    lines += [[f"`{name}`", *(_value(getattr(one, name)) for one in suite.presets.values())] for name in changed]
    return _table(["setting", *(f"`{preset}`" for preset in suite.presets)], lines)


def _default(name: str) -> Any:
    return getattr(Protocol(), name)


def _headings(suites: list[str]) -> str:
    return ", ".join(re.findall(r"^- (`[^`]+`)", "\n".join(suites), re.MULTILINE))


def _value(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else _cell(str(value))


def _range(distribution: Any) -> str:
    """Return a distribution of Optuna in words."""
    if hasattr(distribution, "choices"):
        return "one of " + ", ".join(f"{choice:g}" for choice in distribution.choices)
    return f"{distribution.low:g} to {distribution.high:g}"


def _cell(text: str) -> str:
    """Return a text with the characters escaped that Markdown reads in a table."""
    spans = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(span if span.startswith("`") else re.sub(r"([|*_<])", r"\\\1", span) for span in spans)


def _table(heading: list[str], lines: list[list[str]]) -> str:
    rules = ["---"] * len(heading)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heading, rules, *lines])
