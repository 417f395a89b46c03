"""Command lines of any kind: each is obeyed, or refused with a reason and exit code 2, and none ends in a traceback."""

import os
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from lockstep_bench.bench.console import forecast
from lockstep_bench.leaderboards.__main__ import app as leaderboards
from lockstep_bench.run import app

NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6),
    st.sampled_from([0, 1, 2, 2**31, 2**63, 10**20, "inf", "nan", "-1", "1e9", "9" * 5_000]),
).map(str)
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
    st.sampled_from(["", ",", "=", "a=b", "x" * 5_000, "../..", "/dev/null", "map:lr=1", "all", "none", "\x1b[31m"]),
)
# What would wait for a network.
LEFT_OUT = {"--cluster", "--tls-ca-file", "--tls-cert", "--tls-key", "--help"}
# Values that some option allows, so that many command lines come past their first check.
USUAL = {
    "--suite": ["uci", "toy", "own", "papers", "uci-gap", "uci-gp", "posterior"],
    "--methods": ["map", "vifa,map", "headline", "all", "map(lr=1)", "swag(rank=3)"],
    "--datasets": ["diabetes", "a,b", "toy", "yacht,diabetes"],
    "--splits": ["0", "0-1,3", "19"],
    "--preset": ["quick", "tuned", "paper", "all"],
    "--sampler": ["random", "centre", "grid", "gp"],
    "--space": ["wide", "paper"],
    "--likelihood": ["gaussian", "heteroscedastic", "student-t"],
    "--hidden": ["50,50", "3"],
    "--activation": ["tanh"],
    "--set": ["epochs=3", "samples=2", "max_minibatches=none"],
    "--hparam": ["lr=0.1", "map:prior_precision=1", "map:lr=nan"],
    "--method-option": ["swag:rank=3", "vifa:rank=x"],
    "--csv": ["table.csv"],
    "--target": ["y", "a"],
    "--devices": ["cpu", "cuda", "cuda:0,1"],
    "--metric": ["nmll", "rmse", "coverage_90"],
    "--format": ["text", "csv"],
}


def options_of(command) -> st.SearchStrategy[list[str]]:
    """Strategy of arguments: options of a command with any values, and now and then words that are no options."""
    flags, valued = [], []
    for parameter in command.params:
        names = [name for name in parameter.opts if name.startswith("--") and name not in LEFT_OUT]
        (flags if getattr(parameter, "is_flag", False) else valued).extend(names)

    def with_value(name: str) -> st.SearchStrategy[list[str]]:
        usual = st.sampled_from(USUAL.get(name, ["1", "2", "50"]))
        return st.one_of(usual, usual, usual, NUMBERS, TEXTS).map(lambda value: [name, value])

    known = st.one_of(
        st.sampled_from(valued).flatmap(with_value), st.sampled_from(flags or valued).map(lambda one: [one])
    )
    stray = st.one_of(TEXTS, st.sampled_from(["--", "-x", "--no-such"])).map(lambda word: [word])
    parts = st.tuples(st.lists(known, max_size=6), st.one_of(st.just([]), st.just([]), st.lists(stray, max_size=2)))
    return parts.map(lambda both: [word for part in (*both[0], *both[1]) for word in part])


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, row, file_of):
    """A folder with a table and a results folder, which is the working directory."""
    place, before = tmp_path_factory.mktemp("work"), Path.cwd()
    (place / "table.csv").write_text("a,b,y\n" + "".join(f"{i},{i % 7},{i / 3}\n" for i in range(60)))
    (place / "out" / "cells").mkdir(parents=True)
    rows = [row(method, dataset, split) for method in ("map", "vifa") for dataset in "abcd" for split in (0, 1)]
    (place / "out" / "cells" / "all.parquet").write_bytes(file_of(*rows))
    os.chdir(place)
    yield place
    os.chdir(before)


def check(app: typer.Typer, arguments: list[str], allowed: tuple[int, ...] = (0, 2)) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), (arguments, result.exception)
    assert result.exit_code in allowed, arguments
    assert "Traceback" not in result.output
    if result.exit_code:
        assert result.output.strip()
    if result.exit_code == 2:
        assert len(result.stderr) < 20_000  # no value is printed back many times


@settings(max_examples=4 * settings.default.max_examples)
@given(arguments=options_of(typer.main.get_command(app)))
def test_random_run_all_arguments_run_or_exit_2(arguments, workplace, monkeypatch):
    monkeypatch.setattr(forecast, "measuring", lambda *_: None)  # which would train for the estimate of time
    monkeypatch.setenv("BENCH_DATA_DIR", str(workplace / "data"))
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    before = sorted(workplace.rglob("*.parquet"))
    check(app, [*arguments[:cut], "--dry-run", *arguments[cut:]])
    assert sorted(workplace.rglob("*.parquet")) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rank", "export", "compare", "replications", "edges"])
@given(data=st.data())
def test_random_leaderboards_arguments_run_or_exit_2(name, data, workplace):
    command = typer.main.get_command(leaderboards).commands[name]
    usual = {"rank": ["--suite", "uci", "--preset", "tuned", "--metric", "nmll"]}.get(name, [])
    given_usual = usual if data.draw(st.booleans()) else []
    folder = st.sampled_from(["out", "out", "out", "nowhere", "table.csv", ""])
    folders = [data.draw(folder) for _ in range(2 if name == "compare" else 1)]
    allowed = (0, 1, 2) if name == "compare" else (0, 2)  # it says 1 of differences
    check(leaderboards, [name, *folders, *given_usual, *data.draw(options_of(command))], allowed)
