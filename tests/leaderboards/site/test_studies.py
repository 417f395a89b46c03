"""What tuning went through, from journals that Optuna itself writes."""

import sys

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from bench.schema import cell_key
from leaderboards.site.studies import tuning

SCORES = [5.0, 7.0, 3.0, 4.0, 2.0, 9.0, 2.5, 1.0, 8.0, 6.0, 1.5, 3.5]


@pytest.fixture
def journal(tmp_path, row):
    """A cell whose tuning tried these scores, and its row."""

    def write(scores):
        cell = row(n_trials=len(scores)) | {"folder": str(tmp_path)}
        names = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
        path = tmp_path / "studies" / f"{cell_key(*(cell[name] for name in names))}.jsonl"
        path.parent.mkdir(parents=True)
        study = optuna.create_study(study_name="cell", storage=JournalStorage(JournalFileBackend(str(path))))
        for number, score in enumerate(scores):
            trial = study.ask(
                {"lr": optuna.distributions.FloatDistribution(0, 1), "idle": optuna.distributions.IntDistribution(0, 3)}
            )
            study.tell(trial, score) if number != 1 else study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return cell, path

    return write


def test_the_best_so_far_passes_over_failed_trials(journal):
    cell, _ = journal(SCORES)
    found = tuning(cell)
    assert found.best == [5.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert found.importances.keys() == {"lr", "idle"}
    assert sum(found.importances.values()) == pytest.approx(1)


def test_few_trials_no_journal_and_a_spoilt_one_say_nothing(journal, row, tmp_path):
    cell, path = journal(SCORES)
    assert tuning(cell | {"n_trials": 3}) is None
    assert tuning(cell | {"split": 1}) is None
    assert not (tmp_path / "studies" / "uci" / "energy" / "vifa" / "paper-aaaaaaaa" / "split01-seed0.jsonl").exists()
    path.write_bytes(b"spoilt\n" + path.read_bytes())
    assert tuning(cell) is None


def test_study_is_left_out_without_optuna(journal, monkeypatch):
    cell, _ = journal(SCORES)
    monkeypatch.setitem(sys.modules, "optuna", None)  # as if it were not installed
    assert tuning(cell) is None
