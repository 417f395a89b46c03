"""Numbers in the texts are those of kept rows, published tables or commands that exist (see `support/documents`)."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from documents.commands import found, problem_with
from documents.coverage import uncovered
from documents.evidence import (
    ROWS,
    agrees,
    evaluated,
    finished,
    kept,
    literals,
    problems_with,
    problems_with_published,
)
from documents.foundations import of_earlier_engines, rested_on, without_support
from documents.references import Numbers, kind, numbers, pairs, repeated, written
from documents.tables import problems_with_table
from documents.texts import Block, blocks

from lockstep_bench import methods
from lockstep_bench.leaderboards.data.published import read_published
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.replications.comparison import Replication, replications
from lockstep_bench.leaderboards.stats.rank_correlation import interval_over_methods, rank_correlation
from lockstep_bench.leaderboards.stats.ranking import rank
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
from lockstep_bench.leaderboards.tables.ranking_numbers import difference, interval
from lockstep_bench.shared.papers.entries import entries

ROOT = Path(__file__).resolve().parents[1]
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CHECKED = [ROOT / "README.md"]
CHECKED += [ROOT / f"docs/{name}.md" for name in ("claims", "findings", "gaps", "images", "reproduction", "speed")]

# Sections whose numbers nothing can be named for that a test could follow, and why.
EXCEPTIONS = {
    ("docs/images.md", "Retinopathy"): "movements of psi, measured once with a script that is not kept",
    (
        "docs/speed.md",
        "How a stack is trained",
    ): "rounding and compile times, measured once with scripts that are not kept",
}

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
ALL = pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)


def comments(path: Path, *kinds: str) -> list[tuple[Block, Block | None, str]]:
    """Return block, next block and comment of all comments of some kinds."""
    every = blocks(path)
    following = [*every[1:], None]
    return [
        (block, after, comment)
        for block, after in zip(every, following, strict=True)
        for comment in block.comments
        if kind(comment) in kinds
    ]


def visible(block: Block) -> str:
    """Return the text of a block on one line, with numbers as comments write them."""
    text = re.sub(" × 10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda match: "e" + match[1].translate(SUPERSCRIPTS), block.text)
    return " ".join(text.replace("−", "-").split())


@ALL
def test_numbers_in_documents_equal_stored_results(path):
    for block, after, comment in comments(path, "rows"):
        wanted = numbers(comment)
        if wanted.items:
            rows = finished(wanted, kept())
            wrong = [problem for item in wanted.items for problem in problems_with(item, wanted, rows)]
        else:
            wrong = in_table(block, after, wanted, comment)
        assert not wrong, f"{comment}: {'; '.join(wrong)}"


def in_table(block: Block, after: Block | None, wanted: Numbers, comment: str) -> list[str]:
    table = block if block.rows else after
    assert table, comment
    assert table.rows, f"{comment}: no table stands beside it"
    return problems_with_table(table.rows, wanted, comment.partition(": table")[2])


@ALL
def test_documented_numbers_come_from_current_or_rechecked_code(path):
    """A row of an earlier engine, which is known to give other numbers, stands behind no number."""
    for block, after, comment in comments(path, "rows", "replication", "from"):
        rows = rested_on(comment, block, after, kept())
        assert not of_earlier_engines(rows), comment
        assert not without_support(rows), f"{comment}: run `python -m leaderboards recheck leaderboards/results`"


@ALL
def test_published_numbers_in_documents_equal_the_table(path):
    for _, _, comment in comments(path, "published"):
        wanted = numbers(comment)
        wrong = [problem for item in wanted.items for problem in problems_with_published(item, wanted)]
        assert not wrong, f"{comment}: {'; '.join(wrong)}"


@ALL
def test_values_in_source_comments_occur_in_the_text(path):
    for block, after, comment in comments(path, "rows", "published"):
        text = visible(block) + (visible(after) if after and (after.rows or after.is_code) else "")
        for item in numbers(comment).items:
            for value in re.split(r" ± | to ", item.value):
                assert re.search(rf"(?<![\d.]){re.escape(value.replace('−', '-'))}(?!\d|\.\d)", text), (comment, value)


@ALL
def test_arithmetic_in_source_comments_is_correct(path):
    for _, _, comment in comments(path, "computed"):
        for expression, value in pairs(comment):
            assert agrees(value, evaluated(expression)), comment


@ALL
def test_numbers_repeated_from_tables_are_correct(path):
    tables: dict[str, str] = {}
    for first, *cells in (row for block in blocks(path) for row in block.rows):
        tables[first.strip("`")] = " ".join([tables.get(first.strip("`"), ""), *cells])
    for _, _, comment in comments(path, "in table"):
        for method, values in repeated(comment):
            for value in values:
                assert re.search(rf"(?<![\d.]){re.escape(value)}(?!\d|\.\d)", tables[method]), (comment, method, value)


@ALL
def test_constants_in_documents_equal_the_code(path):
    for _, _, comment in comments(path, "written in"):
        file, values = written(comment)
        known = literals(ROOT / file)
        assert values, comment
        for value in values:
            assert float(value.replace(",", "")) in known, f"{comment}: {value} is not in {file}"


@ALL
def test_replications_named_in_documents_exist(path):
    names = {entry.name for entry in entries()}
    for _, _, comment in comments(path, "replication"):
        assert comment.removeprefix("replication").strip() in names, comment


@cache
def replicated() -> list[Replication]:
    return replications(read_results(ROWS).cells, read_published(), entries())


def test_readme_table_equals_the_rankings():
    board = with_labelled_presets(kept()[lambda rows: rows["suite"].eq("uci")])
    (shown,) = [block.rows for block in blocks(ROOT / "README.md") if block.rows]
    assert len(shown) == 1 + 8
    rankings = [rank(board, "uci", "tuned-modified@e2ad98c1", metric) for metric in ("nmll", "nmll_dyadic", "rmse")]
    with_all_scores = set.intersection(*({row.method for row in ranking.rows} for ranking in rankings))
    assert with_all_scores == {row[0].strip("`") for row in shown[1:]}
    for column, ranking in enumerate(rankings):
        ranked = {row.method: row for row in ranking.rows}
        for name, *cells in shown[1:]:
            row, unit = ranked[name.strip("`")], ranking.unit
            words = f"{difference(row, unit)} ({interval(row, unit)})" if row.method != ranking.reference else "0"
            leads = row.verdict in ("best", "could be best")
            assert cells[column] == (f"**{words}**" if leads else words), (name, column)


def test_readme_has_at_most_700_words():
    assert len((ROOT / "README.md").read_text().split()) <= 700


def test_readme_states_the_number_of_methods():
    assert f"has {len(methods.names())} methods" in " ".join((ROOT / "README.md").read_text().split())


def test_findings_state_the_hours_of_the_kept_rows():
    hours = kept()[["tune_seconds", "fit_seconds"]].sum().sum() / 3600
    (said,) = re.findall(r"took about (\d+) hours", (ROOT / "docs/findings.md").read_text())
    assert abs(int(said) - hours) < 3, hours


def test_counts_of_judged_claims_in_documents_are_correct():
    count = Counter(claim.verdict for one in replicated() for claim in one.claims)
    judged = sum(count.values()) - count["not run"]
    not_run = sum(one.status == "not run here" for one in replicated())
    for name in ("findings", "reproduction"):
        text = " ".join((ROOT / f"docs/{name}.md").read_text().split())
        for pattern, number in (
            (rf"{count['holds']} of (the papers' )?(\d+) claims", judged),
            (r"(\d+) (hold )?in part", count["holds in part"]),
            (r"(\d+) are undecided", count["undecided"]),
            (r"(\d+) (are )?mixed", count["mixed"]),
            (r"(\d+) (are )?contradicted", count["contradicted"]),
            (rf"(\d+) of {len(entries())} tables and figures were not run", not_run),
        ):
            assert str(number) in (match[0].split() if (match := re.search(pattern, text)) else []), (name, pattern)


def test_documents_list_every_contradicted_claim():
    text = (ROOT / "docs/reproduction.md").read_text().partition("## What was contradicted")[2].partition("\n## ")[0]
    wanted = {one.entry.name for one in replicated() for claim in one.claims if claim.verdict == "contradicted"}
    assert set(re.findall(r"^- `([\w-]+)`", text, re.MULTILINE)) == wanted


@ALL
def test_commands_in_documents_are_valid(path):
    hidden = [comment.removeprefix("from").strip() for _, _, comment in comments(path, "from")]
    assert all(found(command) for command in hidden), hidden
    shown = [found(code) for block in blocks(path) for code in block.code if found(code)]
    wrong = {command: problem for command in [*shown, *hidden] if (problem := problem_with(command))}
    assert not wrong, wrong


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.name)
def test_every_decimal_number_in_documents_has_a_source(path):
    name = path.relative_to(ROOT).as_posix()
    lacking = [
        (" > ".join(filter(None, block.headings)), found, block.text[:80])
        for block, found in uncovered(blocks(path))
        if not any((name, heading) in EXCEPTIONS for heading in block.headings)
    ]
    assert not lacking, "\n".join(map(str, lacking))


def test_exempted_sections_of_documents_exist():
    for name, heading in EXCEPTIONS:
        assert any(heading in block.headings for block in blocks(ROOT / name)), (name, heading)


@pytest.mark.parametrize("name", ["findings", "reference-posteriors", "sampling", "statistics"])
def test_rank_correlations_are_those_of_stored_results(name):
    text = (ROOT / f"docs/{name}.md").read_text()
    said = " ".join(text.split())
    commands = re.findall(r"<!-- from python -m leaderboards correlate leaderboards/results (.*?) -->", text)
    assert commands
    for command in commands:
        options = dict(re.findall(r"--(\w+) (\S+)", command))
        cells = with_labelled_presets(kept()[lambda rows, suite=options["suite"]: rows["suite"].eq(suite)])
        if "datasets" in options:
            cells = cells[cells["dataset"].isin(options["datasets"].split(","))]
        found = rank_correlation(
            cells,
            options["suite"],
            options["preset"],
            tuple(options["metrics"].split(",")),
            options["methods"].split(",") if "methods" in options else None,
        )
        low, high = interval_over_methods(found)
        mean, *interval = (f"{number:.2f}".replace("-", "−") for number in (found.mean, found.low, found.high))
        assert mean in said, command
        assert " to ".join(interval) in said, command
        if name == "statistics":
            over_methods = f"{low:.2f} to {high:.2f}".replace("-", "−")
            assert f"{mean} ({' to '.join(interval)}; {over_methods})" in said, command
