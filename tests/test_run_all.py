"""The front door, used as a person uses it."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import finished, rows, wait_for
from typer.testing import CliRunner

from lockstep_bench import methods
from lockstep_bench import run as front_door
from lockstep_bench.bench.execution.spare_process import Spare
from lockstep_bench.methods.catalogue import registry
from lockstep_bench.shared.schema import REGRESSION

ROOT = Path(__file__).resolve().parent.parent
TINY = ("--trials", "2", "--folds", "2", "--epochs", "2", "--datasets", "diabetes")


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, str(ROOT / "run_all.py"), *map(str, arguments)]


@pytest.fixture
def run_all(tmp_path):
    """Runs the command in an empty folder, without data and without network."""
    environment = os.environ | {
        "BENCH_DATA_DIR": str(tmp_path / "data"),
        "BENCH_CALIBRATION_DIR": str(tmp_path / "calibrations"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "COLUMNS": "200",
    }

    def run(*arguments: str | Path, **options) -> subprocess.CompletedProcess:
        settings = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment} | options
        return subprocess.run(command(*arguments), **settings)

    run.environment = environment
    return run


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Runs the command in this process, which has imported everything already, in an empty folder and without data."""
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BENCH_CALIBRATION_DIR", str(tmp_path / "calibrations"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(front_door.app, list(arguments))


@pytest.fixture
def no_probes(monkeypatch):
    """A dry run measures nothing: probes of all methods take 20 seconds, and have tests of their own."""
    monkeypatch.setattr("lockstep_bench.bench.console.forecast.measuring", lambda *arguments: None)


def test_repeating_a_finished_run_does_nothing(run_all, invoke, jobs_run_here, tmp_path):
    arguments = ("--methods", "map", "--splits", "0-1", "--workers", "2", "--out", "r", "--html", "page", *TINY)
    first = run_all(*arguments)  # in processes, as a person would start it; what follows is done here
    assert first.returncode == 0, first.stderr
    assert "2 cells" in first.stdout
    assert str(Path("page/index.html")) in first.stdout
    assert "diabetes" in (tmp_path / "page/index.html").read_text()
    for part, suffix in (("cells", "parquet"), ("predictions", "parquet"), ("studies", "json")):
        assert len(list((tmp_path / "r" / part).rglob(f"*.{suffix}"))) == 2
    assert not [path for path in (tmp_path / "r").rglob("*") if ".tmp" in path.name]
    cells = rows(tmp_path / "r")
    assert (cells["status"] == "ok").all()
    assert cells[["nmll", *REGRESSION]].notna().all().all()
    assert (cells["preset"] == "quick-modified").all()

    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "r/cells").rglob("*.parquet")}
    second = invoke(*arguments)
    assert second.exit_code == 0
    assert "2 of them finished before" in second.stdout
    assert stamps == {path: path.stat().st_mtime_ns for path in (tmp_path / "r/cells").rglob("*.parquet")}

    cut = min(stamps)
    cut.write_bytes(cut.read_bytes()[:100])
    mended = invoke(*arguments)
    assert mended.exit_code == 0
    assert f"_{cut.name}.unreadable: it cannot be read as Parquet" in mended.stderr
    pd.testing.assert_frame_equal(rows(tmp_path / "r"), cells)

    third = invoke(*arguments, "--workers", "1", "--fresh")
    assert third.exit_code == 0
    assert len(list((tmp_path / "r/superseded/1/cells").rglob("*.parquet"))) == 2
    pd.testing.assert_frame_equal(rows(tmp_path / "r"), cells)


def test_killed_run_resumes_to_equal_results(run_all, invoke, jobs_run_here, tmp_path):
    """Its worker has three jobs. `pytest -m slow` kills runs with two workers."""
    arguments = ("--methods", "map,mfvi,vifa", "--splits", "0-1", "--workers", "1", *TINY)
    undisturbed = invoke(*arguments, "--out", "calm")
    assert undisturbed.exit_code == 0, undisturbed.stderr

    process = subprocess.Popen(
        command(*arguments, "--out", "killed"),
        cwd=tmp_path,
        env=run_all.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: finished(tmp_path / "killed"))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    survived = finished(tmp_path / "killed")
    assert 1 <= survived < 6

    resumed = invoke(*arguments, "--out", "killed")
    assert resumed.exit_code == 0, resumed.stderr
    assert f"{survived} of them finished before" in resumed.stdout
    # Whether a cell ran beside others depends on when the run was killed.
    again, calm = (rows(tmp_path / name).drop(columns="exclusive") for name in ("killed", "calm"))
    pd.testing.assert_frame_equal(again, calm)


@pytest.mark.slow
def test_ctrl_c_keeps_finished_cells(run_all, tmp_path):
    arguments = ("--methods", "map,mfvi,vifa", "--splits", "0-1", "--workers", "1", "--out", "r", *TINY)
    process = subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        env=run_all.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that runs the tests in the background has them, and what they start, ignore SIGINT.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: finished(tmp_path / "r"))
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert re.search(r"Interrupted: \d+ of 6 cells finished; the same command goes on from here", errors)
    assert "Traceback" not in errors
    assert (rows(tmp_path / "r")["status"] == "ok").all()
    assert "index.html" in output


@pytest.mark.slow
def test_offline_run_uses_built_in_data_sets(invoke, tmp_path):
    done = invoke("--methods", "map", "--splits", "0", "--trials", "1", "--folds", "2", "--epochs", "1", "--out", "r")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("no connection to") == 1  # one sentence for all sets of a server
    assert re.search(r"python -m datasets fetch .*yacht.* where there is network", done.stderr)
    assert "usps3v5: not available, see above" in done.stdout
    assert "python -m datasets fetch" in (tmp_path / "r/html/index.html").read_text()


def test_missing_requested_data_give_exit_code_2(invoke, jobs_run_here):
    done = invoke("--methods", "map", "--splits", "0", "--out", "r", *TINY, "--datasets", "boston,diabetes")
    assert done.exit_code == 2
    assert "1 ok" in done.stdout
    assert "boston: asked for, but not available" in done.stderr


def test_strict_option_refuses_missing_data_before_running(invoke, tmp_path):
    done = invoke("--strict", "--out", "r")
    assert done.exit_code == 2
    assert "Without boston" in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--suite", "ucci"], "suite 'ucci' is unknown; did you mean 'uci'?"),
        (["--methods", "viifa"], "method 'viifa' is unknown; did you mean 'vifa'?"),
        (["--datasets", "diabetis"], "dataset 'diabetis' is not in suite uci; did you mean 'diabetes'?"),
        (["--preset", "papper"], "preset 'papper' is unknown; did you mean 'paper'?"),
        (["--datasets", "diabetes", "--splits", "4-2"], "runs backwards"),
        (["--datasets", "diabetes", "--splits", "25"], "there is no split 25"),
        (["--datasets", "diabetes", "--splits", "²"], "write numbers and ranges: 0-4,7"),
        (["--folds", "1"], "folds is 1; it must be an integer of at least 2"),
        (["--trials", "0"], "trials is 0; it must be an integer of at least 1"),
        (["--sampler", "tep"], "must be one of random, tpe"),
        (["--devices", "gpu"], "write cpu, cuda, or cuda:0,1"),
        (["--methods", ","], "--methods names nothing"),
        (["--set", "smaples=3"], "setting 'smaples' is unknown; did you mean 'samples'?"),
        (["--methods", "map", "--hparam", "rate=1"], "no hyper-parameter 'rate'; map has lr"),
        (["--methods", "mfvi(tempring=1)"], "mfvi has no option 'tempring'; its options are: initial_log_sd"),
        (["--hparam", "lr=1", "--set", "hparams=lr=2"], "--set hparams=... and --hparam say the same thing"),
        (["--set", "epochs=3", "--epochs", "4"], "--set epochs=... and --epochs say the same thing"),
        (["--cluster", "tcp://h:1", "--workers", "2"], "--workers 2 works on this machine only"),
        (["--cluster", "tcp://h:1", "--devices", "cuda"], "--devices cuda works on this machine only"),
        (["--cluster", "h"], "write tcp://HOST:PORT or tls://HOST:PORT"),
        (["--tls-cert", "cert.pem"], "--tls-cert is for a cluster"),
        (["--cluster", "tcp://h:1", "--timing"], "--timing works on this machine only"),
        (["--cluster", "tcp://h:1", "--longer", "2"], "--longer works on this machine only"),
        (("--seed", "1" + "0" * 20), "9223372036854775807"),
        (("--timeout", "inf"), "is not a valid int"),
        (("--timeout", "10000000000"), "1000000000"),
        (("--timeout", "nan"), "--timeout"),
        (("--workers", "100000000"), "10000"),
        (("--longer", "100000000"), "1000"),
        (("--trials", "1" + "0" * 20), "it must be an integer of at most 1000000000"),
        (("--datasets", "x" * 5000), "a name of 5000 characters"),
        (("--html", __file__), "is a file, not a folder"),
        (("--list", "--data-dir", "x" * 5000), "cannot be the data folder: it is too long"),
    ],
)
def test_invalid_requests_are_refused_before_any_work(invoke, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.setattr(Spare, "start", lambda *_: None)  # it would only import torch
    done = invoke(*arguments, "--out", "r")
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert complaint in done.stderr
    assert not (tmp_path / "r").exists()


def test_refused_request_prints_no_traceback(run_all, tmp_path):
    """A process of its own, whose worker has been started when the request is refused."""
    done = run_all("--datasets", "diabetes", "--splits", "25", "--out", "r")
    assert done.returncode == 2
    assert done.stderr.count("Error: ") == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "Stopped: by Ctrl-C."), (signal.SIGTERM, 143, "Stopped: by SIGTERM.")],
)
def test_signal_during_planning_is_reported(invoke, monkeypatch, number, code, said):
    monkeypatch.setattr(Spare, "start", lambda *_: os.kill(os.getpid(), number))
    done = invoke("--methods", "map", "--datasets", "diabetes", "--splits", "0", "--out", "r")
    assert done.exit_code == code
    assert said in done.stderr


@pytest.mark.parametrize("name", ["html", "training", ".lock-holder.json", ".lock"])
def test_symbolic_links_out_of_the_results_folder_are_refused(invoke, tmp_path, name):
    (tmp_path / "r").mkdir()
    (tmp_path / "victim").write_text("of another")
    (tmp_path / "r" / name).symlink_to(tmp_path / "victim")
    done = invoke("--methods", "map", "--datasets", "diabetes", "--splits", "0", "--out", "r", "--html", "page")
    assert done.exit_code == 2
    assert f"r/{name} is in the way of results: it is a link" in done.stderr
    assert (tmp_path / "victim").read_text() == "of another"


@pytest.mark.usefixtures("no_probes")
def test_dry_run_prints_the_plan_without_running(invoke, tmp_path):
    done = invoke("--dry-run", "--preset", "paper", "--methods", "all", "--out", "r")
    assert done.exit_code == 0
    here = [name for name in methods.names() if "uci" in methods.get(name).suites]
    assert f"diabetes: {len(here)} methods x 20 splits" in done.stdout
    assert {"hmc", "vifa-k3"}.isdisjoint(here)  # they have to be asked for by name
    assert "digits-ood" in done.stdout
    assert "laplace-full is not for digits" in done.stdout
    assert "30 trials, drawn by random search, 5-fold cross-validation, 120 epochs" in " ".join(done.stdout.split())
    assert not (tmp_path / "r").exists()


@pytest.mark.usefixtures("no_probes")
def test_default_methods_are_the_headline_methods(invoke):
    done = invoke("--dry-run", "--datasets", "diabetes", "--out", "r")
    assert f"diabetes: {len(methods.headline())} methods x 2 splits" in done.stdout


def test_dry_run_prints_estimated_time_and_its_basis(invoke, jobs_run_here, tmp_path):
    for _ in range(2):  # the second time from what was kept
        done = invoke("--dry-run", "--methods", "map", "--splits", "0-1", "--out", "r", *TINY)
        assert done.exit_code == 0, done.stderr
        assert re.search(r"diabetes +2 +[12] +[0-9.]+ s +[0-9,]+ MiB +probe", done.stdout)
        assert re.search(r"About .* in all", done.stdout)
        assert len(list((tmp_path / "calibrations").iterdir())) == 1
    assert not (tmp_path / "r").exists()


@pytest.mark.usefixtures("no_probes")
def test_broken_plug_in_method_does_not_block_other_methods(invoke, install_faulty, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(install_faulty(tmp_path / "site", **{"no-such": "faulty_and_gone:Method"}))
    registry._targets.cache_clear()
    planned = invoke("--dry-run", "--methods", "all", "--splits", "0", "--datasets", "diabetes", "--out", "r")
    registry._targets.cache_clear()
    assert planned.exit_code == 0, planned.stderr
    assert "Without a method: method 'no-such' (faulty_and_gone:Method) cannot be loaded" in planned.stderr
    assert int(re.search(r"diabetes: (\d+) methods x 1 split", planned.stdout)[1]) > 30


@pytest.mark.slow
@pytest.mark.usefixtures("no_probes")
def test_fixed_hyper_parameters_are_recorded_and_not_tuned(invoke, tmp_path):
    arguments = ("--methods", "map,vifa", "--splits", "0", "--workers", "1", "--out", "r", *TINY)
    fixing = ("--hparam", "lr=0.001", "--hparam", "map:prior_precision=2", "--hparam", "map:noise_precision=0.0003")
    planned = invoke(*arguments, *fixing, "--dry-run")
    assert "map is not tuned in lr = 0.001, prior_precision = 2, noise_precision = 0.0003" in planned.stdout
    assert "vifa is not tuned in lr = 0.001" in planned.stdout
    done = invoke(*arguments, *fixing)
    assert done.exit_code == 0, done.stdout
    (of_map, of_vifa) = rows(tmp_path / "r").to_dict("records")
    assert json.loads(of_map["hparams"]) == {"lr": 0.001, "prior_precision": 2, "noise_precision": 0.0003}
    assert (of_map["n_trials"], of_vifa["n_trials"]) == (0, 2)
    assert json.loads(of_vifa["hparams"])["lr"] == 0.001
    assert "lr=0.001 map:noise_precision=0.0003 map:prior_precision=2" in of_vifa["protocol"]
    assert of_map["protocol_hash"] == of_vifa["protocol_hash"]


@pytest.mark.slow
def test_method_options_reach_rows_and_pages(invoke, tmp_path):
    arguments = ("--splits", "0", "--workers", "1", "--out", "r", *TINY)
    fixing = ("--hparam", "lr=0.001", "--hparam", "prior_precision=2", "--hparam", "noise_precision=0.0003")
    named = invoke("--methods", "mfvi,mfvi(max_sd=1,mean_network=true)", *arguments, *fixing)
    assert named.exit_code == 0, named.stdout
    stored = rows(tmp_path / "r")
    assert list(stored["method"]) == ["mfvi", "mfvi(max_sd=1,mean_network=true)"]
    assert len(set(stored["rmse"])) == 2
    assert len(set(stored["protocol_hash"])) == 1
    given = ("--method-option", "mfvi:mean_network=true", "--method-option", "mfvi:max_sd=1")
    again = invoke("--methods", "mfvi", *given, *arguments, *fixing)
    assert "1 cells, 1 of them finished before" in again.stdout
    page = (tmp_path / "r/html/dataset-diabetes.html").read_text()
    assert "mfvi(max_sd=1,mean_network=true)" in page


@pytest.mark.slow
def test_pages_show_only_uncontended_times(invoke, tmp_path):
    arguments = ("--methods", "map", "--splits", "0-1", "--workers", "1", "--out", "r", *TINY)
    assert invoke(*arguments).exit_code == 0
    before = rows(tmp_path / "r")
    assert not before["exclusive"].any()  # side by side in one job
    assert "No times" in (tmp_path / "r/html/dataset-diabetes.html").read_text()
    timed = invoke("--timing", *arguments)
    assert timed.exit_code == 0, timed.stderr
    assert "Timing pass: repeats 1 cell(s)" in timed.stdout
    (timing,) = pd.read_parquet(tmp_path / "r/timings").to_dict("records")
    assert (timing["method"], timing["split"]) == ("map", 0)
    assert timing["fit_seconds"] > 0
    assert "one cell alone" in (tmp_path / "r/html/dataset-diabetes.html").read_text()
    pd.testing.assert_frame_equal(rows(tmp_path / "r"), before)
    assert "every method that has finished has its times already" in invoke("--timing", *arguments).stdout
    assert re.search(r"diabetes .* earlier runs", invoke("--dry-run", "--fresh", *arguments).stdout)


@pytest.mark.slow
def test_page_shows_the_effect_of_longer_training(invoke, tmp_path):
    arguments = ("--methods", "map,constant", "--splits", "0-1", "--workers", "1", "--out", "r", *TINY)
    planned = invoke("--longer", "2", "--dry-run", *arguments)
    assert "Longer pass: trains 1 cell(s)" in planned.stdout
    assert not (tmp_path / "r").exists()
    trained = invoke("--longer", "2", *arguments)
    assert trained.exit_code == 0, trained.stderr
    assert "What longer training gains in NMLL" in trained.stdout
    assert len(rows(tmp_path / "r")) == 4
    longer = pd.read_parquet(tmp_path / "r/longer")
    assert sorted(longer["factor"]) == [1, 2]
    assert set(longer["split"]) == {0}
    assert longer["validation_nmll"].notna().all()
    assert "Trained 2 times as long" in (tmp_path / "r/html/dataset-diabetes.html").read_text()
    again = " ".join(invoke("--longer", "2", *arguments).stdout.split())
    assert "has been trained for 2 times as long already" in again


@pytest.mark.slow
def test_results_of_different_data_are_refused(invoke, tmp_path):
    arguments = ("--methods", "map", "--splits", "0", "--out", "r", *TINY)
    assert invoke(*arguments).exit_code == 0
    (path,) = (tmp_path / "r/cells").rglob("*.parquet")
    cell = pq.read_table(path).replace_schema_metadata(None)  # whose digest would be of other bytes

    def stored_with(name: str, value: str) -> None:
        place = cell.column_names.index(name)
        pq.write_table(cell.set_column(place, cell.schema.field(name), pa.array([value])), path)

    stored_with("code_revision", "0" * 40)
    again = invoke(*arguments).stderr
    assert "Put aside" not in again
    assert "another code" not in again  # a commit that changed no number
    stored_with("code_identity", "another")
    told = invoke(*arguments)
    assert told.exit_code == 0
    assert "cells of another code revision: 1 of " in told.stderr
    stored_with("data_sha256", "0" * 64)
    for others in ((), ("--dry-run",)):
        refused = invoke(*arguments, *others)
        assert refused.exit_code == 2
        assert "1 cells of diabetes" in refused.stderr
        assert "--fresh" in refused.stderr
    assert invoke("--fresh", *arguments, "--dry-run").exit_code == 0


def test_help_and_list_do_not_import_torch(invoke):
    printed = {}
    for option in ("--help", "--list"):
        code = f"import sys; sys.argv = ['run_all.py', '{option}']; from lockstep_bench.run import app\n"
        code += "try: app()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
        command = [sys.executable, "-c", code]
        printed[option] = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout
    for name in ("uci", "vifa", "deep-ensemble", "paper", "quick"):
        assert name in printed["--list"]
    assert all(name in invoke("--list", "uci").stdout for name in ("yacht", "diabetes", "tuned"))


def test_word_without_an_option_is_refused(invoke):
    refused = invoke("uci")
    assert refused.exit_code == 2
    assert "write --suite uci" in refused.stderr


@pytest.mark.slow
def test_run_without_compiler_reports_it_once(run_all, tmp_path):
    arguments = ("--methods", "map", "--splits", "0", "--workers", "1", "--out", "r", *TINY)
    done = run_all(*arguments, env=run_all.environment | {"CXX": "no-such-compiler"})
    assert done.returncode == 0
    assert done.stderr.count("No C++ compiler was found; looked for no-such-compiler") == 1
    assert rows(tmp_path / "r")["execution"].tolist() == ["captured"]


@pytest.mark.slow
def test_uncompilable_loops_are_reported_once_and_recorded(run_all, tmp_path):
    """The compiler passes its trial, and fails for each loop in words of another encoding."""
    (tmp_path / "c++").write_text(
        "#!/bin/sh\nfor word; do case $word in *loop.cpp) if grep -q n_updates $word; then\n"
        "printf 'loop.cpp:1: internal compiler error: \\344\\n' >&2; exit 1; fi; esac; done\nexec c++ \"$@\"\n"
    )
    (tmp_path / "c++").chmod(0o755)
    arguments = ("--methods", "map,mfvi", "--splits", "0", "--out", "r", *TINY, "--epochs", "6")
    alone = {"CXX": str(tmp_path / "c++"), "BENCH_NATIVE_CACHE": str(tmp_path / "cache")}  # without others' loops
    done = run_all(*arguments, env=run_all.environment | alone)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("could not compile a training loop: loop.cpp: internal compiler error") == 1
    found = rows(tmp_path / "r")
    assert found["execution"].tolist() == ["captured", "captured"]
    for log in found["log"]:
        assert log.startswith("not trained natively: ")
        assert log.endswith("loop.cpp: internal compiler error: \N{REPLACEMENT CHARACTER}")
