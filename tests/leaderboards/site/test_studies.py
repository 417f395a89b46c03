"""Tuning and training of a cell, from stored studies and tables of the schema `TRAINING`."""

import json
import subprocess
import sys
from hashlib import sha256

import optuna
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.leaderboards.site.pages.method import training_curves
from lockstep_bench.leaderboards.site.studies import training, tuning
from lockstep_bench.shared.rows.studies import write_study
from lockstep_bench.shared.schema import TRAINING, cell_key

SCORES = [5.0, 7.0, 3.0, 4.0, 2.0, 9.0, 2.5, 1.0, 8.0, 6.0, 1.5, 3.5]


@pytest.fixture
def journal(tmp_path, row):
    """A cell whose tuning tried these scores, and its row."""

    def write(scores):
        cell = row(n_trials=len(scores)) | {"folder": str(tmp_path)}
        names = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
        path = tmp_path / "studies" / f"{cell_key(*(cell[name] for name in names))}.json"
        study = optuna.create_study()
        for number, score in enumerate(scores):
            trial = study.ask(
                {"lr": optuna.distributions.FloatDistribution(0, 1), "idle": optuna.distributions.IntDistribution(0, 3)}
            )
            study.tell(trial, score) if number != 1 else study.tell(trial, state=optuna.trial.TrialState.FAIL)
        write_study(study, path)
        return cell, path

    return write


def test_tuning_figure_ignores_failed_trials(journal):
    cell, _ = journal(SCORES)
    study = tuning(cell)
    assert study.best == [5.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert study.importances.keys() == {"lr", "idle"}
    assert sum(study.importances.values()) == pytest.approx(1)


def test_tuning_figure_needs_a_readable_study(journal, row, tmp_path):
    cell, path = journal(SCORES)
    assert tuning(cell | {"n_trials": 3}) is None
    assert tuning(cell | {"split": 1}) is None
    assert not (tmp_path / "studies" / "uci" / "energy" / "vifa" / "paper-aaaaaaaa" / "split01-seed0.json").exists()
    path.write_bytes(b"spoilt\n" + path.read_bytes())
    assert tuning(cell) is None


def test_tuning_figure_is_drawn_without_optuna(journal, monkeypatch):
    cell, _ = journal(SCORES)
    monkeypatch.setitem(sys.modules, "optuna", None)  # as if it were not installed
    assert tuning(cell).best[0] == SCORES[0]


def test_pages_import_neither_optuna_nor_sklearn():
    code = "import sys; from lockstep_bench import leaderboards; leaderboards.prepare(); print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "lockstep_bench.leaderboards.stats.importance" in imported
    assert not {"optuna", "sklearn", "scipy.stats", "matplotlib"} & set(imported)


def test_tuning_figure_is_omitted_for_unknown_content(journal):
    cell, path = journal(SCORES)
    content = json.loads(path.read_bytes())["study"] | {"space": {"lr": "of a newer version"}}
    path.write_text(json.dumps({"study": content, "sha256": sha256(json.dumps(content).encode()).hexdigest()}))
    assert tuning(cell) is None


@pytest.fixture
def trained(tmp_path, row):
    """Row of a cell whose ELBO rose from -50 to 0 in 51 updates and was not finite after the last of them."""
    cell = row() | {"folder": str(tmp_path)}
    path = tmp_path / "training" / "uci" / "energy" / "vifa" / "paper-aaaaaaaa" / "split00-seed0.parquet"
    path.parent.mkdir(parents=True)
    elbo = [*range(-50, 1), float("nan")]
    rows = [{"update": update, "name": "elbo", "value": value} for update, value in enumerate(elbo, start=1)]
    pq.write_table(pa.Table.from_pylist(rows, schema=TRAINING), path)
    return cell


def test_training_figure_omits_nonfinite_values(trained):
    assert training(trained) == {"elbo": [(update, update - 51.0) for update in range(1, 52)]}


def test_cell_without_training_table_has_no_figure(trained):
    assert training(trained | {"split": 1}) == {}
    assert training_curves({"energy": [trained | {"split": 1}]}) == []


def test_training_figure_names_first_and_last_value(trained):
    (plot,) = training_curves({"energy": [trained], "wine": [trained | {"split": 1}]})
    assert plot.description == "elbo along training: energy from −50.00 to 0.000"
    assert plot.svg.count("<svg") == 1
