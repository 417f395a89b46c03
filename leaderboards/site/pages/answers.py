"""The line at the top of a page that says which methods are, or could be, the best: "By RMSE on Boston: undecided."."""

from collections.abc import Mapping, Sequence

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.tables.boards import Board
from lockstep_bench.leaderboards.wording.formats import counted, joined, listed, visible

ANSWERED = ("nmll", "rmse", "accuracy", "crps")  # metrics that are answered for, besides the leading one
MOST_NAMED = 4


def answer(rows: Sequence[Ranked]) -> str:
    """Return which methods of a ranking are or could be the best, in words; "undecided" if nothing is significant."""
    by: dict[str, list[str]] = {}
    for row in rows:
        by.setdefault(row.verdict, []).append(f"`{visible(row.method)}`")
    if best := by.get("best"):
        return f"{best[0]} is the best"
    if leaders := by.get("could be best"):
        named = listed(leaders, MOST_NAMED) if len(leaders) > MOST_NAMED else joined(leaders)
        return f"{named} could be the best"
    return "undecided"


def on_dataset(site: Site, board: Board, suite: str, preset: str, title: str) -> str:
    """Return a sentence with the best methods on one data set, by the leading metric and the metrics `ANSWERED`."""
    names = [name for name in dict.fromkeys((board.lead, *ANSWERED)) if name in board.headline]
    rankings = {name: site.rankings(suite, preset, name).get(board.dataset) for name in names if _directed(name)}
    rows = {name: ranking.rows for name, ranking in rankings.items() if ranking and len(ranking.rows) > 1}
    n_splits = max((row[0].n_splits for row in rows.values()), default=0)
    return _sentence(rows, f"on {visible(title)}", f"{preset}, {counted(n_splits, 'split')}")


def over_datasets(site: Site, suite: str, preset: str, names: Sequence[str]) -> str:
    """Return a sentence with the best methods over a suite's data sets, by `names[0]` and the metrics `ANSWERED`."""
    asked = [
        name for name in dict.fromkeys((*names[:1], *ANSWERED)) if name in names and measured(site, suite, preset, name)
    ]
    rankings = {name: site.standings(suite, preset, name).families for name in asked}
    rows = {name: ranking.rows for name, ranking in rankings.items() if len(ranking.rows) > 1}
    counts = [len(rankings[name].datasets) for name in rows] or [0]
    over = f"{min(counts)} to " * (len(set(counts)) > 1) + counted(max(counts), "data set")
    return _sentence(rows, f"over {over}", f"{preset}, one method of each family")


def reference_beaten(site: Site, suite: str, preset: str, names: Sequence[str]) -> str:
    """Return a sentence with the metrics among `names` in which some method beats the reference; "" for none."""
    beaten, reference = [], ""
    for name in dict.fromkeys(names):
        if not measured(site, suite, preset, name):
            continue
        ranking = site.standings(suite, preset, name).families
        reference = ranking.reference or reference
        beaten += [
            metric(name).phrase for row in ranking.rows if row.method == ranking.reference and row.verdict == "worse"
        ]
    return f"At least one method beats `{visible(reference)}` significantly in {joined(beaten)}." if beaten else ""


def measured(site: Site, suite: str, preset: str, name: str) -> bool:
    """Return whether a suite and preset have a metric that has a direction."""
    boards = (made for key, made in site.boards.items() if (key[0], key[2]) == (suite, preset))
    return _directed(name) and any(name in made.headline for made in boards)


def _directed(name: str) -> bool:
    return metric(name).goal is not None


def _sentence(rows: Mapping[str, Sequence[Ranked]], where: str, of: str) -> str:
    """Return one sentence for each different answer, with the metrics that give it; "" without a ranking."""
    by_answer: dict[str, list[str]] = {}
    for name, ranked in rows.items():
        by_answer.setdefault(answer(ranked), []).append(metric(name).phrase)
    said = [f"By {joined(titles)}: {words}." for words, titles in by_answer.items()]
    if not said:
        return ""
    first, *others = said
    return " ".join([first.replace(":", f" {where} ({visible(of)}):", 1), *others])
